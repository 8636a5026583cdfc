// Reads the result file, and decides whether the file is valid (docs/upgrades.md, "The result file"). The
// detector, a program that searches for upgrades, writes the file.

import type { Clock } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { PathWatch } from '../path-watch.js';
import { READ_TOO_SLOW, readInTime, readSmallFile } from '../small-file.js';

/** A larger result file is invalid (docs/upgrades.md, "The result file"). */
export const RESULT_MAX_BYTES = 1024 * 1024;
/** A detector that writes the file in place, without a rename, has this time to finish. */
const SETTLE_MS = 40;

/** The status as JSON text, or the reason why the file has no valid status. */
export type ResultReading = Result<string, string>;

/** The status before the first valid file. */
export const NO_STATUS = '{"current":"","latest":"","upgrade_available":false}';

/** Reads the file at the first `read`, and after that at every change. */
export class ResultFile {
  readonly #path: string;
  readonly #onResult: (result: ResultReading) => void;
  readonly #clock: Clock;
  readonly #readings = new SharedWork(() => this.#readFile());
  #watch: PathWatch | undefined;
  #isStopped = false;

  constructor(path: string, onResult: (result: ResultReading) => void, clock: Clock) {
    this.#path = path;
    this.#onResult = onResult;
    this.#clock = clock;
  }

  /**
   * Resolves when the file's present content has been read. If the disk hangs, the promise may never resolve.
   */
  read(): Promise<void> {
    return this.#readings.run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
  }

  async #readFile(): Promise<void> {
    const reading = readSmallFile(this.#path, RESULT_MAX_BYTES);
    // A late reading is reported as a problem, but goes on.
    const isLate = (await readInTime(this.#clock, reading)) === READ_TOO_SLOW;
    if (isLate) this.#deliver(failed(READ_TOO_SLOW.error.problem));
    const file = await reading;
    this.#deliver(file.ok ? parseResult(file.value.bytes) : failed(file.error.problem));
    if (this.#watch !== undefined || this.#isStopped) return;
    // The watch is set only after the disk has answered, because setting a watch on a disk that hangs would
    // block this thread.
    this.#watch = new PathWatch(this.#path, () => void this.read(), SETTLE_MS);
    // The file may have changed before the watch was set, so the file is read again.
    await this.#readFile();
  }

  #deliver(result: ResultReading): void {
    if (!this.#isStopped) this.#onResult(result);
  }
}

/**
 * Any string or number in a valid JSON text, such as `"a\"b"` and `-1.5e3`. In a valid text, a number ends
 * before the first character that is not in `[\d.eE+-]`.
 */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;
/** Any string in a JSON text, such as `"a\"b"`. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;

/**
 * The same JSON, but each number is a string that begins with `#`, and each string and key begins with `$`:
 * `{"a":"b","1":2.0}` becomes `{"$a":"$b","$1":"#2.0"}`. The marks preserve the spelling of numbers and the
 * order of keys. Without marks, JSON.parse would change `2.0` to `2`, and would put the key "1" first.
 */
function markTokens(json: string): string {
  return json.replace(TOKEN, (token) => {
    const isString = token.startsWith('"');
    // The replacement is a function, because `$` may have a meaning in a replacement text.
    return isString ? token.replace('"', () => '"$') : `"#${token}"`;
  });
}

/**
 * The JSON of a value that was parsed from the text of `markTokens`, without the marks: `"#2.0"` becomes
 * `2.0`, and `"$b"` becomes `"b"`. White space and needless escapes of the original text are lost.
 */
function unmarkTokens(value: unknown): string {
  return JSON.stringify(value).replace(STRING, (marked) =>
    marked.startsWith('"#') ? marked.slice(2, -1) : `"${marked.slice(2)}`,
  );
}

/** The required members, with their marked keys. */
const REQUIRED = {
  $current: { isValid: isMarkedString, type: 'a string' },
  $latest: { isValid: isMarkedString, type: 'a string' },
  $upgrade_available: { isValid: (value: unknown) => typeof value === 'boolean', type: 'a boolean' },
} as const;

/** The status in the file's bytes, or the reason why the bytes are not valid. Pure. */
export function parseResult(bytes: Uint8Array): ResultReading {
  if (bytes.length === 0) return failed('it is empty');
  try {
    return parseStatus(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // JSON.stringify recurses, unlike JSON.parse, and may exceed the stack.
    if (error instanceof RangeError) return failed('it is nested too deeply');
    if (error instanceof SyntaxError) return failed('it is not a JSON object');
    if (error instanceof TypeError) return failed('it is not UTF-8');
    throw error;
  }
}

function parseStatus(text: string): ResultReading {
  // The text is first parsed without marks. With marks, a wrong number such as `01` would be a valid string.
  const plain: unknown = JSON.parse(text);
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain))
    return failed('it is not a JSON object');
  const members: Readonly<Record<string, unknown>> = JSON.parse(markTokens(text));
  for (const [key, { isValid, type }] of Object.entries(REQUIRED)) {
    if (members[key] === undefined) return failed(`it has no ${key.slice(1)}`);
    if (!isValid(members[key])) return failed(`${key.slice(1)} is not ${type}`);
  }
  const { $current, $latest, $upgrade_available, $checked_at, ...extra } = members;
  // A `checked_at` that is no valid time does not make the file invalid. It is left out (docs/upgrades.md,
  // "The result file").
  const isTimeValid = isMarkedString($checked_at) && isRfc3339($checked_at.slice(1));
  const status = {
    $current,
    $latest,
    $upgrade_available,
    ...(isTimeValid && { $checked_at }),
    ...(Object.keys(extra).length > 0 && { $extra: extra }),
  };
  return success(unmarkTokens(status));
}

function isMarkedString(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('$');
}

/**
 * A date and a time by RFC 3339, section 5.6, without leap seconds, such as `2026-11-29T09:45:00Z` (`t` and
 * `z` are allowed, too). The first group of the pattern is the day. A day that does not exist, such as
 * `2026-02-30`, fits the pattern, too.
 */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** True if the text has the form of RFC 3339 and its day exists. */
export function isRfc3339(text: string): boolean {
  const day = DATE_TIME.exec(text)?.[1];
  if (day === undefined) return false;
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // `Date` takes the 30th of February for a day of March.
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}
