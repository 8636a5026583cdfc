// Knows whether the node is there: the connection to it, whether it answers, why it is away, and whether it
// has a newer page.

import type { Live, NodeEvent, Slice, Tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import type { PageLive } from './node.js';
import { type AnnouncedAbsence, IN_USE_MS, InputWatch, Pulse } from './pulse.js';
import { SharedLive } from './shared-live.js';

/** A reason that was announced longer ago than this does not explain a `bye`. */
const REASON_MS = 5 * 60_000;
/** The time-out of the request for the document, enough for several round trips of a second. */
const DOCUMENT_MS = 15_000;
/** The page is loaded again only when it has had no input for this long. */
const UNUSED_MS = 5000;
const RELOAD_CHECK_MS = 1000;
/** Levels come ten times a second. The meters draw them by themselves. */
const LEVEL_SLICES: readonly Slice[] = ['levels', 'inputLevels'];

export class Presence {
  readonly live: PageLive;
  readonly #node: Tonearm;
  readonly #draw: () => void;
  readonly #input = new InputWatch(document);
  #isAnswering = true;
  /** True if the node has a newer page than this one. */
  isOld = false;
  /** The reason that the node has announced for its absence; undefined once the node is back. */
  absence: AnnouncedAbsence | undefined;
  #status = 'connecting';

  /** Calls `draw` at each change. Lives as long as the page. */
  constructor(node: Tonearm, draw: () => void) {
    this.#node = node;
    this.#draw = draw;
    this.live = new SharedLive(node, ownScript(), {
      // A hidden page must not cost the node anything.
      levels: !document.hidden,
      onChange: ({ connection: { status } }, changed) => {
        // A stream that is opened again while the connection is live is no return of the node.
        const isNewlyLive = status === 'live' && this.#status !== 'live';
        if (isNewlyLive) this.absence = undefined;
        // A page that was `connecting` until now is new itself, so it is not compared.
        if (isNewlyLive && this.#status === 'lost') void this.compare();
        this.#status = status;
        if (changed.some((slice) => !LEVEL_SLICES.includes(slice))) draw();
      },
      onEvent: (event) => {
        pulse.noteAlive();
        this.#noteAbsence(event);
      },
    });
    const pulse = new Pulse({
      request: (signal) =>
        fetch(`${node.transport.base}/server`, { method: 'HEAD', cache: 'no-store', signal }),
      attention: () => {
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
    pulse.startWatching();
    document.addEventListener('visibilitychange', () => this.live.setLevels(!document.hidden));
    // A page that the browser brings back has requests without an answer, which say nothing about the node.
    addEventListener('pageshow', ({ persisted }) => {
      if (persisted) pulse.noteAlive();
    });
  }

  /** The connection's status; `lost` also if the stream is open and the node does not answer. */
  get status(): Live['state']['connection']['status'] {
    const { status } = this.live.state.connection;
    return status === 'live' && !this.#isAnswering ? 'lost' : status;
  }

  #noteAbsence({ type, data }: NodeEvent): void {
    const at = Date.now();
    // After a power action the service ends, too, and says `bye`; the power action stays the reason.
    const hasReason = this.absence !== undefined && at - this.absence.at < REASON_MS;
    if (type === 'power.action') this.absence = { reason: data.action, at };
    else if (type === 'server.info' && data === 'bye' && !hasReason) this.absence = { reason: 'restart', at };
    else return;
    this.#draw();
  }

  /**
   * If the node has a newer page, loads it as soon as nobody uses this one. A node may return with another
   * version, as after an upgrade, and this page may not understand its events and records.
   */
  async compare(): Promise<void> {
    if (this.isOld) return;
    // A request that fails is repeated when the node returns the next time.
    const isOutdated = await namesOtherScript(this.#node).catch(() => false);
    if (!isOutdated) return;
    this.isOld = true;
    this.#draw();
    const timer = setInterval(() => {
      const isBusy = document.querySelector('dialog[open], [aria-busy="true"]') !== null;
      const isInUse = this.#input.idleMs < UNUSED_MS && !document.hidden;
      if (isBusy || isInUse) return;
      clearInterval(timer);
      location.reload();
    }, RELOAD_CHECK_MS);
  }
}

/**
 * The address of this page's script. It contains the node's origin and a hash of the content, so it is
 * different for each node and each version.
 */
export function ownScript(): string {
  return document.querySelector<HTMLScriptElement>('script[src]')?.src ?? '';
}

/**
 * Resolves with true if the node's document does not name this page's script, so that the node has another
 * version of the page.
 */
async function namesOtherScript(node: Tonearm): Promise<boolean> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  return withDeadline(DOCUMENT_MS, async (signal) => {
    const response = await fetch(`${node.transport.base}/ui`, { cache: 'no-cache', signal });
    return response.ok && !(await response.text()).includes(own);
  });
}
