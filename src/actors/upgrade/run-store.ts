// The state file, in which a run outlives the daemon: read once at start, written whole at each transition, the newest text last.
// A network disk may not answer, so only one operation runs at a time, and every wait is bounded.

import { type Clock, Timers, within } from '../../clock.js';
import { codeOf, READ_MAX_MS, readSmallFile, writeWhole } from '../small-file.js';
import { type RunRecord, shownRun } from './run.js';

/** A start is on the disk before it is answered, so that it outlives us; a disk that hangs longer does not delay the answer. */
const WRITE_MAX_MS = 1_000;
/** A failed write is tried again: a disk is not full for ever, and its text would be believed after a restart. */
const AGAIN_MS = 10_000;
/** A state file has some hundred bytes; a larger one was not written by this program. */
const STATE_MAX_BYTES = 64 * 1024;

/** The surroundings in which a run began. If one of these has changed, the run cannot still be going on. */
export interface Circumstances {
  readonly boot: string;
  /** Identifies one life of the user's systemd; '' if unknown. */
  readonly manager: string;
  /** The configured upgrade unit; '' if there is none. */
  readonly unit: string;
}

export interface SavedRun {
  readonly record: RunRecord;
  readonly circumstances: Circumstances;
}

export type SavedRunReading =
  | { readonly ok: true; readonly saved: SavedRun | undefined }
  | { readonly ok: false; readonly problem: string };

export class RunStore {
  readonly #path: string;
  readonly #onProblem: (problem: string | undefined) => void;
  readonly #clock: Clock;
  readonly #timers: Timers<'again'>;
  #recalling: Promise<unknown> | undefined;
  #next: string | undefined;
  #writing: Promise<void> | undefined;

  /** `onProblem` is called with the result of each write, and before that if one takes too long. */
  constructor(path: string, onProblem: (problem: string | undefined) => void, clock: Clock) {
    this.#path = path;
    this.#onProblem = onProblem;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  async recall(): Promise<SavedRunReading> {
    const reading = readSmallFile(this.#path, STATE_MAX_BYTES);
    this.#recalling = reading;
    const file = await within(this.#clock, READ_MAX_MS, reading);
    if (file === undefined)
      return { ok: false, problem: `it cannot be read within ${READ_MAX_MS / 1_000} s` };
    if (!file.ok) return file.missing ? { ok: true, saved: undefined } : { ok: false, problem: file.problem };
    const saved = parseSaved(Buffer.from(file.bytes).toString('utf8'));
    return saved === undefined ? { ok: false, problem: 'it does not hold a run' } : { ok: true, saved };
  }

  /** Never rejects; a text that is overtaken by a newer one may never be written. */
  save(saved: SavedRun): void {
    this.#write(savedText(saved));
  }

  /** Resolves when everything that was saved is on the disk, or has failed once. */
  async settled(): Promise<void> {
    await this.#writing;
  }

  /** Like `settled`, and no write is tried again. */
  async stop(): Promise<void> {
    await this.settled();
    this.#timers.cancelAll();
  }

  /** Like `settled`, but for a bounded time; `onProblem` has been called then. */
  async settledInTime(): Promise<void> {
    await within(this.#clock, WRITE_MAX_MS, this.settled());
  }

  #write(text: string): void {
    this.#timers.cancelAll();
    this.#next = text;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    while (this.#next !== undefined) {
      const inTime = this.#clock.after(WRITE_MAX_MS, () => {
        this.#onProblem(`it cannot be written within ${WRITE_MAX_MS / 1_000} s`);
      });
      await this.#recalling;
      const text = this.#next;
      this.#next = undefined;
      await writeWhole(this.#path, text).then(
        () => this.#onProblem(undefined),
        (error: unknown) => {
          this.#onProblem(`it cannot be written (${codeOf(error)})`);
          if (this.#next === undefined) this.#timers.set('again', AGAIN_MS, () => this.#write(text));
        },
      );
      inTime();
    }
    // In the same turn as the last check of #next: a text that comes now starts a new write.
    this.#writing = undefined;
  }
}

export function savedText({ record, circumstances }: SavedRun): string {
  const { invocation, before, startJob: job } = record;
  return `${JSON.stringify({ ...shownRun(record), invocation, before, job, ...circumstances })}\n`;
}

/** The file's object. Unknown fields, of another version, are ignored. */
interface SavedFields extends Circumstances, Pick<RunRecord, 'state' | 'origin' | 'invocation' | 'before'> {
  readonly job?: string;
  readonly started_at?: string;
  readonly finished_at?: string;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
const isInvocation: Check = (value) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
/** Only our own format, with four-digit years. */
const isTime: Check = (value) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) &&
  !Number.isNaN(Date.parse(value));
const isOneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const ifGiven =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);

const CHECKS: Readonly<Record<keyof SavedFields, Check>> = {
  state: isOneOf('idle', 'running', 'failed'),
  origin: isOneOf(undefined, 'systemd', 'socket'),
  invocation: ifGiven(isInvocation),
  before: (value) => value === '' || value === undefined || isInvocation(value),
  job: ifGiven(isText),
  started_at: ifGiven(isTime),
  finished_at: ifGiven(isTime),
  boot: isText,
  manager: isText,
  unit: isText,
};

/** Undefined if `savedText` cannot have written the text. */
export function parseSaved(text: string): SavedRun | undefined {
  const fields = parseFields(text);
  if (fields === undefined) return undefined;
  const { state, origin, invocation, before, job, started_at: started, finished_at: finished } = fields;
  if (state === 'running' && (origin === undefined || started === undefined)) return undefined;
  const record: RunRecord = {
    state,
    ...(origin !== undefined && { origin }),
    ...(invocation !== undefined && { invocation }),
    ...(before !== undefined && { before }),
    ...(job !== undefined && { startJob: job }),
    ...(started !== undefined && { startedMs: Date.parse(started) }),
    ...(finished !== undefined && { finishedMs: Date.parse(finished) }),
  };
  const { boot, manager, unit } = fields;
  return { record, circumstances: { boot, manager, unit } };
}

function parseFields(text: string): SavedFields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null) return undefined;
    const fields = value as Readonly<Record<string, unknown>>;
    const isWhole = Object.entries(CHECKS).every(([name, check]) => check(fields[name]));
    return isWhole ? (value as SavedFields) : undefined;
  } catch {
    return undefined; // Cut off or overwritten: the caller reports it.
  }
}
