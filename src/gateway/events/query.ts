// Parses the query of `GET /events` (docs/events.md, "Query") and the Last-Event-ID header. Pure.

import { CHILD_NAMES, type ChildName, outerNames } from '../../protocol/actor/backends.js';
import { EVENTS, LEVEL_EVENT } from '../../protocol/actor/collections.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { type Filter, filterOf } from './frames.js';

const KEEPALIVE_S = { least: 10, most: 120, byDefault: 30 };
/** Finds the number in `30` or `30s`. The number must have two or three digits. */
const SECONDS = /^([1-9]\d{1,2})s?$/;
/** All names that `backend=` accepts. */
const BACKEND_NAMES: readonly string[] = CHILD_NAMES.flatMap(acceptedNames);

export interface EventQuery {
  readonly filter: Filter;
  readonly keepaliveMs: number;
  readonly snapshot: boolean;
  /**
   * Names in `types`, `backend` and `exclude` that this version of the daemon does not know. They are
   * ignored.
   */
  readonly unknownNames: readonly string[];
  /** Not checked: it may be from an earlier run of the daemon, too old, or no id at all. */
  readonly lastEventId?: string;
}

/**
 * `query` is the raw text behind the question mark. The error is one sentence for the client.
 * - An event is selected by its name in `types`, or by its backend in `backend`. If both lists are absent,
 *   all events are selected. Levels are an exception: only `types` selects them.
 * - Selected events are sent, except those in `exclude`.
 * - If a list is repeated, all its names count. A list without names (`types=`) counts as absent.
 * - If all names in `types` and `backend` are unknown, only `server.info` and marks of snapshots are sent.
 * - A repeated `keepalive` or `snapshot` is ambiguous, so it is refused.
 * - Unknown parameters are ignored.
 */
export function parseEventQuery(query: string, lastEventIdHeader = ''): Result<EventQuery, string> {
  const parameters = decodeParameters(query);
  if (parameters === undefined) return failed('The query is not valid percent-encoding');
  const excluded = listedNames(parameters, 'exclude') ?? [];
  if (excluded.includes('server.info'))
    return failed('Parameter exclude cannot hold server.info, which is always sent');
  const keepaliveMs = parseKeepalive(parameters.getAll('keepalive'));
  const { least, most } = KEEPALIVE_S;
  if (keepaliveMs === undefined)
    return failed(`Parameter keepalive must be given once, as ${least} to ${most} seconds`);
  const snapshot = parseSnapshot(parameters.getAll('snapshot'));
  if (snapshot === undefined) return failed('Parameter snapshot must be given once, as 0 or 1');
  const types = listedNames(parameters, 'types');
  const backends = listedNames(parameters, 'backend');
  const selectsEverything = types === undefined && backends === undefined;
  const filter = filterOf((type, backend) => {
    if (excluded.includes(type)) return false;
    if (types?.includes(type)) return true;
    // Only `types` selects levels.
    if (type === LEVEL_EVENT) return false;
    return selectsEverything || acceptedNames(backend).some((name) => backends?.includes(name));
  });
  const lastEventId = idToResumeFrom(parameters, lastEventIdHeader);
  const listedTypes = [...(types ?? []), ...excluded];
  const unknownNames = [
    ...listedTypes.filter((name) => !Object.hasOwn(EVENTS, name)),
    ...(backends ?? []).filter((name) => !BACKEND_NAMES.includes(name)),
  ];
  const parsed = { filter, keepaliveMs, snapshot, unknownNames };
  return success(lastEventId === undefined ? parsed : { ...parsed, lastEventId });
}

/**
 * Undefined if the percent-encoding is bad. Without the call of `decodeURIComponent`, `URLSearchParams` would
 * keep bad encoding as literal text.
 */
function decodeParameters(query: string): URLSearchParams | undefined {
  try {
    decodeURIComponent(query);
    return new URLSearchParams(query);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}

function listedNames(parameters: URLSearchParams, parameterName: string): readonly string[] | undefined {
  const values = parameters.getAll(parameterName).flatMap((value) => value.split(','));
  const names = values.map((name) => name.trim()).filter((name) => name !== '');
  return names.length === 0 ? undefined : names;
}

function parseKeepalive(values: readonly string[]): number | undefined {
  const { least, most, byDefault } = KEEPALIVE_S;
  if (values.length === 0) return byDefault * 1000;
  const [value = ''] = values;
  const seconds = values.length === 1 ? Number(SECONDS.exec(value)?.[1]) : Number.NaN;
  return seconds >= least && seconds <= most ? seconds * 1000 : undefined;
}

function parseSnapshot(values: readonly string[]): boolean | undefined {
  const [value = '0', ...others] = values;
  const isValid = others.length === 0 && ['0', '1'].includes(value);
  return isValid ? value === '1' : undefined;
}

/**
 * The header wins over the query: a browser that reconnects sends its newest id in the header, while its URL
 * still has the id from the first connection. If the query has several ids, the last one wins, because
 * libraries that replace EventSource append the newest id at every reconnect.
 */
function idToResumeFrom(parameters: URLSearchParams, header: string): string | undefined {
  if (header !== '') return header;
  const id = parameters.getAll('lastEventId').at(-1);
  return id === '' ? undefined : id;
}

/** The names that `backend=` accepts for a child. */
function acceptedNames(child: ChildName): readonly string[] {
  const { queryAlias } = outerNames(child);
  return queryAlias === undefined ? [child] : [child, queryAlias];
}
