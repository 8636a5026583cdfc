// Reads the detector's result file at every change, one reading at a time, as JSON text of the status
// (docs/upgrades.md, "The result file").

import type { Clock } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { PathWatch } from '../path-watch.js';
import { inTime, READ_TOO_SLOW, readSmallFile } from '../small-file.js';
import { SharedWork } from '../turns.js';

/** A larger result file is invalid (docs/upgrades.md, "The result file"). */
export const RESULT_MAX_BYTES = 1024 * 1024;
/** A detector that writes in place has this time to finish. */
const SETTLE_MS = 40;

/** The status as JSON text, or why there is none. */
export type ResultReading = Result<string, string>;

/** The status before the first good file. */
export const NO_STATUS = '{"current":"","latest":"","upgrade_available":false}';

/** Reads the file at the first `read`, and from then on at every change. */
export class ResultFile {
  readonly #path: string;
  readonly #onResult: (result: ResultReading) => void;
  readonly #clock: Clock;
  readonly #readings = new SharedWork(() => this.#readOnce());
  #watch: PathWatch | undefined;
  #isStopped = false;

  constructor(path: string, onResult: (result: ResultReading) => void, clock: Clock) {
    this.#path = path;
    this.#onResult = onResult;
    this.#clock = clock;
  }

  /** Resolves when the file has been read in its present state, which may be never. */
  read(): Promise<void> {
    return this.#readings.run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
  }

  async #readOnce(): Promise<void> {
    const reading = readSmallFile(this.#path, RESULT_MAX_BYTES);
    // If the reading takes longer, that is published, and the reading goes on.
    if ((await inTime(this.#clock, reading)) === READ_TOO_SLOW)
      this.#deliver(failed(READ_TOO_SLOW.error.problem));
    const file = await reading;
    this.#deliver(file.ok ? parseResult(file.value.bytes) : failed(file.error.problem));
    if (this.#watch !== undefined || this.#isStopped) return;
    // Not before the disk has answered, because setting a watch blocks this thread. The file may have changed
    // until then, so it is read again.
    this.#watch = new PathWatch(this.#path, () => void this.read(), SETTLE_MS);
    await this.#readOnce();
  }

  #deliver(result: ResultReading): void {
    if (!this.#isStopped) this.#onResult(result);
  }
}

/** A string or a number in JSON. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;
const TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;

/**
 * The same JSON, in which each number is a string that begins with `#`, and each text or key begins with `$`.
 * JSON.parse keeps their spelling and order.
 */
function markTokens(json: string): string {
  return json.replace(TOKEN, (token) => (token.startsWith('"') ? `"$${token.slice(1)}` : `"#${token}"`));
}

/** The original JSON of a part of a `marked` text. */
function unmarkTokens(value: unknown): string {
  return JSON.stringify(value).replace(TEXT, (text) =>
    text.startsWith('"#') ? text.slice(2, -1) : `"${text.slice(2)}`,
  );
}

const REQUIRED = {
  $current: { fits: isText, type: 'a string' },
  $latest: { fits: isText, type: 'a string' },
  $upgrade_available: { fits: (value: unknown) => typeof value === 'boolean', type: 'a boolean' },
} as const;

/** Turns the file's bytes into the status, or says why they are invalid. Pure. */
export function parseResult(bytes: Uint8Array): ResultReading {
  if (bytes.length === 0) return failed('it is empty');
  try {
    return parseStatus(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    // JSON.stringify recurses, JSON.parse does not.
    if (error instanceof RangeError) return failed('it is nested too deeply');
    if (error instanceof SyntaxError) return failed('it is not a JSON object');
    if (error instanceof TypeError) return failed('it is not UTF-8');
    throw error;
  }
}

function parseStatus(text: string): ResultReading {
  const plain: unknown = JSON.parse(text);
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain))
    return failed('it is not a JSON object');
  const { $checked_at: checkedAt, ...rest }: Readonly<Record<string, unknown>> = JSON.parse(markTokens(text));
  for (const [key, { fits, type }] of Object.entries(REQUIRED)) {
    if (rest[key] === undefined) return failed(`it has no ${key.slice(1)}`);
    if (!fits(rest[key])) return failed(`${key.slice(1)} is not ${type}`);
  }
  const { $current, $latest, $upgrade_available, ...extra } = rest;
  const status = {
    $current,
    $latest,
    $upgrade_available,
    ...(isText(checkedAt) && isRfc3339(checkedAt.slice(1)) && { $checked_at: checkedAt }),
    ...(Object.keys(extra).length > 0 && { $extra: extra }),
  };
  return success(unmarkTokens(status));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('$');
}

/** The grammar of RFC 3339, section 5.6, without leap seconds; it does not check that the day exists. */
const DATE_TIME =
  /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

export function isRfc3339(text: string): boolean {
  const day = DATE_TIME.exec(text)?.[1] ?? '';
  const midnight = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(day);
}
