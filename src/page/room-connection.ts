// The live connection to another node of the house: at the first of its addresses that answers, and at a new
// one when the node has moved. It has the reason why there is none.

import type { EventName, NodeRecord, NodeState } from '../client/client.js';
import { tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import type { PageLive } from './node.js';
import { SharedLive } from './shared-live.js';

/** The changes that a room shows. */
const TYPES: readonly EventName[] = [
  'audio.output.updated',
  'audio.output.removed',
  'audio.updated',
  'audio.removed',
  'player.added',
  'player.updated',
  'player.removed',
  'backend.updated',
];
const PROBE_MS = 4000;
const HTTPS_PORT = 443;

/**
 * `shut`: the node is there, and does not let this page in. `blocked`: the page's own policy does not know
 * the node, because it came after the page.
 */
export type RoomStatus = 'connecting' | 'live' | 'away' | 'shut' | 'blocked';

/** The addresses that a node's interface may have, best first: a literal address needs no name server. */
export function placesOf({ addresses, host, port, path }: NodeRecord): readonly string[] {
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const folder = path.replace(/[?#].*$/, '').replace(/\/[^/]*$/, '');
  return [...new Set([...addresses, host])].flatMap((place) => {
    const origin = originOf(`${scheme}://${place.includes(':') ? `[${place}]` : place}:${port}`);
    return origin === undefined ? [] : [origin + folder];
  });
}

/** Undefined for a text that is no URL. `URL.canParse` exists only from Safari 17 on. */
function originOf(url: string): string | undefined {
  try {
    return new URL(url).origin;
  } catch {
    return undefined;
  }
}

export class RoomConnection {
  readonly #draw: () => void;
  readonly #channel: string;
  #places: readonly string[];
  #place: string;
  #path: string;
  #live: SharedLive;
  /** Origins that the page's policy does not name. */
  readonly #blocked = new Set<string>();
  #isShut = false;
  #isProbing = false;

  /** `channel`: tabs that have the same one share the connection. */
  constructor(record: NodeRecord, channel: string, draw: () => void) {
    this.#draw = draw;
    this.#channel = channel;
    this.#places = placesOf(record);
    this.#place = this.#places[0] ?? '';
    this.#path = record.path;
    this.#live = this.#connected();
  }

  get live(): PageLive {
    return this.#live;
  }

  /** The address of the node's interface that is used now. */
  get place(): string {
    return this.#place;
  }

  /** True if the node has let the page in. */
  get isKnown(): boolean {
    return this.#live.state.backends.size > 0;
  }

  get places(): readonly string[] {
    return this.#places;
  }

  /** The path of the node's page. */
  get path(): string {
    return this.#path;
  }

  get status(): RoomStatus {
    const { connection } = this.#live.state;
    if (connection.status === 'live') return 'live';
    if (this.#places.every((place) => this.#blocked.has(originOf(place) ?? ''))) return 'blocked';
    if (this.#isShut) return 'shut';
    return connection.problem === undefined && connection.status === 'connecting' ? 'connecting' : 'away';
  }

  /** The node as it is announced now. */
  update(record: NodeRecord): void {
    const places = placesOf(record);
    this.#path = record.path;
    if (String(places) === String(this.#places)) return;
    this.#places = places;
    if (!places.includes(this.#place)) this.#moveTo(places[0] ?? '');
  }

  /** `url` is an address that the policy denies the page. */
  noteBlocked(url: string): void {
    const origin = originOf(url);
    if (origin === undefined || this.#blocked.has(origin)) return;
    this.#blocked.add(origin);
    this.#draw();
  }

  close(): void {
    this.#live.close();
  }

  #connected(): SharedLive {
    const place = this.#place;
    return new SharedLive(tonearm(place), `${this.#channel} ${place}`, {
      types: TYPES,
      levels: false,
      onChange: (state) => {
        if (place !== this.#place) return;
        this.#noteConnection(state);
        this.#draw();
      },
      onEvent: () => undefined,
    });
  }

  #moveTo(place: string): void {
    this.#live.close();
    this.#place = place;
    this.#isShut = false;
    this.#live = this.#connected();
    this.#draw();
  }

  #noteConnection({ connection: { status, problem } }: NodeState): void {
    if (status === 'live') this.#isShut = false;
    else if (problem !== undefined && !this.#isProbing) void this.#probe();
  }

  /** After each attempt that has failed: the node may answer at another address. */
  async #probe(): Promise<void> {
    this.#isProbing = true;
    const places = this.#places;
    const answered = await Promise.all(places.map(answers));
    this.#isProbing = false;
    const { status } = this.#live.state.connection;
    if (places !== this.#places || status === 'live' || status === 'closed') return;
    const first = places[answered.indexOf(true)];
    if (first !== undefined && first !== this.#place) this.#moveTo(first);
    // One that has let the page in before is only starting again.
    this.#isShut = first !== undefined && status === 'connecting';
    this.#draw();
  }
}

/** True if something answers there, although the page may not read it. */
function answers(place: string): Promise<boolean> {
  const read = (signal: AbortSignal): Promise<Response> =>
    fetch(`${place}/server`, { mode: 'no-cors', signal });
  return withDeadline(PROBE_MS, read).then(
    () => true,
    () => false,
  );
}
