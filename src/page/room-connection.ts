// Keeps the live connection to another node of the house. After a failure, moves the connection to the node's
// first address that answers. Decides why there is no connection.

import type { EventName, NodeRecord, NodeState } from '../client/client.js';
import { tonearm } from '../client/client.js';
import { withDeadline } from '../client/deadline.js';
import type { PageLive } from './node.js';
import { SharedLive } from './shared-live.js';

/** The events that change what a room shows. */
const EVENT_TYPES: readonly EventName[] = [
  'audio.output.updated',
  'audio.output.removed',
  'audio.updated',
  'audio.removed',
  'player.added',
  'player.updated',
  'player.removed',
  'backend.updated',
];
/** A probe asks whether an address answers. */
const PROBE_TIMEOUT_MS = 4000;
const HTTPS_PORT = 443;

/**
 * `shut`: the node does not let this page in, or the browser refuses the node's http address. `blocked`: the
 * content security policy of this page forbids the connection, because the node or its address was not yet
 * known when the page was loaded with this policy.
 */
export type RoomStatus = 'connecting' | 'live' | 'away' | 'shut' | 'blocked';

/**
 * The URLs at which a node's interface may be, without a trailing slash. Numeric addresses are first,
 * because they need no name server. A record with the path `/music/ui` has URLs that end in `/music`.
 */
export function nodeUrls({ addresses, host, port, path }: NodeRecord): readonly string[] {
  const scheme = port === HTTPS_PORT ? 'https' : 'http';
  const pathWithoutQuery = path.replace(/[?#].*$/, '');
  const folder = pathWithoutQuery.replace(/\/[^/]*$/, '');
  // In a URL, an IPv6 address is in brackets.
  const hosts = [...new Set([...addresses, host])].map((name) => (name.includes(':') ? `[${name}]` : name));
  const origins = hosts.map((urlHost) => originOf(`${scheme}://${urlHost}:${port}`));
  return origins.filter((origin) => origin !== undefined).map((origin) => origin + folder);
}

/**
 * True if the URL is http, but this page came by https. In most browsers a request to such a URL fails as if
 * nobody answered.
 */
const isMixedContent = (url: string): boolean =>
  location.origin.startsWith('https:') && url.startsWith('http:');

/** Undefined for a text that is no URL. Safari before version 17 has no `URL.canParse`. */
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
  #urls: readonly string[];
  /** The URLs that the node had when this page first knew it. */
  readonly #firstUrls: readonly string[];
  #url: string;
  #path: string;
  #live: SharedLive;
  /** The origins to which the page's policy has forbidden a request. */
  readonly #blockedOrigins = new Set<string>();
  #isShut = false;
  #isProbing = false;
  #isClosed = false;

  /** Tabs that have the same `channel` share the connection. */
  constructor(record: NodeRecord, channel: string, draw: () => void) {
    this.#draw = draw;
    this.#channel = channel;
    this.#urls = nodeUrls(record);
    this.#firstUrls = this.#urls;
    this.#url = this.#urls[0] ?? '';
    this.#path = record.path;
    this.#live = this.#connect();
  }

  get live(): PageLive {
    return this.#live;
  }

  /** The URL that is used now. */
  get url(): string {
    return this.#url;
  }

  /** True if the node has sent its state from the present URL. */
  get hasState(): boolean {
    return this.#live.state.backends.size > 0;
  }

  get possibleUrls(): readonly string[] {
    return this.#urls;
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
    // A connection has a `problem` after an attempt that has failed.
    if (connection.problem === undefined && connection.status === 'connecting') return 'connecting';
    // If the browser refused this URL, there would be no state. So a node with a state is away, not shut.
    return isMixedContent(this.#url) && !this.hasState ? 'shut' : 'away';
  }

  /**
   * True if this page's policy blocks all URLs of the node. After the node has moved to a new address, it is
   * enough that the policy blocks the URL that is used now. The policy may still allow the URL with the
   * node's `.local` name, because this name stays the same. That URL does not count, because not every
   * device can find such a name.
   */
  get #isBlocked(): boolean {
    const isUrlBlocked = (url: string): boolean => this.#blockedOrigins.has(originOf(url) ?? '');
    const hasMoved = !this.#firstUrls.includes(this.#url);
    return (hasMoved && isUrlBlocked(this.#url)) || this.#urls.every(isUrlBlocked);
  }

  /**
   * Notes the URLs and the path of the newest `record`. If the record no longer has the present URL, connects
   * to the record's first URL.
   */
  update(record: NodeRecord): void {
    const urls = nodeUrls(record);
    this.#path = record.path;
    const areUrlsSame = String(urls) === String(this.#urls);
    if (areUrlsSame) return;
    this.#urls = urls;
    if (!urls.includes(this.#url)) this.#moveTo(urls[0] ?? '');
  }

  /** Notes that this page's policy forbids a request to `url`. */
  noteBlocked(url: string): void {
    const origin = originOf(url);
    if (origin === undefined || this.#blockedOrigins.has(origin)) return;
    this.#blockedOrigins.add(origin);
    this.#draw();
  }

  close(): void {
    this.#isClosed = true;
    this.#live.close();
  }

  #connect(): SharedLive {
    const url = this.#url;
    return new SharedLive(tonearm(url), `${this.#channel} ${url}`, {
      types: EVENT_TYPES,
      levels: false,
      onChange: (state) => {
        // A connection to an older URL may report a change after the move to the present one.
        if (url !== this.#url) return;
        this.#noteConnection(state);
        this.#draw();
      },
      onEvent: () => undefined,
    });
  }

  #moveTo(url: string): void {
    this.#live.close();
    this.#url = url;
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
    const urls = this.#urls;
    const answers = await Promise.all(urls.map(isAnswering));
    this.#isProbing = false;
    const { status } = this.#live.state.connection;
    const isProbeOutdated = this.#isClosed || urls !== this.#urls || status === 'live';
    if (isProbeOutdated) return;
    const answeringUrl = urls.find((_, index) => answers[index]);
    if (answeringUrl !== undefined && answeringUrl !== this.#url) {
      this.#moveTo(answeringUrl);
      return;
    }
    // If the present URL answers although the attempt has failed, the node does not let this page in. But if
    // the connection was live before, its status is `lost`, and the node is probably starting again.
    this.#isShut = answeringUrl !== undefined && status === 'connecting';
    this.#draw();
  }
}

/** Resolves with true if something answers at the URL, even if the page may not read the answer. */
function isAnswering(url: string): Promise<boolean> {
  const request = (signal: AbortSignal): Promise<Response> =>
    fetch(`${url}/server`, { mode: 'no-cors', signal });
  return withDeadline(PROBE_TIMEOUT_MS, request).then(
    () => true,
    () => false,
  );
}
