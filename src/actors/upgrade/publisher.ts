// Decides what is published of the upgrade, and when. It reads neither systemd nor files.

import { type Clock, Timers } from '../../host/clock.js';
import type { Collection } from '../../protocol/actor/collections.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import type { RunFacts } from '../units/facts.js';
import { NO_STATUS, type ResultReading } from './result-file.js';
import { initialRun, isAtWork, publishedRun, type Run, utcSeconds } from './run.js';

/** A part that may fail while the other parts work. Its problem is in `/health`. */
export type FalliblePart = 'result file' | 'progress socket' | 'state file';

type UpgradeCollection = Extract<Collection, 'upgrade' | 'upgrade.info' | 'upgrade.run' | 'upgrade.check'>;

/**
 * The pause between two records `upgrade` that differ only in percent and step. Without the pause, a script
 * that sends thousands of lines a second would cause thousands of these records, which may be large.
 */
const PROGRESS_PAUSE_MS = 100;

export class UpgradePublisher {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #clock: Clock;
  readonly #timers: Timers<'throttle'>;
  readonly #problems = new Map<FalliblePart, string>();
  /** The published texts, by collection and key. */
  readonly #published = new Map<string, string>();
  /** The status of the result file, as JSON text. */
  #statusText = NO_STATUS;
  #run = initialRun();
  #check: LastCheck | undefined;
  #isUp = false;

  constructor(settings: UpgradeSettings, publish: Publisher, clock: Clock) {
    this.#settings = settings;
    this.#publish = publish;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  /** True if everything is published, and commands can be run. */
  get isUp(): boolean {
    return this.#isUp;
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  publishProgress(text: string): void {
    this.#publish.put('upgrade.progress', '', text);
  }

  setResult(result: ResultReading): void {
    if (result.ok) this.#statusText = result.value;
    this.noteProblem('result file', result.ok ? undefined : result.error);
    this.#publishChanges();
  }

  setRun(run: Run): void {
    const { state: stateBefore } = this.#run;
    this.#run = run;
    const { origin, invocation } = run;
    const fields = {
      ...(origin !== undefined && { origin }),
      ...(invocation !== undefined && { invocation }),
    };
    if (run.state !== stateBefore) this.#publish.log('info', `the upgrade run is ${run.state}`, fields);
    this.#publishChanges();
  }

  /** True if these facts of the check unit would be published as the failure of a running check. */
  isCheckFailing(facts: RunFacts): boolean {
    if (this.#check?.state !== 'running') return false;
    return nextCheck(this.#check, facts, this.#clock.date()).state === 'failed';
  }

  /** `facts` are those of the check unit. */
  setCheck(facts: RunFacts): void {
    const before = this.#check;
    this.#check = nextCheck(before, facts, this.#clock.date());
    if (this.#check.state === 'failed' && before?.state === 'running')
      this.#publish.log('warn', 'the check unit failed', { result: facts.result });
    this.#publishChanges();
  }

  /** To be called when systemd is connected and the units have been read, or when no unit is configured. */
  up(run: Run): void {
    if (this.#isUp) return;
    this.#isUp = true;
    this.#run = run;
    // All records must be put before the status `up` (`Publisher.status` in runtime.ts), even records that
    // were put before the backend went down.
    this.#published.clear();
    this.#publishChanges();
    this.#publish.status('up', this.#detail());
  }

  down(reason: string): void {
    this.#isUp = false;
    this.#timers.cancelAll();
    this.#publish.status('connecting', reason);
  }

  /** `problem` is undefined if the part works. A change is published. A new problem is also logged. */
  noteProblem(part: FalliblePart, problem: string | undefined): void {
    if (this.#problems.get(part) === problem) return;
    this.#problems.delete(part);
    if (problem !== undefined) {
      this.#problems.set(part, problem);
      this.#publish.log('warn', `problem with the ${part}`, { problem });
    }
    if (this.#isUp) this.#publish.status('up', this.#detail());
  }

  /**
   * Publishes all records that have changed. If only percent and step have changed, the record `upgrade`
   * waits until PROGRESS_PAUSE_MS have passed since it was last put. The record `upgrade.run` does not wait,
   * because it is for snapshots: a snapshot must have the progress of all earlier lines.
   */
  #publishChanges(): void {
    if (!this.#isUp) return;
    const { checkUnit, upgradeUnit } = this.#settings;
    const { percent, step } = this.#run;
    // `upgrade.info` makes the event, whose run has no percent and no step. A snapshot takes its run from
    // `upgrade.run`, which has both, as `upgrade` has, which is the whole `GET`.
    const run = publishedRun(this.#run);
    const check = checkUnit && publishedCheck(this.#check ?? NEVER_CHECKED);
    const hasStatusChanged = this.#putIfChanged('upgrade.info', 'status', this.#statusText);
    const hasRunChanged = this.#putIfChanged('upgrade.info', 'run', JSON.stringify(run));
    const hasCheckChanged =
      check !== undefined && this.#putIfChanged('upgrade.check', '', JSON.stringify(check));
    const runWithProgress = { ...run, percent, step };
    this.#putIfChanged('upgrade.run', 'run', JSON.stringify(runWithProgress));
    const isProgressOnly = !(hasStatusChanged || hasRunChanged || hasCheckChanged);
    if (isProgressOnly && this.#timers.has('throttle')) return;
    const abilities = { can_check: checkUnit !== undefined, can_upgrade: upgradeUnit !== undefined };
    const otherMembers = JSON.stringify({ run: runWithProgress, ...abilities, check });
    // JSON texts are joined here, not objects, because members of the result file must keep their spelling.
    const text = `{${this.#statusText.slice(1, -1)},${otherMembers.slice(1, -1)}}`;
    if (!this.#putIfChanged('upgrade', '', text)) return;
    this.#timers.set('throttle', PROGRESS_PAUSE_MS, () => this.#publishChanges());
  }

  /** Returns false, and publishes nothing, if the text is published already. */
  #putIfChanged(collection: UpgradeCollection, key: string, text: string): boolean {
    const name = `${collection} ${key}`;
    if (this.#published.get(name) === text) return false;
    this.#published.set(name, text);
    this.#publish.put(collection, key, text);
    return true;
  }

  /** The problems of all parts; undefined if there are none. */
  #detail(): string | undefined {
    const { resultFile, progressSocket, stateFile } = this.#settings;
    const paths = { 'result file': resultFile, 'progress socket': progressSocket, 'state file': stateFile };
    const problems = [...this.#problems].map(([part, problem]) => `${part} ${paths[part]}: ${problem}`);
    return problems.join('; ') || undefined;
  }
}

/** The last known run of the check unit (docs/http-api.md, "Upgrade"). */
export interface LastCheck {
  readonly state: 'idle' | 'running' | 'failed';
  /** The invocation of this run; '' if the check unit has not run. */
  readonly invocation: string;
  /** Milliseconds since the epoch; undefined if the end is unknown. */
  readonly finishedMs?: number | undefined;
  readonly detail?: string;
}

const NEVER_CHECKED: LastCheck = { state: 'idle', invocation: '' };

/**
 * Returns the last check, updated by new facts of the check unit. `before` is the last check before these
 * facts; undefined at the daemon's start. `nowMs` is since the epoch.
 */
export function nextCheck(before: LastCheck | undefined, facts: RunFacts, nowMs: number): LastCheck {
  const { activeState, job, result, wasReset } = facts;
  const isSameInvocation = before?.invocation === facts.invocation;
  // The unit had stayed active after its check (RemainAfterExit=), and somebody stops it now. This is no new
  // check.
  const isOnlyStopped = activeState === 'deactivating' && isSameInvocation && before.state !== 'running';
  if (isOnlyStopped) return before;
  // An unloaded unit has lost its invocation id, so the id of the last check stays.
  const invocation = facts.invocation || (before?.invocation ?? '');
  if (isAtWork(facts)) return { state: 'running', invocation };
  // When a unit starts, systemd first sends the new invocation and the start job, still with the old state.
  // The next signal decides. At the daemon's start there is no `before`, so the facts count at once.
  if (before !== undefined && job !== '') return before;
  // A reset is no run, so the last check stays. For example, the daemon itself resets a failed unit before a
  // start. If systemd then refuses the start, clients must still find the last failure.
  const isOnlyReset = wasReset && before?.invocation === invocation && before.state !== 'running';
  if (isOnlyReset) return before;
  // If the invocation has changed, a whole check has run since the last facts.
  const hasEnded = before !== undefined && (before.state === 'running' || before.invocation !== invocation);
  const finishedMs = hasEnded ? nowMs : before?.finishedMs;
  // After `reset-failed`, `result` is no longer that of the last run.
  const hasBadResult = result !== 'success' && !wasReset;
  const hasFailed = activeState === 'failed' || hasBadResult;
  if (!hasFailed) return { state: 'idle', invocation, finishedMs };
  return { state: 'failed', invocation, finishedMs, detail: `its result is ${result}` };
}

/** The check as clients get it, before it becomes JSON. */
export function publishedCheck({ state, finishedMs, detail }: LastCheck): object {
  return { state, finished_at: utcSeconds(finishedMs), detail };
}
