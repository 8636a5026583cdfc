// The presence of the node: the connection, whether it answers, why it is away, and whether it has a newer
// page.

import type { Live, NodeEvent, Tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import type { PageLive } from './node.js';
import { type AnnouncedAbsence, HAND_MS, Hands, Pulse } from './pulse.js';
import { SharedLive } from './shared-live.js';

/** A reason that is older than this does not explain a `bye`. */
const REASON_MS = 5 * 60_000;
/**
 * If the document takes longer, the check is repeated when the node returns the next time. Enough for several
 * round trips of a second.
 */
const DOCUMENT_MS = 15_000;
/** Without input for this long, nobody is using the page. */
const STILL_MS = 5000;
const RELOAD_CHECK_MS = 1000;

export class Presence {
  readonly live: PageLive;
  readonly #node: Tonearm;
  readonly #draw: () => void;
  readonly #hands = new Hands(document);
  #isBeating = true;
  /** The node has a newer page. */
  isOld = false;
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
        // A stream may be opened again before the node goes away, so only a lost connection counts as a
        // return.
        if (status === 'live' && this.#status !== 'live') this.absence = undefined;
        if (status === 'live' && this.#status === 'lost') void this.compare();
        this.#status = status;
        if (changed.some((slice) => slice !== 'levels')) draw();
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
        return this.#hands.idleMs < HAND_MS ? 'watched' : 'resting';
      },
      onChange: (now) => {
        this.#isBeating = now;
        if (now) this.absence = undefined;
        draw();
      },
      onReturn: () => this.live.reconnect(),
    });
    pulse.startWatching();
    document.addEventListener('visibilitychange', () => this.live.setLevels(!document.hidden));
    // A request from before the page was left has had no answer, which says nothing about the node.
    addEventListener('pageshow', ({ persisted }) => persisted && pulse.noteAlive());
  }

  /** `lost` also if the stream is open but the node does not answer. */
  get status(): Live['state']['connection']['status'] {
    const { status } = this.live.state.connection;
    return status === 'live' && !this.#isBeating ? 'lost' : status;
  }

  #noteAbsence({ type, data }: NodeEvent): void {
    const at = Date.now();
    // The service's own `bye` follows after the reason.
    const isKnown = this.absence !== undefined && at - this.absence.at < REASON_MS;
    if (type === 'power.action') this.absence = { reason: data.action, at };
    else if (type === 'server.info' && data === 'bye' && !isKnown) this.absence = { reason: 'restart', at };
    else return;
    this.#draw();
  }

  /**
   * Loads the page anew where the node has a newer one, once nobody uses it. A node may return with another
   * version, as after an upgrade; an old page may not understand its events and records.
   */
  async compare(): Promise<void> {
    // Without an answer, the next return checks again.
    if (this.isOld || !(await isOutdated(this.#node).catch(() => false))) return;
    this.isOld = true;
    this.#draw();
    const timer = setInterval(() => {
      const isBusy = document.querySelector('dialog[open], [aria-busy="true"]') !== null;
      if (isBusy || (this.#hands.idleMs < STILL_MS && !document.hidden)) return;
      clearInterval(timer);
      location.reload();
    }, RELOAD_CHECK_MS);
  }
}

/**
 * The address of this page's script. Its name contains a hash of the content, so it differs for each node and
 * each version.
 */
export function ownScript(): string {
  return document.querySelector<HTMLScriptElement>('script[src]')?.src ?? '';
}

/** The document of another version names another script. */
async function isOutdated(node: Tonearm): Promise<boolean> {
  const own = document.querySelector('script[src]')?.getAttribute('src') ?? '';
  return withDeadline(DOCUMENT_MS, async (signal) => {
    const answer = await fetch(`${node.transport.base}/ui`, { cache: 'no-cache', signal });
    return answer.ok && !(await answer.text()).includes(own);
  });
}
