// The detector's result file: read at every change, one reading at a time, into the upgrade status as JSON text (contract, section
// 4). It may lie on a network's disk that does not answer: then it hangs on a thread for files, one for all that is to be done,
// and not on the actor's own.

import { stat } from 'node:fs/promises';
import type { Clock } from '../../clock.js';
import { LazyWatch } from '../path-watch.js';
import { READ_MAX_MS, readSmallFile } from '../small-file.js';

/** A result file over this is invalid (contract, section 4). */
export const RESULT_MAX_BYTES = 1024 * 1024;
/** A detector that writes in place is given this time to finish. */
const SETTLE_MS = 40;

/** `body`: the members of the status between the braces: the answer of `GET /upgrade` goes on behind them. */
export type ResultReading =
  | { readonly ok: true; readonly body: string }
  | { readonly ok: false; readonly problem: string };

/** The status before the first good file. */
export const NO_STATUS = '"current":"","latest":"","upgrade_available":false';

/** What takes longer is told, and waited for all the same. */
const LATE: ResultReading = invalidResult(`it cannot be read within ${READ_MAX_MS / 1_000} s`);

export class ResultFile {
  readonly #path: string;
  readonly #onResult: (result: ResultReading) => void;
  readonly #clock: Clock;
  readonly #watch: LazyWatch;
  #reading: Promise<void> | undefined;
  /** To be looked at anew, and to be read anew whether or not it seems changed. */
  #again = false;
  #unread = false;
  #stopped = false;

  constructor(path: string, onResult: (result: ResultReading) => void, clock: Clock) {
    this.#path = path;
    this.#onResult = onResult;
    this.#clock = clock;
    this.#watch = new LazyWatch(path, () => void this.#look(), { settleMs: SETTLE_MS });
  }

  /** Resolves when the file has been read as it is now, which may be never. */
  read(): Promise<void> {
    this.#unread = true;
    return this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.close();
    await this.#reading;
  }

  #look(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const inTime = this.#clock.after(READ_MAX_MS, () => {
        this.#unread = true;
        this.#tell(LATE);
      });
      await this.#readOne();
      inTime();
    }
    // In the same turn as the last look at #again: a change that comes now starts a reading of its own.
    this.#reading = undefined;
  }

  async #readOne(): Promise<void> {
    // The watch looks from the actor's thread: only where somebody else has just come through.
    await stat(this.#path).catch(() => undefined);
    // Watching first: what changes during the reading is told.
    if (!this.#watch.look() && !this.#unread) return;
    this.#unread = false;
    const file = await readSmallFile(this.#path, RESULT_MAX_BYTES);
    this.#tell(file.ok ? parseResult(file.bytes) : file);
  }

  #tell(result: ResultReading): void {
    if (!this.#stopped) this.#onResult(result);
  }
}

/** Key -> whether its JSON source is of the right type, and what that is. */
const REQUIRED = {
  current: { fits: isString, type: 'a string' },
  latest: { fits: isString, type: 'a string' },
  upgrade_available: { fits: (source: string) => source === 'true' || source === 'false', type: 'a boolean' },
} as const;

const KNOWN: readonly string[] = [...Object.keys(REQUIRED), 'checked_at'];

/** Pure: the file's bytes -> the status, or what is wrong with them. */
export function parseResult(bytes: Uint8Array): ResultReading {
  if (bytes.length > RESULT_MAX_BYTES) return invalidResult(`it is larger than ${RESULT_MAX_BYTES} bytes`);
  if (bytes.length === 0) return invalidResult('it is empty');
  const text = utf8(bytes);
  if (text === undefined) return invalidResult('it is not UTF-8');
  const members = membersOf(text);
  if (members === undefined) return invalidResult('it is not a JSON object');
  const parts: string[] = [];
  for (const [key, { fits, type }] of Object.entries(REQUIRED)) {
    const source = members.get(key)?.source;
    if (source === undefined) return invalidResult(`it has no ${key}`);
    if (!fits(source)) return invalidResult(`${key} is not ${type}`);
    parts.push(`"${key}":${source}`);
  }
  const checkedAt = members.get('checked_at')?.source;
  if (checkedAt !== undefined && isDateTime(checkedAt)) parts.push(`"checked_at":${checkedAt}`);
  const extra = [...members].filter(([key]) => !KNOWN.includes(key));
  if (extra.length > 0) {
    const sources = extra.map(([, { keySource, source }]) => `${keySource}:${source}`);
    parts.push(`"extra":{${sources.join(',')}}`);
  }
  return { ok: true, body: parts.join(',') };
}

function isString(source: string): boolean {
  return source.startsWith('"');
}

function isDateTime(source: string): boolean {
  return isString(source) && isRfc3339(String(JSON.parse(source)));
}

/** The grammar of RFC 3339, section 5.6, but for days that do not exist and leap seconds at the wrong time. */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T((?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60))(?:\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Whether `text` is a date-time of a day that exists. A leap second is one only at 23:59:60 UTC. */
export function isRfc3339(text: string): boolean {
  const [, day = '', time = '', zone = ''] = DATE_TIME.exec(text) ?? [];
  const midnight = Date.parse(`${day}T00:00:00Z`);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day)) return false;
  if (!time.endsWith('60')) return true;
  const minute = Date.parse(`${day}T${time.slice(0, 5)}${zone.toUpperCase()}`);
  return minute % DAY_MS === DAY_MS - MINUTE_MS || (minute % DAY_MS) + MINUTE_MS === 0;
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined; // Not UTF-8: the caller says so.
  }
}

function invalidResult(problem: string): ResultReading {
  return { ok: false, problem };
}

/** One member of an object, with both its key and its value as they stand in the text: JSON.parse would turn 1.50 into 1.5. */
interface Member {
  readonly keySource: string;
  /** Without the white space between tokens. */
  readonly source: string;
}

/** A string, or a run of white space; whatever lies between is punctuation, numbers and words. */
const STRING_OR_SPACE = /"(?:[^"\\]|\\.)*"|[ \t\n\r]+/gs;
const STRING = /"(?:[^"\\]|\\.)*"/sy;

/** The same JSON without white space between tokens, so that it fits one line. */
function compact(json: string): string {
  return json.replace(STRING_OR_SPACE, (found) => (found.startsWith('"') ? found : ''));
}

/**
 * The members of the object that `json` is by key, in their order. A key that stands twice has its last value, as with JSON.parse,
 * at its first place. Undefined when the text is no JSON, or JSON that is no object. Never recurses: any depth is harmless.
 */
function membersOf(json: string): ReadonlyMap<string, Member> | undefined {
  if (!isObject(json)) return undefined;
  const text = compact(json);
  const members = new Map<string, Member>();
  // Behind the opening brace; each round ends behind a comma or the closing brace.
  for (let at = 1; at < text.length - 1; ) {
    const keyEnd = stringEnd(text, at);
    const keySource = text.slice(at, keyEnd);
    const end = valueEnd(text, keyEnd + 1);
    members.set(String(JSON.parse(keySource)), { keySource, source: text.slice(keyEnd + 1, end) });
    at = end + 1;
  }
  return members;
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false; // That it is no JSON is the answer; where exactly it breaks helps nobody.
  }
}

function stringEnd(text: string, at: number): number {
  STRING.lastIndex = at;
  STRING.test(text);
  return STRING.lastIndex;
}

/** The index of the comma or brace behind the value that begins at `at`. */
function valueEnd(text: string, at: number): number {
  let depth = 0;
  for (let index = at; ; ) {
    const character = text[index];
    if (character === '"') {
      index = stringEnd(text, index);
      continue;
    }
    if (depth === 0 && (character === ',' || character === '}')) return index;
    if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    index += 1;
  }
}
