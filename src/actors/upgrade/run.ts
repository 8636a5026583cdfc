// The upgrade run as a state machine: the table of docs/upgrades.md, "Runs", and nothing else. Pure: times
// are arguments. A verdict belongs to an invocation: the unit's `Result` counts only while the unit's
// InvocationID is the run's. A unit that systemd restarts by itself (Restart=) has one run for all tries,
// which ends as the last try ends.

import { isAtRest, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';

/** A silent run of the socket, with nobody connected, is over after this time (docs/upgrades.md, "Runs"). */
export const QUIET_MS = 10 * 60 * 1000;

export type Origin = 'systemd' | 'socket';

/** The part that outlives restarts of the daemon. Times are ms since the epoch. */
export interface RunRecord {
  readonly state: 'idle' | 'running' | 'failed';
  readonly origin?: Origin | undefined;
  readonly startedMs?: number | undefined;
  readonly finishedMs?: number | undefined;
  /** The invocation of the last known systemd run; for a running one absent until systemd has sent it. */
  readonly invocation?: string | undefined;
  /**
   * While `invocation` is absent: the unit's invocation before this run, '' for none, which must not be taken
   * for this run's.
   */
  readonly before?: string | undefined;
  /**
   * For a running systemd run: the path of the job that began it. Only this job's result counts, not that of
   * a reload.
   */
  readonly startJob?: string | undefined;
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /**
   * The number of runs that have begun since the daemon's start. It shows whether one began during a call.
   */
  readonly count: number;
  /** For a systemd run: the result of its start job if that is not `done`. The run has failed then. */
  readonly badJob?: string | undefined;
  /** For a systemd run: the path of the unit's queued or running job; '' for none. */
  readonly job: string;
  /**
   * For a systemd run: it looks failed, but systemd may be about to restart the unit, which only a reading of
   * the unit shows.
   */
  readonly doubtful: boolean;
  readonly facts: RunFacts;
}

export type RunInput =
  /**
   * systemd accepted our StartUnit. `sinceCount`, `before`: count and invocation before it; `job`: a path;
   * `jobResult`: of an ended job.
   */
  | {
      readonly kind: 'accepted';
      readonly sinceCount: number;
      readonly before: string;
      readonly job: string;
      readonly jobResult?: string;
    }
  /** A signal brought the unit's properties. */
  | { readonly kind: 'unit'; readonly facts: RunFacts }
  /**
   * The unit was read, as signals may have been missed. `sameManager`: the manager is that of the run's
   * beginning; no run outlives its manager. `wasStopped`: somebody stopped the run, as systemd's journal
   * shows.
   */
  | {
      readonly kind: 'read';
      readonly facts: RunFacts;
      readonly sameManager: boolean;
      readonly wasStopped?: boolean;
    }
  /** The unit was read because the run was doubtful. */
  | { readonly kind: 'confirmed'; readonly facts: RunFacts }
  | { readonly kind: 'job-ended'; readonly job: string; readonly result: string }
  /** A valid line. `leftover`: from a connection that belongs to a systemd run that is over. */
  | { readonly kind: 'line'; readonly content: ProgressEvent; readonly leftover: boolean }
  /** No connection open and no line for QUIET_MS; or the node was restarted since a socket run began. */
  | { readonly kind: 'abandoned' };

export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, count: 0, job: '', doubtful: false, facts: NOTHING_RAN };
}

/** True if a line would begin a run, provided that the unit is not at work. */
export function beginsSocketRun(run: Run, content: ProgressEvent, leftover: boolean): boolean {
  return run.state !== 'running' && !leftover && content.event !== 'end';
}

/** The run after `input`; the same object if nothing changed. `nowMs` is since the epoch. */
export function nextRun(run: Run, input: RunInput, nowMs: number): Run {
  switch (input.kind) {
    case 'accepted':
      return afterAcceptance(run, input, nowMs);
    case 'unit':
      return withVerdict(afterSignal(run, input.facts, nowMs), nowMs);
    case 'read':
      return afterReading(run, input, nowMs);
    case 'confirmed':
      return afterConfirmation(run, input.facts, nowMs);
    case 'job-ended':
      return afterJob(run, input.job, input.result, nowMs);
    case 'line':
      return afterLine(run, input.content, input.leftover, nowMs);
    case 'abandoned':
      return isRunning(run, 'socket') ? finishedRun(run, false, nowMs) : run;
  }
}

function isRunning(run: Run, origin: Origin): boolean {
  return run.state === 'running' && run.origin === origin;
}

function startedRun(run: Run, origin: Origin, startedMs: number): Run {
  const { count, facts } = run;
  return { state: 'running', origin, startedMs, count: count + 1, job: '', doubtful: false, facts };
}

function finishedRun(run: Run, success: boolean, nowMs: number): Run {
  const { origin, startedMs, invocation, count, facts } = run;
  const state = success ? 'idle' : 'failed';
  return { state, origin, startedMs, finishedMs: nowMs, invocation, count, job: '', doubtful: false, facts };
}

function afterAcceptance(run: Run, input: RunInput & { readonly kind: 'accepted' }, nowMs: number): Run {
  const { sinceCount, before, job, jobResult } = input;
  // Signals may overtake the reply: the run of this trigger may be known already, or be over.
  if (run.count !== sinceCount || isRunning(run, 'systemd')) return run;
  const begins: Run = { ...startedRun(run, 'systemd', nowMs), before, startJob: job, job };
  const { invocation } = run.facts;
  // It may have been so quick that no reading has found it at work.
  const started = invocation === '' || invocation === before ? begins : withInvocation(begins);
  return jobResult === undefined ? started : afterJob(started, job, jobResult, nowMs);
}

/** Applies the unit's facts; a run may begin or take another invocation. */
function afterSignal(run: Run, facts: RunFacts, nowMs: number): Run {
  const next: Run = { ...run, facts };
  if (isRunning(run, 'systemd')) return whileRunning(next, nowMs);
  // A unit that stops or reloads begins no new run, and neither does an invocation that has its verdict.
  const { activeState, invocation } = facts;
  const isUnderWay = activeState === 'activating' || (activeState === 'active' && !isExited(facts));
  const isFresh = isUnderWay && invocation !== '' && invocation !== run.invocation;
  return isFresh ? begunByUnit(next, nowMs) : next;
}

/** Begins a run of a working unit; its start is the earlier of now and systemd's time. */
function begunByUnit(run: Run, nowMs: number): Run {
  const { facts } = run;
  const started = startedRun(run, 'systemd', Math.min(nowMs, facts.startedMs ?? nowMs));
  return { ...started, ...beginningOf(facts) };
}

function beginningOf({ invocation, job }: RunFacts): Pick<Run, 'invocation' | 'job' | 'startJob'> {
  return { invocation, job, startJob: job || undefined };
}

/** Handles facts of the run's own invocation, the one before it, or a later one. */
function whileRunning(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const withJob = { ...run, job: facts.job };
  if (facts.invocation === '' || facts.invocation === invocation) return withJob;
  if (invocation === undefined) return facts.invocation === run.before ? withJob : withInvocation(withJob);
  if (facts.restarts > 0) return withInvocation(withJob);
  // Restarted by somebody else: the old invocation was killed, and `Result` belongs to the new one.
  const over = finishedRun(run, false, nowMs);
  return isAtWork(facts) ? begunByUnit(over, nowMs) : over;
}

/**
 * Takes the unit's invocation as the run's: the first one, or another try, which makes the end of an earlier
 * try irrelevant.
 */
function withInvocation(run: Run): Run {
  const first = { ...run, before: undefined };
  if (run.invocation === undefined) return { ...first, invocation: run.facts.invocation };
  return { ...first, badJob: undefined, ...beginningOf(run.facts) };
}

/**
 * Ends a systemd run at rest without a job. A unit to be restarted passes through `failed` first (systemd
 * 252): failures are confirmed.
 */
function withVerdict(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  if (isAtWork(run.facts) || run.job) return { ...run, doubtful: false };
  return succeeded(run) ? finishedRun(run, true, nowMs) : { ...run, doubtful: true };
}

function afterConfirmation(run: Run, facts: RunFacts, nowMs: number): Run {
  const now = withVerdict(afterSignal(run, facts, nowMs), nowMs);
  return now.doubtful ? finishedRun(now, false, nowMs) : now;
}

function succeeded({ badJob, invocation, facts }: Run): boolean {
  // No invocation: after a long time in the queue something prevented the unit from running.
  if (badJob !== undefined || invocation === undefined || facts.invocation !== invocation) return false;
  return facts.result === 'success' && facts.activeState !== 'failed' && !facts.reset;
}

function afterJob(run: Run, job: string, result: string, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  const bad = job === run.startJob && result !== 'done';
  return withVerdict({ ...run, job: job === run.job ? '' : run.job, ...(bad && { badJob: result }) }, nowMs);
}

function afterReading(run: Run, input: RunInput & { readonly kind: 'read' }, nowMs: number): Run {
  const { facts, sameManager, wasStopped = false } = input;
  if (!isRunning(run, 'systemd')) return afterSignal(run, facts, nowMs);
  const now: Run = { ...run, facts, job: facts.job, doubtful: false };
  const mayTakeInvocation = sameManager && (run.invocation === undefined || facts.restarts > 0);
  const next = mayTakeInvocation ? whileRunning(now, nowMs) : now;
  // While the unit works, its run goes on with its old start time, if the unit's invocation may be that of
  // the run.
  const isSame = sameManager && (next.invocation === undefined || next.invocation === facts.invocation);
  if (isAtWork(facts)) return isSame ? next : begunByUnit(next, nowMs);
  if (facts.job !== '' && sameManager) return next;
  // A run is failed unless its success is known, also if systemd has unloaded its unit.
  return finishedRun(next, sameManager && !wasStopped && succeeded(next), nowMs);
}

function afterLine(run: Run, content: ProgressEvent, leftover: boolean, nowMs: number): Run {
  const adopts = beginsSocketRun(run, content, leftover) && !isAtWork(run.facts);
  const now = adopts ? startedRun(run, 'socket', nowMs) : run;
  if (now.state !== 'running') return now;
  // The percentage in the range of a progress bar; the line itself is relayed unchanged.
  if (content.event === 'progress')
    return { ...now, percent: Math.min(Math.max(content.percent, 0), 100), step: content.step };
  return content.event === 'end' && now.origin === 'socket' ? finishedRun(now, content.success, nowMs) : now;
}

type UnitState = Pick<RunFacts, 'activeState' | 'subState'>;

/** True if the unit is at work: starting, running, stopping, or waiting to be restarted by systemd. */
export function isAtWork(state: UnitState): boolean {
  return !isAtRest(state) && !isExited(state);
}

/** RemainAfterExit: the work is done and remembered. A oneshot unit can be active only in this way. */
export function isExited({ activeState, subState }: UnitState): boolean {
  return activeState === 'active' && subState === 'exited';
}

/**
 * The run as clients see it (docs/http-api.md, "Upgrade run"), without its progress: the data of
 * `upgrade.info`, to be written as JSON.
 */
export function publishedRun({ state, origin, startedMs, finishedMs }: RunRecord): object {
  return { state, origin, started_at: utcSeconds(startedMs), finished_at: utcSeconds(finishedMs) };
}

/** Milliseconds since the epoch as RFC 3339, UTC, seconds. */
export function utcSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
