// Decides which routes exist, which route a path has, and which configuration key would enable a path. The
// router, the replies to a wrong method and to OPTIONS, and the OpenAPI document use `ROUTES`. Pure.

import { type ChildName, outerNames } from '../protocol/actor/backends.js';
import {
  type Need,
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationName,
} from '../protocol/actor/operations.js';
import type { Params } from '../protocol/actor/parameters.js';
import { failed, type Result, type Success, success } from '../protocol/actor/result.js';
import type { Settings } from '../protocol/actor/settings.js';
import type { PagePart } from './page.js';
import { type Problem, problem } from './problem.js';

/** The part of the configuration that decides which routes exist. */
export type RouteSettings = Pick<Settings, 'api' | ChildName>;

export type OperationRoute = Operation & { readonly name: OperationName };

/**
 * Routes that are no operations: they need a connection, or are for browsers or Prometheus. The client has
 * no functions for them, and bridges cannot call them.
 */
type OtherRoute = Pick<Operation, 'path' | 'summary' | 'needs'> & { readonly method: 'GET' } & (
    | { readonly kind: 'events' }
    | { readonly kind: 'metrics' }
    | { readonly kind: 'page'; readonly part: PagePart }
  );

export type Route = OperationRoute | OtherRoute;

function page(path: string, summary: string, part: PagePart): Route {
  return { method: 'GET', path, summary, needs: ['api.ui.enabled'], kind: 'page', part };
}

const EVENTS: Route = {
  method: 'GET',
  path: '/events',
  summary: 'The stream of changes',
  kind: 'events',
  needs: ['api.sse.enabled'],
};

const METRICS: Route = {
  method: 'GET',
  path: '/metrics',
  summary: 'Figures for Prometheus, as OpenMetrics',
  kind: 'metrics',
  needs: ['api.metrics'],
};

const OPERATION_ROUTES = OPERATION_NAMES.map((name): OperationRoute => ({ ...OPERATIONS[name], name }));

/** In the order of the OpenAPI document: the node's own routes before those of backends. */
export const ROUTES: readonly Route[] = [
  page('/', 'The way to the page', 'way'),
  page('/ui', 'The page', 'document'),
  page('/ui/{file}', 'A file of the page', 'file'),
  ...OPERATION_ROUTES.filter((route) => !('backend' in route)),
  EVENTS,
  METRICS,
  ...OPERATION_ROUTES.filter((route) => 'backend' in route),
];

/** The value of each key that a route may need. The key is set if the value is neither false nor empty. */
const VALUE_OF: Readonly<Record<Need, (settings: RouteSettings) => boolean | string | undefined>> = {
  'api.logs': ({ api }) => api.logs,
  'api.metrics': ({ api }) => api.metrics,
  'api.sse.enabled': ({ api }) => api.sse.enabled,
  'api.ui.enabled': ({ api }) => api.ui.enabled,
  'pulseaudio.serve_cookie': ({ audio }) => audio.serveCookie,
  'upgrade.checkUnit': ({ upgrade }) => upgrade.checkUnit,
  'upgrade.upgradeUnit': ({ upgrade }) => upgrade.upgradeUnit,
};

/** The configuration key that must be set so that a route exists; undefined if the route exists. */
export function lackingKey(
  { needs, backend }: { readonly needs: readonly Need[]; readonly backend?: ChildName },
  settings: RouteSettings,
): string | undefined {
  if (backend !== undefined && !settings[backend].enabled) return `${outerNames(backend).section}.enabled`;
  return needs.find((need) => !VALUE_OF[need](settings));
}

/** The routes of one path: one to read it, one to change it, or both. */
interface PathRoutes {
  readonly route: Route;
  /** The route of the other method. */
  readonly other: Route | undefined;
}

export interface RouteMatch extends PathRoutes {
  readonly params: Params;
}

interface Template extends PathRoutes {
  readonly segments: readonly string[];
  /** The configuration key that would enable a disabled route. */
  readonly lacking: string | undefined;
}

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
  /**
   * Paths without parameters, with and without trailing slash. Clients poll these, and the look-up saves 1 of
   * the 7 µs that a GET takes.
   */
  readonly #fixed = new Map<string, Success<RouteMatch>>();
  readonly #templates: readonly Template[];

  /** A path must have at most one route of each method, and both routes must need the same keys. */
  constructor(routes: readonly Route[], settings: RouteSettings) {
    const isFirst = (route: Route): boolean => routes.find(({ path }) => path === route.path) === route;
    this.#templates = routes.filter(isFirst).map((route) => ({
      segments: withoutSlash(route.path).split('/'),
      route,
      other: routes.find((candidate) => candidate !== route && candidate.path === route.path),
      lacking: lackingKey(route, settings),
    }));
    for (const { route, other, lacking } of this.#templates) {
      if (lacking !== undefined || route.path.includes('{')) continue;
      const bare = withoutSlash(route.path);
      for (const path of bare === '' ? ['/'] : [bare, `${bare}/`])
        this.#fixed.set(path, success({ route, other, params: {} }));
    }
  }

  /**
   * `path` is percent-encoded. An encoded slash is part of a name; repeated slashes count as one
   * (docs/http-api.md, "Paths and methods").
   */
  match(path: string): Result<RouteMatch, Problem> {
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return fixed;
    const segments = decodeSegments(path.replace(/\/{2,}/g, '/'));
    if (segments === undefined) return failed(BAD_PATHS.encoding);
    if (segments.some((segment) => segment.includes('\0'))) return failed(BAD_PATHS.nul);
    if (segments.at(-1) === '') segments.pop();
    for (const { segments: template, route, other, lacking } of this.#templates) {
      const params = paramsIn(segments, template);
      if (params !== undefined)
        return lacking === undefined ? success({ route, other, params }) : failed(noSuchPath(lacking));
    }
    return failed(noSuchPath(undefined));
  }
}

/** The value of `Allow`. */
export function methodsOf({ route, other }: PathRoutes): string {
  const methods = [route.method, other?.method];
  return [
    ...(methods.includes('GET') ? ['GET', 'HEAD'] : []),
    ...(methods.includes('POST') ? ['POST'] : []),
    'OPTIONS',
  ].join(', ');
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/**
 * Undefined if the percent-encoding is bad. Splits before decoding, so that `%2F` stays inside its segment.
 */
function decodeSegments(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** The parameters of a path; undefined if the path does not match. A parameter is never empty. */
function paramsIn(segments: readonly string[], template: readonly string[]): Params | undefined {
  if (template.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, expected] of template.entries()) {
    const segment = segments[index] ?? '';
    if (expected.startsWith('{') && segment !== '') params[expected.slice(1, -1)] = segment;
    else if (segment !== expected) return undefined;
  }
  return params;
}
