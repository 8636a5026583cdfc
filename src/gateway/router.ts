// Finds the endpoint for a path; for a path of a disabled route, the configuration key that enables it. Pure.

import type { RouteSettings } from '../protocol/actor/operations.js';
import type { Params } from '../protocol/actor/parameters.js';
import { type Problem, problem } from './problem.js';
import type { Route } from './routes.js';

export interface Endpoint {
  readonly path: string;
  readonly get: Route | undefined;
  readonly post: Route | undefined;
  readonly allow: string;
}

export interface RouteMatch {
  readonly ok: true;
  readonly endpoint: Endpoint;
  readonly params: Params;
}

type Template<T> = readonly [segments: readonly string[], of: T];

const NO_PARAMS: Params = {};

/** Problems of paths that no route can have. */
export const BAD_PATHS = {
  encoding: problem('bad-path', 'The percent-encoding does not decode to UTF-8 text'),
  nul: problem('bad-path', 'The path holds a NUL'),
} as const;

/** `key` is the configuration key that would enable the path. */
export function noSuchPath(key: string | undefined): Problem {
  const remark = key === undefined ? '' : `; ${key} in the configuration enables it`;
  return problem('not-found', `There is no such path${remark}`);
}

export class Router {
  /** Paths without parameters, with and without trailing slash: one look-up finds what clients poll (1 of the 7 µs of a GET, measured). */
  readonly #fixed = new Map<string, RouteMatch>();
  readonly #templates: readonly Template<Endpoint>[];
  /** Disabled routes, with the keys that would enable them. */
  readonly #lacking: readonly Template<string>[];

  constructor(all: readonly Route[], settings: RouteSettings) {
    const routes = all.filter(({ lacks }) => lacks(settings) === undefined);
    const endpoints = [...new Set(routes.map((route) => route.path))].map((path) => endpointOf(path, routes));
    for (const endpoint of endpoints) {
      if (endpoint.path.includes('{')) continue;
      const match: RouteMatch = { ok: true, endpoint, params: NO_PARAMS };
      const bare = withoutSlash(endpoint.path);
      this.#fixed.set(`${bare}/`, match);
      if (bare !== '') this.#fixed.set(bare, match);
    }
    this.#templates = endpoints.map((endpoint) => [segmentsOf(endpoint.path), endpoint]);
    this.#lacking = all.flatMap(({ path, lacks }) => {
      const key = lacks(settings);
      return key === undefined ? [] : [[segmentsOf(path), key]];
    });
  }

  /**
   * `path` is percent-encoded. An encoded slash is part of a name; repeated slashes count as one (docs/http-api.md, "Paths and
   * methods").
   */
  match(path: string): RouteMatch | Problem {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    const segments = decodeSegments(path.replace(/\/{2,}/g, '/'));
    if (segments === undefined) return BAD_PATHS.encoding;
    if (segments.some((segment) => segment.includes('\0'))) return BAD_PATHS.nul;
    if (segments.at(-1) === '') segments.pop();
    for (const [template, endpoint] of this.#templates) {
      const params = compare(template, segments);
      if (params !== undefined) return { ok: true, endpoint, params };
    }
    return noSuchPath(this.#lacking.find(([template]) => compare(template, segments) !== undefined)?.[1]);
  }
}

/** HEAD uses the GET route; the exchange leaves out the body. */
export function routeFor(endpoint: Endpoint, method: string): Route | undefined {
  if (method === 'GET' || method === 'HEAD') return endpoint.get;
  return method === 'POST' ? endpoint.post : undefined;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function segmentsOf(path: string): readonly string[] {
  return withoutSlash(path).split('/');
}

function endpointOf(path: string, routes: readonly Route[]): Endpoint {
  const find = (method: Route['method']): Route | undefined =>
    routes.find((route) => route.path === path && route.method === method);
  const [get, post] = [find('GET'), find('POST')];
  const allow = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'].join(', ');
  return { path, get, post, allow };
}

/** Undefined if the percent-encoding is bad. Splits before decoding, so that `%2F` stays inside its segment. */
function decodeSegments(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Undefined if the path does not match. A parameter is never empty. */
function compare(template: readonly string[], segments: readonly string[]): Params | undefined {
  if (template.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, expected] of template.entries()) {
    const segment = segments[index] ?? '';
    if (!expected.startsWith('{')) {
      if (segment !== expected) return undefined;
    } else if (segment === '') return undefined;
    else params[expected.slice(1, -1)] = segment;
  }
  return params;
}
