// Decides when an upgrade run begins, when it ends, and whether it has succeeded: the table of
// docs/upgrades.md, "Runs", as a state machine. A systemd run is a run of the upgrade unit. A socket run is a
// run that began with a line at the progress socket. Pure.

import { isAtRest, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';

/** A socket run is over after this time without a connection (docs/upgrades.md, "Runs"). */
export const QUIET_MS = 10 * 60 * 1000;

export type Origin = 'systemd' | 'socket';

/** The part of a run that is saved, for a restart of the daemon. Times are ms since the epoch. */
export interface RunRecord {
  readonly state: 'idle' | 'running' | 'failed';
  readonly origin?: Origin | undefined;
  readonly startedMs?: number | undefined;
  readonly finishedMs?: number | undefined;
  /** The invocation of a systemd run; absent until systemd has sent it. */
  readonly invocation?: string | undefined;
  /**
   * The unit's last invocation before this run, '' for none. It is needed only while `invocation` is absent:
   * facts with this earlier invocation are older than the run.
   */
  readonly invocationBefore?: string | undefined;
  /**
   * The path of the job that began a systemd run; absent when the run is over. If systemd has restarted the
   * unit (Restart=), this is the path of the last restart's job. The result of any other job, such as a
   * reload, does not count.
   */
  readonly startJob?: string | undefined;
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /**
   * How many runs have begun since the daemon's start. This number shows whether a run has begun since the
   * daemon called StartUnit (`accepted`).
   */
  readonly begunRuns: number;
  /**
   * The result of `startJob` if that job has ended, but not with `done`. The run then fails, unless systemd
   * restarts the unit (Restart=).
   */
  readonly badJobResult?: string | undefined;
  /**
   * True if somebody has stopped the unit during this run. If the unit is no oneshot, only this field shows
   * the stop: `Result` may still be `success`, and `startJob` is done as soon as the program runs.
   */
  readonly wasStopped?: boolean | undefined;
  /** The path of the unit's queued or running job during a systemd run; '' for none. */
  readonly job: string;
  /**
   * True for a systemd run that seems to have failed. systemd may still be about to restart the unit, so a
   * reading of the unit decides (`facts-after-doubt`).
   */
  readonly isDoubtful: boolean;
  readonly facts: RunFacts;
}

export type RunInput =
  /** systemd has accepted the daemon's call of StartUnit or RestartUnit. */
  | {
      readonly kind: 'accepted';
      /** The run's `begunRuns` before the call. */
      readonly begunBefore: number;
      /** The unit's last invocation before the call. */
      readonly invocationBefore: string;
      /** The path of the start job. */
      readonly job: string;
      /** The result of the start job if it has ended already. */
      readonly jobResult?: string;
    }
  /** A signal or a reading brought the unit's properties. The next two kinds are for special readings. */
  | { readonly kind: 'facts'; readonly facts: RunFacts }
  /** The unit was read after signals may have been missed. */
  | {
      readonly kind: 'facts-after-gap';
      readonly facts: RunFacts;
      /**
       * True if the manager (one life of the user's systemd) and the configured unit are the same as at the
       * run's beginning. No systemd run outlives its manager.
       */
      readonly isSameManagerAndUnit: boolean;
      /** True if somebody stopped the run, according to systemd's journal. */
      readonly wasStopped?: boolean;
    }
  /** The unit was read because the run was doubtful. */
  | { readonly kind: 'facts-after-doubt'; readonly facts: RunFacts }
  | { readonly kind: 'job-ended'; readonly job: string; readonly result: string }
  /**
   * A valid progress line. If `isLeftover`, the line may belong to a systemd run that is over, so it begins
   * no run.
   */
  | { readonly kind: 'line'; readonly content: ProgressEvent; readonly isLeftover: boolean }
  /** No connection was open for QUIET_MS, or the node was rebooted after the run had begun. */
  | { readonly kind: 'abandoned' };

export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, begunRuns: 0, job: '', isDoubtful: false, facts: NOTHING_RAN };
}

/** True if this line may begin a socket run. The caller also checks that the unit is not at work. */
export function beginsSocketRun(run: Run, content: ProgressEvent, isLeftover: boolean): boolean {
  return run.state !== 'running' && !isLeftover && content.event !== 'end';
}

/** The run after `input`. If it is the same object, nothing has changed. `nowMs` is since the epoch. */
export function nextRun(run: Run, input: RunInput, nowMs: number): Run {
  switch (input.kind) {
    case 'accepted':
      return afterAcceptance(run, input, nowMs);
    case 'facts':
      return withVerdict(afterFacts(run, input.facts, nowMs), nowMs);
    case 'facts-after-gap':
      return afterGap(run, input, nowMs);
    case 'facts-after-doubt':
      return afterDoubt(run, input.facts, nowMs);
    case 'job-ended':
      return afterJob(run, input.job, input.result, nowMs);
    case 'line':
      return afterLine(run, input.content, input.isLeftover, nowMs);
    case 'abandoned':
      return isRunning(run, 'socket') ? finishedRun(run, 'failed', nowMs) : run;
  }
}

function isRunning(run: Run, origin: Origin): boolean {
  return run.state === 'running' && run.origin === origin;
}

function startedRun(run: Run, origin: Origin, startedMs: number): Run {
  const { begunRuns, facts } = run;
  return { state: 'running', origin, startedMs, begunRuns: begunRuns + 1, job: '', isDoubtful: false, facts };
}

function finishedRun(run: Run, outcome: 'succeeded' | 'failed', nowMs: number): Run {
  const { origin, startedMs, invocation, begunRuns, facts } = run;
  return {
    state: outcome === 'succeeded' ? 'idle' : 'failed',
    origin,
    startedMs,
    finishedMs: nowMs,
    invocation,
    begunRuns,
    job: '',
    isDoubtful: false,
    facts,
  };
}

function afterAcceptance(run: Run, input: RunInput & { readonly kind: 'accepted' }, nowMs: number): Run {
  const { begunBefore, invocationBefore, job, jobResult } = input;
  // Signals may overtake systemd's reply, so the run that was started may be known already, or even be over.
  if (run.begunRuns !== begunBefore || isRunning(run, 'systemd')) return run;
  const accepted: Run = { ...startedRun(run, 'systemd', nowMs), invocationBefore, startJob: job, job };
  const { invocation } = run.facts;
  // The unit may have been so quick that no signal and no reading has found it at work.
  const hasRun = invocation !== '' && invocation !== invocationBefore;
  const next = hasRun ? withInvocation(accepted) : accepted;
  return jobResult === undefined ? next : afterJob(next, job, jobResult, nowMs);
}

/** The run with new facts of the unit. A run may begin, or take over another invocation. */
function afterFacts(run: Run, facts: RunFacts, nowMs: number): Run {
  const next: Run = { ...run, facts };
  if (isRunning(run, 'systemd')) return continuedRun(next, nowMs);
  // No run begins if the unit only stops or reloads, or if the run of its invocation is over.
  const { activeState, invocation } = facts;
  const isUnderWay = activeState === 'activating' || (activeState === 'active' && !isExited(facts));
  const isNewRun = isUnderWay && invocation !== '' && invocation !== run.invocation;
  return isNewRun ? begunByUnit(next, nowMs) : next;
}

/**
 * The run that begins with the unit's present facts. Its beginning is the time that systemd names. If this
 * time is unknown, or is later than `nowMs` because the clock was set back, the beginning is `nowMs`.
 */
function begunByUnit(run: Run, nowMs: number): Run {
  const { facts } = run;
  const started = startedRun(run, 'systemd', Math.min(nowMs, facts.startedMs ?? nowMs));
  return { ...started, ...invocationFields(facts) };
}

function invocationFields({ invocation, job }: RunFacts): Pick<Run, 'invocation' | 'job' | 'startJob'> {
  return { invocation, job, startJob: job || undefined };
}

/**
 * Returns what a running systemd run becomes by the new facts in `run.facts`. These may be the facts of the
 * run's own invocation, of an earlier one, or of a later one.
 */
function continuedRun(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const withJob = { ...run, job: facts.job };
  // `facts.invocation` is '' if the unit has not run, or was unloaded.
  if (facts.invocation === '' || facts.invocation === invocation) return withJob;
  const areFactsOlder = invocation === undefined && facts.invocation === run.invocationBefore;
  if (areFactsOlder) return withJob;
  if (invocation === undefined) return withInvocation(withJob);
  // If systemd restarts the unit by itself (Restart=), all tries are one run.
  if (facts.restarts > 0) return withInvocation(withJob);
  // Somebody has restarted the unit. The run's invocation was killed, and `Result` belongs to the new one.
  const failedRun = finishedRun(run, 'failed', nowMs);
  return isAtWork(facts) ? begunByUnit(failedRun, nowMs) : failedRun;
}

/** The run takes over the invocation of its facts: the run's first one, or that of another try (Restart=). */
function withInvocation(run: Run): Run {
  const next = { ...run, invocationBefore: undefined };
  if (run.invocation === undefined) return { ...next, invocation: run.facts.invocation };
  // Only the last try decides the verdict, so a bad job result or a stop of an earlier try does not count.
  return { ...next, badJobResult: undefined, wasStopped: undefined, ...invocationFields(run.facts) };
}

/**
 * Ends a systemd run if its unit is not at work and has no job. A failure is doubtful at first: a unit that
 * systemd is about to restart is `failed` for a moment (systemd 252).
 */
function withVerdict(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  if (isAtWork(run.facts) || run.job) return { ...withStop(run), isDoubtful: false };
  return hasSucceeded(run) ? finishedRun(run, 'succeeded', nowMs) : { ...run, isDoubtful: true };
}

/**
 * Sets `wasStopped` if somebody stops the unit: the unit is ending, and it has a job that is not `startJob`.
 * A unit that ends by itself has no such job, unless somebody starts or reloads it just then.
 */
function withStop(run: Run): Run {
  const { facts, invocation, startJob } = run;
  const isEnding = facts.activeState === 'deactivating' && facts.invocation === invocation;
  const hasOtherJob = facts.job !== '' && facts.job !== startJob;
  return isEnding && hasOtherJob ? { ...run, wasStopped: true } : run;
}

function afterDoubt(run: Run, facts: RunFacts, nowMs: number): Run {
  const next = withVerdict(afterFacts(run, facts, nowMs), nowMs);
  return next.isDoubtful ? finishedRun(next, 'failed', nowMs) : next;
}

function hasSucceeded({ badJobResult, wasStopped, invocation, facts }: Run): boolean {
  if (badJobResult !== undefined || wasStopped) return false;
  // If the run has no invocation, the unit has not run: something prevented its start after the job was
  // queued. If the facts have another invocation, or none, their `Result` may be that of another run.
  if (invocation === undefined || facts.invocation !== invocation) return false;
  // After a reset (`reset-failed`), `Result` is no longer the result of this run.
  return facts.result === 'success' && facts.activeState !== 'failed' && !facts.wasReset;
}

function afterJob(run: Run, endedJob: string, result: string, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  const isBad = endedJob === run.startJob && result !== 'done';
  const remainingJob = endedJob === run.job ? '' : run.job;
  const next: Run = { ...run, job: remainingJob, ...(isBad && { badJobResult: result }) };
  return withVerdict(next, nowMs);
}

/**
 * A systemd run goes on if its unit is at work in the run's invocation, or has a pending job. The run ends in
 * all other cases, and whenever `isSameManagerAndUnit` is false.
 */
function afterGap(run: Run, input: RunInput & { readonly kind: 'facts-after-gap' }, nowMs: number): Run {
  const { facts, isSameManagerAndUnit, wasStopped = false } = input;
  if (!isRunning(run, 'systemd')) return afterFacts(run, facts, nowMs);
  const withFacts: Run = { ...run, facts, job: facts.job, isDoubtful: false };
  // The missed signals may have brought the run's first invocation, or that of another try (Restart=). In
  // all other cases `continuedRun` is not called: it could end the run, but the end is decided below.
  const mayTakeInvocation = isSameManagerAndUnit && (run.invocation === undefined || facts.restarts > 0);
  const next = mayTakeInvocation ? continuedRun(withFacts, nowMs) : withFacts;
  const mayBeSameInvocation = next.invocation === undefined || next.invocation === facts.invocation;
  const isSameRun = isSameManagerAndUnit && mayBeSameInvocation;
  // A unit that is at work, but not in the same run, has begun a new run.
  if (isAtWork(facts)) return isSameRun ? withStop(next) : begunByUnit(next, nowMs);
  // A pending job may still start the unit, so the run goes on.
  if (facts.job !== '' && isSameManagerAndUnit) return next;
  // A run counts as failed if its success is not known, for instance because systemd has unloaded the unit.
  const isSuccess = isSameManagerAndUnit && !wasStopped && hasSucceeded(next);
  return finishedRun(next, isSuccess ? 'succeeded' : 'failed', nowMs);
}

function afterLine(run: Run, content: ProgressEvent, isLeftover: boolean, nowMs: number): Run {
  const isBeginning = beginsSocketRun(run, content, isLeftover) && !isAtWork(run.facts);
  const next = isBeginning ? startedRun(run, 'socket', nowMs) : run;
  if (next.state !== 'running') return next;
  // A script may send any percentage, but that of the run stays between 0 and 100. The line is relayed
  // unchanged.
  if (content.event === 'progress')
    return { ...next, percent: Math.min(Math.max(content.percent, 0), 100), step: content.step };
  // A systemd run ends only with its unit.
  const isEnd = content.event === 'end' && next.origin === 'socket';
  if (!isEnd) return next;
  return finishedRun(next, content.success ? 'succeeded' : 'failed', nowMs);
}

type UnitState = Pick<RunFacts, 'activeState' | 'subState'>;

/** True if the unit is starting, running, reloading, stopping, or waiting to be restarted by systemd. */
export function isAtWork(state: UnitState): boolean {
  return !isAtRest(state) && !isExited(state);
}

/**
 * True if the work is done, but the unit stays active (RemainAfterExit=). A oneshot unit is `activating`
 * while it works, so it is `active` only in this case.
 */
export function isExited({ activeState, subState }: UnitState): boolean {
  return activeState === 'active' && subState === 'exited';
}

/**
 * The run as clients get it (docs/http-api.md, "Upgrade run"), but without `percent` and `step`. In the
 * records `upgrade` and `upgrade.run`, publisher.ts adds these two.
 */
export function publishedRun({ state, origin, startedMs, finishedMs }: RunRecord): object {
  return { state, origin, started_at: utcSeconds(startedMs), finished_at: utcSeconds(finishedMs) };
}

/** Turns ms since the epoch into a time of RFC 3339, such as `2026-11-29T09:45:00Z`. */
export function utcSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
