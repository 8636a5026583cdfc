// Decides when an upgrade run begins, ends, and how: the table of docs/upgrades.md, "Runs", as a state
// machine. Pure: times are arguments. A verdict belongs to an invocation: the unit's `Result` counts only
// while the unit's InvocationID is the run's. If systemd restarts the unit by itself (Restart=), all tries
// are one run, which ends as the last try ends.

import { isAtRest, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';

/** A run of the socket is over after this time without a connection (docs/upgrades.md, "Runs"). */
export const QUIET_MS = 10 * 60 * 1000;

export type Origin = 'systemd' | 'socket';

/** The part of a run that is saved, for a restart of the daemon. Times are ms since the epoch. */
export interface RunRecord {
  readonly state: 'idle' | 'running' | 'failed';
  readonly origin?: Origin | undefined;
  readonly startedMs?: number | undefined;
  readonly finishedMs?: number | undefined;
  /** The invocation of a systemd run. It is absent in a running one until systemd has sent it. */
  readonly invocation?: string | undefined;
  /**
   * While `invocation` is absent: the unit's last invocation before this run, '' for none. It must not be
   * mistaken for the invocation of this run.
   */
  readonly invocationBefore?: string | undefined;
  /**
   * For a running systemd run: the path of the job that began it. Only the result of this job counts, not
   * that of another one, such as a reload.
   */
  readonly startJob?: string | undefined;
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /**
   * How many runs have begun since the daemon's start. By this a caller sees whether one began during a call.
   */
  readonly count: number;
  /** For a systemd run: the result of its start job, if it is not `done`. The run has then failed. */
  readonly badJobResult?: string | undefined;
  /** For a systemd run: the path of the unit's queued or running job; '' for none. */
  readonly job: string;
  /**
   * True for a systemd run that seems to have failed. This is not certain, because systemd may be about to
   * restart the unit. A reading of the unit decides (`confirmed`).
   */
  readonly isDoubtful: boolean;
  readonly facts: RunFacts;
}

export type RunInput =
  /** systemd accepted our StartUnit. */
  | {
      readonly kind: 'accepted';
      /** The run's count and the unit's invocation before the call. */
      readonly countBefore: number;
      readonly invocationBefore: string;
      /** The path of the start job. */
      readonly job: string;
      /** The result of the start job if it has ended already. */
      readonly jobResult?: string;
    }
  /** A signal brought the unit's properties. */
  | { readonly kind: 'unit'; readonly facts: RunFacts }
  /** The unit was read after signals may have been missed. */
  | {
      readonly kind: 'read';
      readonly facts: RunFacts;
      /** True if the run began under this same manager. No run outlives its manager. */
      readonly isSameManager: boolean;
      /** True if somebody stopped the run, according to systemd's journal. */
      readonly wasStopped?: boolean;
    }
  /** The unit was read because the run was doubtful. */
  | { readonly kind: 'confirmed'; readonly facts: RunFacts }
  | { readonly kind: 'job-ended'; readonly job: string; readonly result: string }
  /** A valid line. `isLeftover`: it may belong to a systemd run that is over, so it begins no run. */
  | { readonly kind: 'line'; readonly content: ProgressEvent; readonly isLeftover: boolean }
  /** No connection was open for QUIET_MS, or the node was restarted since a socket run began. */
  | { readonly kind: 'abandoned' };

export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, count: 0, job: '', isDoubtful: false, facts: NOTHING_RAN };
}

/** True if this line begins a run of the socket, provided that the unit is not at work. */
export function beginsSocketRun(run: Run, content: ProgressEvent, isLeftover: boolean): boolean {
  return run.state !== 'running' && !isLeftover && content.event !== 'end';
}

/** The run after `input`; the same object if nothing has changed. `nowMs` is since the epoch. */
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
      return afterLine(run, input.content, input.isLeftover, nowMs);
    case 'abandoned':
      return isRunning(run, 'socket') ? finishedRun(run, false, nowMs) : run;
  }
}

function isRunning(run: Run, origin: Origin): boolean {
  return run.state === 'running' && run.origin === origin;
}

function startedRun(run: Run, origin: Origin, startedMs: number): Run {
  const { count, facts } = run;
  return { state: 'running', origin, startedMs, count: count + 1, job: '', isDoubtful: false, facts };
}

function finishedRun(run: Run, success: boolean, nowMs: number): Run {
  const { origin, startedMs, invocation, count, facts } = run;
  const state = success ? 'idle' : 'failed';
  return {
    state,
    origin,
    startedMs,
    finishedMs: nowMs,
    invocation,
    count,
    job: '',
    isDoubtful: false,
    facts,
  };
}

function afterAcceptance(run: Run, input: RunInput & { readonly kind: 'accepted' }, nowMs: number): Run {
  const { countBefore, invocationBefore, job, jobResult } = input;
  // Signals may overtake the reply: the run that was started may be known already, or even be over.
  if (run.count !== countBefore || isRunning(run, 'systemd')) return run;
  const begun: Run = { ...startedRun(run, 'systemd', nowMs), invocationBefore, startJob: job, job };
  const { invocation } = run.facts;
  // The unit may have been so quick that no signal and no reading has found it at work.
  const hasRun = invocation !== '' && invocation !== invocationBefore;
  const started = hasRun ? withInvocation(begun) : begun;
  return jobResult === undefined ? started : afterJob(started, job, jobResult, nowMs);
}

/** The run with new facts of the unit. A run may begin, or take over another invocation. */
function afterSignal(run: Run, facts: RunFacts, nowMs: number): Run {
  const next: Run = { ...run, facts };
  if (isRunning(run, 'systemd')) return whileRunning(next, nowMs);
  // A unit that stops or reloads begins no new run, and neither does an invocation that has its verdict.
  const { activeState, invocation } = facts;
  const isUnderWay = activeState === 'activating' || (activeState === 'active' && !isExited(facts));
  const isNewRun = isUnderWay && invocation !== '' && invocation !== run.invocation;
  return isNewRun ? begunByUnit(next, nowMs) : next;
}

/** The run that begins with the unit's present facts. It started when systemd says, at the latest now. */
function begunByUnit(run: Run, nowMs: number): Run {
  const { facts } = run;
  const started = startedRun(run, 'systemd', Math.min(nowMs, facts.startedMs ?? nowMs));
  return { ...started, ...beginningOf(facts) };
}

function beginningOf({ invocation, job }: RunFacts): Pick<Run, 'invocation' | 'job' | 'startJob'> {
  return { invocation, job, startJob: job || undefined };
}

/** A running run after new facts: of its own invocation, of the one before it, or of a later one. */
function whileRunning(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const withJob = { ...run, job: facts.job };
  if (facts.invocation === '' || facts.invocation === invocation) return withJob;
  const isBefore = invocation === undefined && facts.invocation === run.invocationBefore;
  if (isBefore) return withJob;
  if (invocation === undefined) return withInvocation(withJob);
  if (facts.restarts > 0) return withInvocation(withJob);
  // Somebody has restarted the unit: the old invocation was killed, and `Result` belongs to the new one.
  const over = finishedRun(run, false, nowMs);
  return isAtWork(facts) ? begunByUnit(over, nowMs) : over;
}

/** Makes the unit's invocation the run's: its first invocation, or that of another try. */
function withInvocation(run: Run): Run {
  const next = { ...run, invocationBefore: undefined };
  if (run.invocation === undefined) return { ...next, invocation: run.facts.invocation };
  // How an earlier try ended does not matter any more.
  return { ...next, badJobResult: undefined, ...beginningOf(run.facts) };
}

/**
 * Ends a systemd run if its unit is at rest and has no job. A failure is only doubtful at first, because a
 * unit that systemd is about to restart is `failed` for a moment (systemd 252).
 */
function withVerdict(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  if (isAtWork(run.facts) || run.job) return { ...run, isDoubtful: false };
  return hasSucceeded(run) ? finishedRun(run, true, nowMs) : { ...run, isDoubtful: true };
}

function afterConfirmation(run: Run, facts: RunFacts, nowMs: number): Run {
  const now = withVerdict(afterSignal(run, facts, nowMs), nowMs);
  return now.isDoubtful ? finishedRun(now, false, nowMs) : now;
}

function hasSucceeded({ badJobResult, invocation, facts }: Run): boolean {
  if (badJobResult !== undefined) return false;
  // If the run has no invocation, something has prevented the unit from running after its time in the queue.
  if (invocation === undefined || facts.invocation !== invocation) return false;
  return facts.result === 'success' && facts.activeState !== 'failed' && !facts.wasReset;
}

function afterJob(run: Run, job: string, result: string, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  const isBad = job === run.startJob && result !== 'done';
  const remainingJob = job === run.job ? '' : run.job;
  const next: Run = { ...run, job: remainingJob, ...(isBad && { badJobResult: result }) };
  return withVerdict(next, nowMs);
}

function afterReading(run: Run, input: RunInput & { readonly kind: 'read' }, nowMs: number): Run {
  const { facts, isSameManager, wasStopped = false } = input;
  if (!isRunning(run, 'systemd')) return afterSignal(run, facts, nowMs);
  const now: Run = { ...run, facts, job: facts.job, isDoubtful: false };
  const mayTakeInvocation = isSameManager && (run.invocation === undefined || facts.restarts > 0);
  const next = mayTakeInvocation ? whileRunning(now, nowMs) : now;
  const mayBeItsInvocation = next.invocation === undefined || next.invocation === facts.invocation;
  // The same run goes on, with its old start time. Any other work of the unit is a new run.
  if (isAtWork(facts)) return isSameManager && mayBeItsInvocation ? next : begunByUnit(next, nowMs);
  if (facts.job !== '' && isSameManager) return next;
  // Without a known success the run has failed, also if systemd has unloaded the unit.
  const isSuccess = isSameManager && !wasStopped && hasSucceeded(next);
  return finishedRun(next, isSuccess, nowMs);
}

function afterLine(run: Run, content: ProgressEvent, isLeftover: boolean, nowMs: number): Run {
  const begins = beginsSocketRun(run, content, isLeftover) && !isAtWork(run.facts);
  const now = begins ? startedRun(run, 'socket', nowMs) : run;
  if (now.state !== 'running') return now;
  // The run has the percentage in the range of a progress bar. The line itself is relayed unchanged.
  if (content.event === 'progress')
    return { ...now, percent: Math.min(Math.max(content.percent, 0), 100), step: content.step };
  return content.event === 'end' && now.origin === 'socket' ? finishedRun(now, content.success, nowMs) : now;
}

type UnitState = Pick<RunFacts, 'activeState' | 'subState'>;

/** True if the unit is at work: starting, running, stopping, or waiting to be restarted by systemd. */
export function isAtWork(state: UnitState): boolean {
  return !isAtRest(state) && !isExited(state);
}

/**
 * True if the work is done and remembered (RemainAfterExit=). A oneshot unit can be active only in this way.
 */
export function isExited({ activeState, subState }: UnitState): boolean {
  return activeState === 'active' && subState === 'exited';
}

/**
 * The run as clients get it (docs/http-api.md, "Upgrade run"), but without its progress: the data of the
 * event `upgrade.info`, before it becomes JSON.
 */
export function publishedRun({ state, origin, startedMs, finishedMs }: RunRecord): object {
  return { state, origin, started_at: utcSeconds(startedMs), finished_at: utcSeconds(finishedMs) };
}

/** A time in ms since the epoch as RFC 3339 has it, in UTC and whole seconds. */
export function utcSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
