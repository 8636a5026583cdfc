// Makes the document of `GET /openapi.json` from the tables of routes and problems, and from the schemas.
// This file loads typebox, which takes megabytes of memory. So gateway.ts imports this file only when a
// client requests the document.

import { type TSchema, Type } from 'typebox';
import { EVENTS } from '../protocol/actor/collections.js';
import { FAULTS, type FaultCode } from '../protocol/actor/faults.js';
import {
  allowedValues,
  documentedName,
  documentedPath,
  LOG_LINES,
  NAME_FORMS,
  NAME_MAX_CHARACTERS,
  parametersOf,
} from '../protocol/actor/parameters.js';
import { bodyComponent, COMPONENTS, type ComponentName, oneOf } from '../protocol/actor/schemas.js';
import { FILE_CONTENT } from './page.js';
import { PROBLEMS, type ProblemCode } from './problem.js';
import { METRICS_TYPE } from './reply.js';
import type { Route } from './routes.js';

type JsonObject = Readonly<Record<string, unknown>>;

/** Every request that a backend must answer may fail with these faults. */
const BACKEND_FAULTS: readonly FaultCode[] = ['refused', 'internal', 'unavailable', 'timeout'];

const PROBLEMS_OF_EVERY_ROUTE = [
  'bad-request',
  'bad-path',
  'foreign-host',
  'gateway-failed',
  'shutting-down',
] as const;
/**
 * The problems of each kind of route, besides those of every route. `JsonSource` and `BytesSource` in
 * protocol/actor/operations.ts explain most kinds. `problemsOf` adds the problems that depend on the backend
 * of the route.
 */
const PROBLEMS_BY_KIND: Readonly<Partial<Record<Route['kind'], readonly ProblemCode[]>>> = {
  command: [
    'foreign-origin',
    'read-only',
    'not-found',
    'bad-body',
    'body-too-large',
    'unsupported-type',
    ...BACKEND_FAULTS,
  ],
  events: ['bad-query', 'too-many-streams'],
  page: ['foreign-origin', 'not-found'],
  document: ['unavailable'],
  tracklist: ['no-such-player', 'no-tracklist', 'unavailable'],
  text: BACKEND_FAULTS,
  log: ['bad-query', 'not-granted', ...BACKEND_FAULTS],
  cookie: ['no-cookie', ...BACKEND_FAULTS],
  cover: ['no-such-player', 'no-cover', ...BACKEND_FAULTS],
};

/**
 * The image types that actors/players/cover.ts recognizes. They are listed one by one, because programs that
 * generate clients do not understand `image/*`.
 */
const COVER_CONTENT = { 'image/jpeg': {}, 'image/png': {}, 'image/gif': {}, 'image/webp': {} };

const TEXT = Type.String();
const EVENT_TABLE = Object.fromEntries(Object.entries(EVENTS).map(([type, name]) => [type, ref(name)]));
// `METRICS_TYPE` is a whole header. Its second part is the value.
const [, METRICS_CONTENT_TYPE] = METRICS_TYPE;
const UNCHANGED = { description: 'Not changed since If-None-Match' };

const { byDefault: defaultLines, ...linesBounds } = LOG_LINES;

const QUERIES: Readonly<Partial<Record<Route['kind'], readonly JsonObject[]>>> = {
  events: [
    query('types', 'Sends only these events, separated by commas; audio.level is sent only if it is listed'),
    query(
      'backend',
      'Sends only events of these backends, separated by commas; with types, events of either list are sent',
    ),
    query('exclude', 'Does not send these events, separated by commas; server.info is always sent'),
    query('keepalive', 'Seconds of silence before a "love"', Type.String({ pattern: '^\\d{2,3}s?$' })),
    query('snapshot', '1: the stream begins with the current state', oneOf('0', '1')),
    query('lastEventId', 'Replaces the header Last-Event-ID for clients that cannot set it'),
  ],
  log: [
    query('lines', 'How many of the newest lines', Type.Integer({ ...linesBounds, default: defaultLines })),
  ],
};

export function openapiDocument(routes: readonly Route[], version: string): JsonObject {
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const route of routes) {
    const path = documentedPath(route.path);
    const operations = paths[path] ?? {};
    operations[route.method.toLowerCase()] = operationObject(route);
    paths[path] = operations;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'tonearm',
      version,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Controls one networked audio node. Every path also answers with or without one trailing slash, and HEAD wherever GET does.',
    },
    // This URL is relative to the document's address, because a proxy may serve the node below another path.
    // A client that has read `/openapi.json/`, with a slash at the end, gets a wrong address from this URL.
    servers: [{ url: '.' }],
    paths,
    components: { schemas: schemaComponents() },
  };
}

function operationObject(route: Route): JsonObject {
  const { method, path, summary, kind } = route;
  const parameters = [...parametersOf(path).map(pathParameter), ...(QUERIES[kind] ?? [])];
  const [, firstSegment = ''] = path.split('/');
  const parametersIfAny = parameters.length > 0 ? { parameters } : {};
  const eventsIfStream = kind === 'events' ? { 'x-events': EVENT_TABLE } : {};
  return {
    operationId: operationId(method, documentedPath(path)),
    summary,
    // The path `/` redirects to `/ui`, so it has the same tag.
    tags: [firstSegment === '' ? 'ui' : firstSegment],
    ...parametersIfAny,
    ...requestBody(route),
    ...eventsIfStream,
    responses: { ...successesOf(route), ...problemResponses(problemsOf(route)) },
  };
}

/** The id of `GET /ui/{file}` is `get_ui_By_file`. */
function operationId(method: string, path: string): string {
  const pathWords = path.replace(/\{(\w+)\}/g, 'By-$1').replace(/[^a-zA-Z0-9]+/g, '_');
  return method.toLowerCase() + pathWords;
}

function requestBody(route: Route): JsonObject {
  if (route.kind !== 'command' || route.body === undefined) return {};
  const content = { 'application/json': { schema: ref(bodyComponent(route.body)) } };
  return { requestBody: { required: route.isBodyRequired, content } };
}

function problemsOf(route: Route): readonly ProblemCode[] {
  const problemsOfKind = PROBLEMS_BY_KIND[route.kind] ?? [];
  // The path of a unit's log has parameters, which may be wrong. The log of upgrades has a fixed path.
  if (route.kind === 'log' && route.backend === 'systemd')
    return [...problemsOfKind, 'not-found', 'no-such-unit'];
  if (route.kind !== 'command') return problemsOfKind;
  const faultsOfBackend = Object.entries(FAULTS)
    .filter(([, { refusedBy }]) => refusedBy?.includes(route.backend))
    .map(([code]) => code as FaultCode);
  return [...problemsOfKind, ...faultsOfBackend];
}

function successesOf(route: Route): JsonObject {
  switch (route.kind) {
    case 'command':
      return { 202: { description: 'The backend accepted the command' } };
    case 'events':
      return {
        200: { description: 'Server-sent events', content: { 'text/event-stream': { schema: TEXT } } },
      };
    case 'metrics':
      return { 200: { description: 'The figures', content: { [METRICS_CONTENT_TYPE]: { schema: TEXT } } } };
    case 'cookie':
      return { 200: { description: 'The cookie', content: { 'application/octet-stream': {} } } };
    case 'cover': {
      const etag = { ETag: { schema: TEXT } };
      const location = { Location: { schema: TEXT } };
      return {
        200: { description: 'The image', headers: etag, content: COVER_CONTENT },
        304: UNCHANGED,
        307: { description: 'The image is on another server', headers: location },
      };
    }
    case 'page': {
      const file = { 200: { description: 'A file', content: FILE_CONTENT }, 304: UNCHANGED };
      const redirect = { 308: { description: 'Redirect to the page' } };
      if (route.part === 'redirect') return redirect;
      if (route.part === 'file') return file;
      // The page is at `/ui`, and `/ui/` redirects to it.
      return { ...file, ...redirect };
    }
    case 'health':
      return { 200: jsonResponse(route.schema) };
    default:
      return cacheableResponses(route.schema);
  }
}

function problemResponses(codes: readonly ProblemCode[]): JsonObject {
  const titlesByStatus = new Map<number, string[]>();
  for (const code of new Set([...PROBLEMS_OF_EVERY_ROUTE, ...codes])) {
    const { status, title } = PROBLEMS[code];
    titlesByStatus.set(status, [...(titlesByStatus.get(status) ?? []), title]);
  }
  const content = { 'application/problem+json': { schema: ref('Problem') } };
  return Object.fromEntries(
    [...titlesByStatus].map(([status, titlesOfStatus]) => {
      const headers = status === 503 ? { headers: { 'Retry-After': { schema: Type.Integer() } } } : {};
      return [status, { description: titlesOfStatus.join('; '), ...headers, content }];
    }),
  );
}

function cacheableResponses(name: ComponentName): JsonObject {
  const time = { description: 'Time of the last change', schema: Type.String({ format: 'date-time' }) };
  const headers = { ETag: { schema: TEXT }, 'X-Cache-Updated-At': time };
  return { 200: { ...jsonResponse(name), headers }, 304: { ...UNCHANGED, headers } };
}

function jsonResponse(name: ComponentName): JsonObject {
  return { description: name, content: { 'application/json': { schema: ref(name) } } };
}

function pathParameter(parameter: string): JsonObject {
  const words = allowedValues(parameter);
  const form = NAME_FORMS[parameter] ?? { maxLength: NAME_MAX_CHARACTERS };
  const name = documentedName(parameter);
  const schema = words === undefined ? Type.String({ minLength: 1, ...form }) : oneOf(...words);
  return { name, in: 'path', required: true, description: `${name}: percent-encoded`, schema };
}

function query(name: string, description: string, schema: TSchema = TEXT): JsonObject {
  return { name, in: 'query', required: false, description, schema };
}

/**
 * A component that is part of another component becomes a reference. Without the reference, programs that
 * generate clients would make two types with the same name, and drop one of these types. Typebox copies the
 * schema of an optional object. `namesBySchema` does not find such a copy, but `namesByJson` does.
 */
function schemaComponents(): JsonObject {
  const components: [string, TSchema][] = Object.entries(COMPONENTS);
  const namesBySchema = new Map<unknown, string>(components.map(([name, schema]) => [schema, name]));
  const objects = components.filter(([, schema]) => 'properties' in schema);
  const namesByJson = new Map(objects.map(([name, schema]) => [JSON.stringify(schema), name]));
  const nameOfCopy = (value: unknown): string | undefined => {
    const isObject = typeof value === 'object' && value !== null && 'properties' in value;
    return isObject ? namesByJson.get(JSON.stringify(value)) : undefined;
  };
  const componentName = (value: unknown): string | undefined => namesBySchema.get(value) ?? nameOfCopy(value);
  const jsonWithReferences = (schema: TSchema): string =>
    JSON.stringify(schema, (key, value: unknown) => {
      // In the first call `value` is the whole component, which must not become a reference to itself.
      const isWholeComponent = key === '';
      const name = isWholeComponent ? undefined : componentName(value);
      return name === undefined ? value : ref(name);
    });
  return Object.fromEntries(
    components.map(([name, schema]) => [name, JSON.parse(jsonWithReferences(schema))]),
  );
}

function ref(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}
