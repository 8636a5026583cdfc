// Keeps the live connection to another node of the house, at the first of its addresses that answers.
// Decides also for which reason there is no connection.

import type { EventName, NodeRecord, NodeState } from '../client/client.js';
import { tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import type { PageLive } from './node.js';
import { SharedLive } from './shared-live.js';

/** The events that change what a room shows. */
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
/** The time-out of a probe, which asks whether an address answers. */
const PROBE_MS = 4000;
const HTTPS_PORT = 443;

/**
 * `shut`: the node answers, but does not let this page in. `blocked`: this page's own policy forbids the
 * connection, because the node came after the page was loaded.
 */
export type RoomStatus = 'connecting' | 'live' | 'away' | 'shut' | 'blocked';

/**
 * The URLs that a node's interface may have, without a trailing slash. Numeric addresses are first, because
 * they need no name server.
 */
export function placesOf({ addresses, host, port, path }: NodeRecord): readonly string[] {
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const folder = path.replace(/[?#].*$/, '').replace(/\/[^/]*$/, '');
  return [...new Set([...addresses, host])].flatMap((address) => {
    const name = address.includes(':') ? `[${address}]` : address;
    const origin = originOf(`${scheme}://${name}:${port}`);
    return origin === undefined ? [] : [origin + folder];
  });
}

/** True for an http address on a page that came by https. Most browsers refuse it, as if nobody answered. */
const isMixed = (place: string): boolean => location.origin.startsWith('https:') && place.startsWith('http:');

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
  /** The places that the node had when this page first knew it. */
  readonly #firstPlaces: readonly string[];
  #place: string;
  #path: string;
  #live: SharedLive;
  /** The origins to which the page's policy has forbidden a request. */
  readonly #blocked = new Set<string>();
  #isShut = false;
  #isProbing = false;

  /** Tabs that have the same `channel` share the connection. */
  constructor(record: NodeRecord, channel: string, draw: () => void) {
    this.#draw = draw;
    this.#channel = channel;
    this.#places = placesOf(record);
    this.#firstPlaces = this.#places;
    this.#place = this.#places[0] ?? '';
    this.#path = record.path;
    this.#live = this.#connect();
  }

  get live(): PageLive {
    return this.#live;
  }

  /** The URL of the node's interface that is used now, one of `places`. */
  get place(): string {
    return this.#place;
  }

  /** True if the node has let the page in at some time, so that there is a state to show. */
  get hasState(): boolean {
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
    if (this.#isBlocked) return 'blocked';
    if (this.#isShut) return 'shut';
    if (connection.problem === undefined && connection.status === 'connecting') return 'connecting';
    return isMixed(this.#place) && !this.hasState ? 'shut' : 'away';
  }

  /**
   * True if this page's policy allows none of the node's places, or not the new place to which the node has
   * moved. The policy allows the node's name below `.local`, but not every device finds such names.
   */
  get #isBlocked(): boolean {
    const isBlocked = (place: string): boolean => this.#blocked.has(originOf(place) ?? '');
    const hasMoved = !this.#firstPlaces.includes(this.#place);
    return (hasMoved && isBlocked(this.#place)) || this.#places.every(isBlocked);
  }

  /**
   * Takes over how the node is announced now. If the present place is no longer announced, connects to the
   * first new one.
   */
  update(record: NodeRecord): void {
    const places = placesOf(record);
    this.#path = record.path;
    if (String(places) === String(this.#places)) return;
    this.#places = places;
    if (!places.includes(this.#place)) this.#moveTo(places[0] ?? '');
  }

  /** Notes that this page's policy forbids a request to `url`. */
  noteBlocked(url: string): void {
    const origin = originOf(url);
    if (origin === undefined || this.#blocked.has(origin)) return;
    this.#blocked.add(origin);
    this.#draw();
  }

  close(): void {
    this.#live.close();
  }

  #connect(): SharedLive {
    const place = this.#place;
    return new SharedLive(tonearm(place), `${this.#channel} ${place}`, {
      types: TYPES,
      levels: false,
      onChange: (state) => {
        // A connection to an older address may end late.
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
    this.#live = this.#connect();
    this.#draw();
  }

  #noteConnection({ connection: { status, problem } }: NodeState): void {
    if (status === 'live') this.#isShut = false;
    else if (problem !== undefined && !this.#isProbing) void this.#probe();
  }

  /** Called after each attempt that has failed, because the node may answer at another address. */
  async #probe(): Promise<void> {
    this.#isProbing = true;
    const places = this.#places;
    const answers = await Promise.all(places.map(isAnswering));
    this.#isProbing = false;
    const { status } = this.#live.state.connection;
    const isOutdated = places !== this.#places || status === 'live' || status === 'closed';
    if (isOutdated) return;
    const first = places[answers.indexOf(true)];
    if (first !== undefined && first !== this.#place) this.#moveTo(first);
    // A node that has let the page in before is not shut, but only starting again.
    this.#isShut = first !== undefined && status === 'connecting';
    this.#draw();
  }
}

/** Resolves with true if something answers at `place`, even if the page may not read the answer. */
function isAnswering(place: string): Promise<boolean> {
  const request = (signal: AbortSignal): Promise<Response> =>
    fetch(`${place}/server`, { mode: 'no-cors', signal });
  return withDeadline(PROBE_MS, request).then(
    () => true,
    () => false,
  );
}
