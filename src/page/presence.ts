// Decides whether the node is there, why it is away, and whether it has a newer page.

import type { Live, NodeEvent, Slice, Tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import { type AnnouncedAbsence, IN_USE_MS, InputWatch, Liveness } from './liveness.js';
import type { PageLive } from './node.js';
import { SharedLive } from './shared-live.js';

/** A `bye` (the service ends) within this time after an announced reason does not replace that reason. */
const BYE_AFTER_REASON_MS = 5 * 60_000;
/** This is enough for several round trips of a second each. */
const DOCUMENT_TIMEOUT_MS = 15_000;
/** A visible page is loaded again only when it has had no input for this long. */
const UNUSED_MS = 5000;
const RELOAD_CHECK_MS = 1000;
/**
 * These slices change up to ten times a second. Only the meters draw them, so the rest of the page is not
 * drawn again.
 */
const LEVEL_SLICES: readonly Slice[] = ['levels', 'inputLevels'];

export class Presence {
  readonly live: PageLive;
  readonly #node: Tonearm;
  readonly #draw: () => void;
  readonly #input = new InputWatch(document);
  #isAnswering = true;
  /** True if the node has a newer page than this one. */
  isOutdated = false;
  /**
   * The last reason that the node has announced for an absence. It is undefined before the first
   * announcement, and after the node's return.
   */
  absence: AnnouncedAbsence | undefined;
  /** The connection's status at the previous change of the node's state. */
  #previousStatus = 'connecting';
  /** True once the connection has been live. */
  #hasBeenLive = false;

  /** Calls `draw` at each change, unless only levels have changed. A `Presence` lives as long as the page. */
  constructor(node: Tonearm, draw: () => void) {
    this.#node = node;
    this.#draw = draw;
    this.live = new SharedLive(node, ownScript(), {
      // A hidden page displays no levels, so the node does not measure them for it.
      levels: !document.hidden,
      onChange: ({ connection: { status } }, changed) => {
        // The status `live` may be reported several times in a row. Only the first of these reports counts.
        const isNewlyLive = status === 'live' && this.#previousStatus !== 'live';
        if (isNewlyLive) this.absence = undefined;
        // A page that is live for the first time has just been loaded, so there is no newer page.
        if (isNewlyLive && this.#hasBeenLive) void this.loadNewerPage();
        if (isNewlyLive) this.#hasBeenLive = true;
        this.#previousStatus = status;
        if (changed.some((slice) => !LEVEL_SLICES.includes(slice))) draw();
      },
      // Events come only after the constructor has returned, so `liveness` exists.
      onEvent: (event) => {
        liveness.noteAlive();
        this.#noteAbsence(event);
      },
    });
    const liveness = new Liveness({
      request: (signal) =>
        fetch(`${node.transport.base}/server`, { method: 'HEAD', cache: 'no-store', signal }),
      situation: () => {
        const { status } = this.live.state.connection;
        if (document.hidden || status === 'connecting') return 'resting';
        if (status !== 'live') return 'lost';
        return this.#input.idleMs < IN_USE_MS ? 'watched' : 'resting';
      },
      onChange: (isAnswering) => {
        this.#isAnswering = isAnswering;
        if (isAnswering) this.absence = undefined;
        draw();
      },
      onReturn: () => this.live.reconnect(),
    });
    liveness.startWatching();
    document.addEventListener('visibilitychange', () => this.live.setLevels(!document.hidden));
    // A page that the browser brings back from its cache may have requests that the browser has ended. Their
    // missing answers say nothing about the node.
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) liveness.noteAlive();
    });
  }

  /** The connection's status. It is also `lost` if the stream is open, but the node does not answer. */
  get status(): Live['state']['connection']['status'] {
    const { status } = this.live.state.connection;
    return status === 'live' && !this.#isAnswering ? 'lost' : status;
  }

  #noteAbsence({ type, data }: NodeEvent): void {
    const now = Date.now();
    // After a power action the service says `bye`, too, but the power action stays the reason.
    const hasRecentReason = this.absence !== undefined && now - this.absence.at < BYE_AFTER_REASON_MS;
    if (type === 'power.action') this.absence = { reason: data.action, at: now };
    else if (type === 'server.info' && data === 'bye' && !hasRecentReason)
      this.absence = { reason: 'restart', at: now };
    else return;
    this.#draw();
  }

  /**
   * Asks whether the node has a newer page, and loads it as soon as nobody uses this one. After an upgrade
   * this page may not understand the node's events and records.
   */
  async loadNewerPage(): Promise<void> {
    if (this.isOutdated) return;
    // A request that fails is repeated when the node returns the next time.
    const hasNewerPage = await namesOtherScript(this.#node).catch(() => false);
    if (!hasNewerPage) return;
    this.isOutdated = true;
    this.#draw();
    const timer = setInterval(() => {
      const isBusy = document.querySelector('dialog[open], [aria-busy="true"]') !== null;
      const isInUse = this.#input.idleMs < UNUSED_MS && !document.hidden;
      // While the node is away, the browser would show an error in place of the page.
      if (isBusy || isInUse || this.status !== 'live') return;
      clearInterval(timer);
      location.reload();
    }, RELOAD_CHECK_MS);
  }
}

/**
 * Returns the address of this page's script. The address contains the node's origin and a hash of the
 * script, so it is different for each node and each version.
 */
export function ownScript(): string {
  return document.querySelector<HTMLScriptElement>('script[src]')?.src ?? '';
}

/** Resolves with true if the node's document names another script. The node then has another version. */
async function namesOtherScript(node: Tonearm): Promise<boolean> {
  // The document contains this relative address, not the full one that `ownScript` returns.
  const relativeAddress = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  return withDeadline(DOCUMENT_TIMEOUT_MS, async (signal) => {
    const response = await fetch(`${node.transport.base}/ui`, { cache: 'no-cache', signal });
    return response.ok && !(await response.text()).includes(relativeAddress);
  });
}
