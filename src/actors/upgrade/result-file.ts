// The detector's result file: read at every change, one reading at a time, into the upgrade status as JSON text (docs/upgrades.md, "The
// result file"). It may lie on a network's disk that does not answer: then it hangs on a thread for files, one for all that is to be done,
// and not on the actor's own.

import { stat } from 'node:fs/promises';
import type { Clock } from '../../clock.js';
import { PathWatch } from '../path-watch.js';
import { READ_MAX_MS, readSmallFile } from '../small-file.js';

/** A result file over this is invalid (docs/upgrades.md, "The result file"). */
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
  readonly #watch: PathWatch;
  #reading: Promise<void> | undefined;
  #again = false;
  /** What was told last, as one text. */
  #told = '';
  #stopped = false;

  constructor(path: string, onResult: (result: ResultReading) => void, clock: Clock) {
    this.#path = path;
    this.#onResult = onResult;
    this.#clock = clock;
    this.#watch = new PathWatch(path, () => void this.read(), { settleMs: SETTLE_MS, byHand: true });
  }

  /** Resolves when the file has been read as it is now, which may be never. */
  read(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.close();
    await this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const inTime = this.#clock.after(READ_MAX_MS, () => this.#tell(LATE));
      await this.#readOne();
      inTime();
    }
    // In the same turn as the last look at #again: a change that comes now starts a reading of its own.
    this.#reading = undefined;
  }

  async #readOne(): Promise<void> {
    // The watch is set from the actor's thread: only where another one has just come through.
    await stat(this.#path).catch(() => undefined);
    // Watching first: what changes during the reading is told.
    this.#watch.arm();
    const file = await readSmallFile(this.#path, RESULT_MAX_BYTES);
    this.#tell(file.ok ? parseResult(file.bytes) : file);
  }

  #tell(result: ResultReading): void {
    const text = JSON.stringify(result);
    if (this.#stopped || text === this.#told) return;
    this.#told = text;
    this.#onResult(result);
  }
}

/** A text or a number of JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;
const TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;

/**
 * The same JSON, in which each number is a text that begins with `#`, and each text, keys too, begins with `$`: so that JSON.parse
 * leaves numbers as they are spelled, and an object leaves its keys, `10` and `__proto__` too, in their order.
 */
function marked(json: string): string {
  return json.replace(TOKEN, (token) => (token.startsWith('"') ? `"$${token.slice(1)}` : `"#${token}"`));
}

/** The JSON of a part of what `marked` has made. */
function unmarked(value: unknown): string {
  return JSON.stringify(value).replace(TEXT, (text) =>
    text.startsWith('"#') ? text.slice(2, -1) : `"${text.slice(2)}`,
  );
}

/** Key -> whether its value is of the right type, and what that is. */
const REQUIRED = {
  $current: { fits: isText, type: 'a string' },
  $latest: { fits: isText, type: 'a string' },
  $upgrade_available: { fits: (value: unknown) => typeof value === 'boolean', type: 'a boolean' },
} as const;

/** Pure: the file's bytes -> the status, or what is wrong with them. */
export function parseResult(bytes: Uint8Array): ResultReading {
  if (bytes.length > RESULT_MAX_BYTES) return invalidResult(`it is larger than ${RESULT_MAX_BYTES} bytes`);
  if (bytes.length === 0) return invalidResult('it is empty');
  try {
    return statusOf(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // JSON.stringify recurses, JSON.parse does not.
    if (error instanceof RangeError) return invalidResult('it is nested too deeply');
    if (error instanceof SyntaxError) return invalidResult('it is not a JSON object');
    if (error instanceof TypeError) return invalidResult('it is not UTF-8');
    throw error;
  }
}

function statusOf(text: string): ResultReading {
  const plain: unknown = JSON.parse(text);
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain))
    return invalidResult('it is not a JSON object');
  const { $checked_at: checkedAt, ...rest }: Readonly<Record<string, unknown>> = JSON.parse(marked(text));
  for (const [key, { fits, type }] of Object.entries(REQUIRED)) {
    if (rest[key] === undefined) return invalidResult(`it has no ${key.slice(1)}`);
    if (!fits(rest[key])) return invalidResult(`${key.slice(1)} is not ${type}`);
  }
  const { $current, $latest, $upgrade_available, ...extra } = rest;
  const status = {
    $current,
    $latest,
    $upgrade_available,
    ...(isText(checkedAt) && isRfc3339(checkedAt.slice(1)) && { $checked_at: checkedAt }),
    ...(Object.keys(extra).length > 0 && { $extra: extra }),
  };
  return { ok: true, body: unmarked(status).slice(1, -1) };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('$');
}

/** The grammar of RFC 3339, section 5.6, without leap seconds, but for days that do not exist. */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** Whether `text` is a date-time of a day that exists. */
export function isRfc3339(text: string): boolean {
  const day = DATE_TIME.exec(text)?.[1] ?? '';
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}

function invalidResult(problem: string): ResultReading {
  return { ok: false, problem };
}
