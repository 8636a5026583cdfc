// Makes one function for each operation of a node. Each call sends one HTTP request, and keeps no state.

import { BLOBS, PATHS } from './paths.js';
import type { AbortSignalType, Fetch } from './platform.js';
import type { Routes } from './records.js';
import { send } from './request.js';
import type { Transport } from './transport.js';

export interface ClientOptions {
  /** Used in place of the platform's `fetch`. */
  readonly fetch?: Fetch;
  /** The time-out of a request and its whole response, by default 15 s. The node takes at most 10 s. */
  readonly timeoutMs?: number;
  /** Sent with each request, also for the event stream. For example, a proxy may demand `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallOptions extends Pick<ClientOptions, 'timeoutMs' | 'headers'> {
  /** When this signal aborts, all pending and later requests fail with the code `aborted`. */
  readonly signal?: AbortSignalType;
}

/** The functions of one node. */
export interface Tonearm extends Routes {
  readonly transport: Transport;
  /** The address of the player's cover, for example for an `<img>`. */
  coverUrl(player: string): string;
  /**
   * The same functions with changed options. `headers` are added to the present headers. Options that are
   * missing keep their values.
   */
  with(options: CallOptions): Tonearm;
}

/**
 * `base` is the node's address (`http://node.local:8018`), as a text or as a `URL`. A page that the node
 * itself serves needs no `base`. This function sends no request.
 * @throws {TypeError} if `base` is not an http or https address, or contains a user's name
 */
export function tonearm(base: string | { readonly href: string } = '', options: ClientOptions = {}): Tonearm {
  const address = typeof base === 'string' ? base : base.href;
  return functionsAt({
    base: checkedAddress(address.replace(/\/+$/, '')),
    // A browser's `fetch` throws when it is called as a method of another object.
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    timeoutMs: options.timeoutMs,
    headers: options.headers ?? {},
  });
}

function functionsAt(transport: Transport): Tonearm {
  const namedFunctions = Object.entries(PATHS).map(([name, route]) => [
    name,
    routeFunction(transport, name, route),
  ]);
  return {
    ...(Object.fromEntries(namedFunctions) as Routes),
    transport,
    coverUrl: (player) => `${transport.base}/players/${encodeURIComponent(player)}/cover`,
    with: (options) => {
      const headers = { ...transport.headers, ...options.headers };
      return functionsAt({ ...transport, ...options, headers });
    },
  };
}

/**
 * Throws for an address with which no request can succeed. `fetch` reads `localhost:8018` as protocol
 * `localhost:`, and refuses an address that contains a user's name.
 */
function checkedAddress(base: string): string {
  // In a page, an empty base means the origin of this page.
  if (base === '' && 'location' in globalThis) return base;
  if (!/^https?:\/\/[^/]/i.test(base) || new URL(base).username !== '')
    throw new TypeError(`${JSON.stringify(base)} is not an address such as http://node.local:8018`);
  return base;
}

/**
 * `route` has a method and a path, such as `POST /audio/outputs/{}/volume`. The returned function takes the
 * parameters of the path. Its next argument is the query if the method is `GET`, otherwise the body.
 */
function routeFunction(transport: Transport, name: string, route: string) {
  const [method = '', template = ''] = route.split(' ');
  const isBlob = BLOBS.includes(name);
  // The function is async, so that it rejects, and does not throw, if a parameter cannot be encoded.
  return async (...remainingArguments: unknown[]): Promise<unknown> => {
    const path = template.replaceAll('{}', () => encodeURIComponent(String(remainingArguments.shift())));
    const [bodyOrQuery] = remainingArguments;
    if (method !== 'GET') return send(transport, method, path, bodyOrQuery, isBlob);
    // `JSON.stringify` leaves out the members that are undefined.
    const query = String(new URLSearchParams(JSON.parse(JSON.stringify(bodyOrQuery ?? {}))));
    return send(transport, method, query === '' ? path : `${path}?${query}`, undefined, isBlob);
  };
}
