// The functions of one node's operations, over the network.

import type { Routes } from './operations.js';
import { BLOBS, PATHS } from './paths.js';
import { contentOf, jsonOf, send, type Transport } from './problem.js';

export interface ClientOptions {
  /** Instead of the platform's own. */
  readonly fetch?: typeof globalThis.fetch;
  /** For a request and its whole answer: 15 000 unless given. The node itself takes at most 10 s. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 15_000;

/** One node, as its routes see it. */
export interface Tonearm extends Routes {
  readonly transport: Transport;
  coverUrl(player: string): string;
}

/**
 * `base` is where the node is (`http://node.local:8018`); in a page of the node's own none is needed. Nothing is asked yet.
 * @throws {TypeError} where `base` is no address of http or https
 */
export function tonearm(base: string | URL = '', options: ClientOptions = {}): Tonearm {
  const transport: Transport = {
    base: checked(String(base).replace(/\/+$/, '')),
    // Called as a method of anything else, the browser's own refuses.
    fetch: options.fetch ?? ((...args) => globalThis.fetch(...args)),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  };
  const routes = Object.entries(PATHS).map(([name, route]) => [name, routeFunction(transport, name, route)]);
  return {
    ...(Object.fromEntries(routes) as Routes),
    transport,
    coverUrl: (player) => `${transport.base}/players/${encodeURIComponent(player)}/cover`,
  };
}

/** Else nothing would ever answer: to `fetch`, `localhost:8018` is of the protocol `localhost:`, and it takes no user in an address. */
function checked(base: string): string {
  if (base === '' && 'location' in globalThis) return base;
  if (!/^https?:\/\/[^/]/i.test(base) || new URL(base).username !== '')
    throw new TypeError(`${JSON.stringify(base)} is no address such as http://node.local:8018`);
  return base;
}

/** Takes the route's parameters, and behind them a body. */
function routeFunction(transport: Transport, name: string, route: string) {
  const [method = '', template = ''] = route.split(' ');
  const read = async (response: Response): Promise<unknown> => {
    if (BLOBS.includes(name)) return contentOf(response);
    return method === 'GET' ? jsonOf(response) : undefined;
  };
  return (...args: readonly unknown[]): Promise<unknown> => {
    const rest = [...args];
    const path = template.replaceAll('{}', () => encodeURIComponent(String(rest.shift())));
    return send(transport, method, path, rest[0], read);
  };
}
