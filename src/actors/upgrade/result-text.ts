// The result file's text -> the upgrade status as JSON text, or what is wrong with it (contract, section 4). Pure.

import { type Member, membersOf } from './json-source.js';
import { isRfc3339 } from './time-text.js';

/** A result file over this is invalid (contract, section 4). */
export const RESULT_MAX_BYTES = 1024 * 1024;

/** The members of the status between the braces: the answer of `GET /upgrade` goes on behind them. */
export type StatusBody = string;

export type Result =
  | { readonly ok: true; readonly body: StatusBody }
  | { readonly ok: false; readonly problem: string };

/** The status before the first good file. */
export const NO_STATUS: StatusBody = '"current":"","latest":"","upgrade_available":false';

/** Key -> whether its JSON source is of the right type, and what that is. */
const REQUIRED = {
  current: { fits: isString, type: 'a string' },
  latest: { fits: isString, type: 'a string' },
  upgrade_available: { fits: (source: string) => source === 'true' || source === 'false', type: 'a boolean' },
} as const;

const KNOWN: readonly string[] = [...Object.keys(REQUIRED), 'checked_at'];

export function parseResult(bytes: Uint8Array): Result {
  if (bytes.length > RESULT_MAX_BYTES) return wrong(`it is larger than ${RESULT_MAX_BYTES} bytes`);
  if (bytes.length === 0) return wrong('it is empty');
  const text = utf8(bytes);
  if (text === undefined) return wrong('it is not UTF-8');
  const members = membersOf(text);
  return members === undefined ? wrong('it is not a JSON object') : statusOf(members);
}

function statusOf(members: readonly Member[]): Result {
  const sources = new Map(members.map(({ key, source }) => [key, source]));
  const parts: string[] = [];
  for (const [key, { fits, type }] of Object.entries(REQUIRED)) {
    const source = sources.get(key);
    if (source === undefined) return wrong(`it has no ${key}`);
    if (!fits(source)) return wrong(`${key} is not ${type}`);
    parts.push(`"${key}":${source}`);
  }
  const checkedAt = sources.get('checked_at');
  if (checkedAt !== undefined && isTime(checkedAt)) parts.push(`"checked_at":${checkedAt}`);
  const extra = members.filter(({ key }) => !KNOWN.includes(key));
  if (extra.length > 0) {
    parts.push(`"extra":{${extra.map(({ keySource, source }) => `${keySource}:${source}`).join(',')}}`);
  }
  return { ok: true, body: parts.join(',') };
}

function isString(source: string): boolean {
  return source.startsWith('"');
}

function isTime(source: string): boolean {
  return isString(source) && isRfc3339(String(JSON.parse(source)));
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined; // Not UTF-8: the caller says so.
  }
}

function wrong(problem: string): Result {
  return { ok: false, problem };
}
