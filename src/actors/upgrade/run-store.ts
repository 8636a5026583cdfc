// Keeps the state file, so that a run outlives the daemon. The upgrade backend reads the file at its start,
// and replaces the file at each transition of the run.

import { type Clock, Timers, within } from '../../host/clock.js';
import { SharedWork } from '../../host/turns.js';
import { codeOf, readSmallFile, writeWhole } from '../small-file.js';
import { jsonObject } from '../text.js';
import { publishedRun, type RunRecord } from './run.js';

/**
 * The answer to the start of an upgrade waits until the run is on the disk, so that a restart of the daemon
 * does not lose the run. But the answer waits no longer than this.
 */
const WRITE_MAX_MS = 1_000;
/**
 * The pause before a failed write is tried again. A full disk may have room by then. Without another attempt
 * the file would keep its old text, which the daemon would believe after a restart.
 */
const RETRY_PAUSE_MS = 10_000;
/**
 * If the reading of the file takes longer, the saved run is ignored. The daemon's start waits 20 s at most
 * for the upgrade backend's first report (host/readiness.ts). The other 10 s are for systemd's journal, which
 * the backend may have to read before this report.
 */
const READ_MAX_MS = 10_000;
/** A state file has some hundred bytes. A file that exceeds this bound is not from this program. */
const STATE_MAX_BYTES = 64 * 1024;

/**
 * The circumstances of a run. If one of them has changed, a run that systemd started cannot go on. A run
 * that began with a line at the progress socket can go on unless `boot` has changed.
 */
export interface Circumstances {
  /** The id of the kernel's boot. */
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

export class RunStore {
  readonly #path: string;
  readonly #onProblem: (problem: string | undefined) => void;
  readonly #clock: Clock;
  readonly #timers: Timers<'retry'>;
  /** The text of the newest run. */
  #newestText = '';
  /** Resolves when the newest text is written or could not be written; undefined before the first save. */
  #lastWrite: Promise<void> | undefined;

  /** `onProblem` gets the reason why the file cannot be used, and undefined after each successful write. */
  constructor(path: string, onProblem: (problem: string | undefined) => void, clock: Clock) {
    this.#path = path;
    this.#onProblem = onProblem;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  /** Resolves to undefined if the file does not exist, cannot be read, or has no run. */
  async recall(): Promise<SavedRun | undefined> {
    const file = await within(this.#clock, READ_MAX_MS, readSmallFile(this.#path, STATE_MAX_BYTES));
    if (file === undefined) {
      this.#onProblem(`it is ignored: it cannot be read within ${READ_MAX_MS / 1000} s`);
      return undefined;
    }
    if (!file.ok) {
      if (!file.error.isMissing) this.#onProblem(`it is ignored: ${file.error.problem}`);
      return undefined;
    }
    const saved = parseSaved(Buffer.from(file.value.bytes).toString());
    if (saved === undefined) this.#onProblem('it is ignored: it does not hold a run');
    return saved;
  }

  /** Begins to write the run. If a newer run follows soon, this run may never be written. */
  save(saved: SavedRun): void {
    this.#newestText = savedText(saved);
    this.#beginWrite();
  }

  /** Resolves when the newest run is on the disk or could not be written, or after WRITE_MAX_MS. */
  async whenWritten(): Promise<void> {
    if (this.#lastWrite !== undefined) await within(this.#clock, WRITE_MAX_MS, this.#lastWrite);
  }

  /** Waits like `whenWritten`. If a write has failed, it is not tried again. */
  async stop(): Promise<void> {
    await this.whenWritten();
    this.#timers.cancelAll();
  }

  #beginWrite(): void {
    this.#lastWrite = this.#writes.run();
  }

  /** Writes the newest text. All saves during a write together cause one more write. */
  readonly #writes = new SharedWork(async () => {
    this.#timers.cancelAll();
    try {
      await writeWhole(this.#path, this.#newestText);
      this.#onProblem(undefined);
    } catch (error) {
      this.#onProblem(`it cannot be written (${codeOf(error)})`);
      this.#timers.set('retry', RETRY_PAUSE_MS, () => this.#beginWrite());
    }
  });
}

/** The text of the state file. Its fields `before` and `job` have shorter names than in RunRecord. */
export function savedText({ record, circumstances }: SavedRun): string {
  const { invocation, invocationBefore: before, startJob: job } = record;
  return `${JSON.stringify({ ...publishedRun(record), invocation, before, job, ...circumstances })}\n`;
}

const STATES = ['idle', 'running', 'failed'] as const;
const ORIGINS = ['systemd', 'socket'] as const;

/** Undefined if the text has no run. Ignores fields that only another version of the daemon knows. */
export function parseSaved(text: string): SavedRun | undefined {
  // A text that is no JSON, for instance because it was cut off, has no fields.
  const fields = jsonObject(text) ?? {};
  const textField = (name: string): string | undefined => {
    const value = fields[name];
    return typeof value === 'string' ? value : undefined;
  };
  const timeField = (name: string): number | undefined => {
    const ms = Date.parse(textField(name) ?? '');
    return Number.isNaN(ms) ? undefined : ms;
  };
  const state = STATES.find((name) => name === fields['state']);
  const origin = ORIGINS.find((name) => name === fields['origin']);
  const startedMs = timeField('started_at');
  const boot = textField('boot');
  const manager = textField('manager');
  const unit = textField('unit');
  const lacksCircumstances = boot === undefined || manager === undefined || unit === undefined;
  if (state === undefined || lacksCircumstances) return undefined;
  const lacksBeginning = origin === undefined || startedMs === undefined;
  if (state === 'running' && lacksBeginning) return undefined;
  const record: RunRecord = {
    state,
    origin,
    startedMs,
    finishedMs: timeField('finished_at'),
    invocation: textField('invocation'),
    invocationBefore: textField('before'),
    startJob: textField('job'),
  };
  return { record, circumstances: { boot, manager, unit } };
}
