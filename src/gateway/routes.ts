// Decides which routes exist, which routes a path has, and which configuration key would enable a path. Pure.

import { type ChildName, outerNames } from '../protocol/actor/backends.js';
import {
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationName,
  type RequiredKey,
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
 * A route that is no operation: the events need a connection that stays open, and the others are for
 * browsers or Prometheus. The package `tonearm-client` makes functions only for operations, and bridges can
 * request only operations.
 */
type OtherRoute = Pick<Operation, 'path' | 'summary' | 'needs'> & { readonly method: 'GET' } & (
    | { readonly kind: 'events' }
    | { readonly kind: 'metrics' }
    | { readonly kind: 'page'; readonly part: PagePart }
  );

export type Route = OperationRoute | OtherRoute;

function pageRoute(path: string, summary: string, part: PagePart): Route {
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

/**
 * The routes are in the order of the OpenAPI document: the node's own routes come before the routes of
 * backends.
 */
export const ROUTES: readonly Route[] = [
  pageRoute('/', 'The way to the page', 'redirect'),
  pageRoute('/ui', 'The page', 'document'),
  pageRoute('/ui/{file}', 'A file of the page', 'file'),
  ...OPERATION_ROUTES.filter((route) => !('backend' in route)),
  EVENTS,
  METRICS,
  ...OPERATION_ROUTES.filter((route) => 'backend' in route),
];

/** The value of each key that a route may need. The key is set if the value is neither false nor empty. */
const VALUES_OF_KEYS: Readonly<
  Record<RequiredKey, (settings: RouteSettings) => boolean | string | undefined>
> = {
  'api.logs': ({ api }) => api.logs,
  'api.metrics': ({ api }) => api.metrics,
  'api.sse.enabled': ({ api }) => api.sse.enabled,
  'api.ui.enabled': ({ api }) => api.ui.enabled,
  'pulseaudio.serve_cookie': ({ audio }) => audio.serveCookie,
  'upgrade.checkUnit': ({ upgrade }) => upgrade.checkUnit,
  'upgrade.upgradeUnit': ({ upgrade }) => upgrade.upgradeUnit,
};

/**
 * The first key that a route needs and the configuration does not set, such as `pulseaudio.enabled`.
 * Undefined if the route exists.
 */
export function missingKeyFor(
  { needs, backend }: { readonly needs: readonly RequiredKey[]; readonly backend?: ChildName },
  settings: RouteSettings,
): string | undefined {
  if (backend !== undefined && !settings[backend].enabled) return `${outerNames(backend).section}.enabled`;
  return needs.find((need) => !VALUES_OF_KEYS[need](settings));
}

/** The routes of one path. If there are two, one is GET and the other is POST. */
interface PathRoutes {
  readonly route: Route;
  readonly other: Route | undefined;
}

export interface RouteMatch extends PathRoutes {
  readonly params: Params;
}

interface PathTemplate extends PathRoutes {
  readonly segments: readonly string[];
  /** The configuration key that would enable the path; undefined if the path is enabled. */
  readonly missingKey: string | undefined;
}

/** Problems of paths that no route can have. */
export const BAD_PATHS = {
  encoding: problem('bad-path', 'The percent-encoding does not decode to UTF-8 text'),
  nul: problem('bad-path', 'The path holds a NUL'),
} as const;

/** `key` is the configuration key that would enable the path; undefined if no key does. */
export function noSuchPath(key?: string): Problem {
  const remark = key === undefined ? '' : `; ${key} in the configuration enables it`;
  return problem('not-found', `There is no such path${remark}`);
}

export class Router {
  /**
   * The enabled routes whose paths have no parameters, by path, with and without a trailing slash. Clients
   * poll these routes, and the look-up saves 1 of the 7 µs that a GET takes.
   */
  readonly #routesByPath = new Map<string, Success<RouteMatch>>();
  readonly #templates: readonly PathTemplate[];

  /** A path may have one GET route and one POST route. If it has both, they must need the same keys. */
  constructor(routes: readonly Route[], settings: RouteSettings) {
    const isFirstOfPath = (route: Route): boolean => routes.find(({ path }) => path === route.path) === route;
    this.#templates = routes.filter(isFirstOfPath).map((route) => ({
      segments: withoutSlash(route.path).split('/'),
      route,
      other: routes.find((candidate) => candidate !== route && candidate.path === route.path),
      missingKey: missingKeyFor(route, settings),
    }));
    for (const { route, other, missingKey } of this.#templates) {
      if (missingKey !== undefined || route.path.includes('{')) continue;
      const plainPath = withoutSlash(route.path);
      const match = success({ route, other, params: {} });
      this.#routesByPath.set(`${plainPath}/`, match);
      // The route `/` has only the path with a slash.
      if (plainPath !== '') this.#routesByPath.set(plainPath, match);
    }
  }

  /**
   * `path` is percent-encoded. An encoded slash is part of a name; repeated slashes count as one
   * (docs/http-api.md, "Paths and methods").
   */
  match(path: string): Result<RouteMatch, Problem> {
    const found = this.#routesByPath.get(path);
    if (found !== undefined) return found;
    const segments = decodeSegments(path.replace(/\/{2,}/g, '/'));
    if (segments === undefined) return failed(BAD_PATHS.encoding);
    if (segments.some((segment) => segment.includes('\0'))) return failed(BAD_PATHS.nul);
    if (segments.at(-1) === '') segments.pop();
    for (const template of this.#templates) {
      const params = paramsIn(segments, template.segments);
      if (params === undefined) continue;
      const { route, other, missingKey } = template;
      return missingKey === undefined ? success({ route, other, params }) : failed(noSuchPath(missingKey));
    }
    return failed(noSuchPath());
  }
}

/** Returns the value of the header `Allow`. */
export function allowedMethods({ route, other }: PathRoutes): string {
  const routeMethods = [route.method, other?.method];
  const allowed: string[] = [];
  if (routeMethods.includes('GET')) allowed.push('GET', 'HEAD');
  if (routeMethods.includes('POST')) allowed.push('POST');
  return [...allowed, 'OPTIONS'].join(', ');
}

function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Undefined if the percent-encoding is bad. The path is split first, so `%2F` stays inside its segment. */
function decodeSegments(path: string): string[] | undefined {
  try {
    return path.split('/').map(decodeURIComponent);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

/** Undefined if the path does not match the template. An empty segment does not match a parameter. */
function paramsIn(segments: readonly string[], templateSegments: readonly string[]): Params | undefined {
  if (templateSegments.length !== segments.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, templateSegment] of templateSegments.entries()) {
    const segment = segments[index] ?? '';
    const fillsParameter = templateSegment.startsWith('{') && segment !== '';
    if (fillsParameter) params[templateSegment.slice(1, -1)] = segment;
    else if (segment !== templateSegment) return undefined;
  }
  return params;
}
