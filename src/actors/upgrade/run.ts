// The upgrade run as a state machine: the table of docs/upgrades.md, "Runs", and nothing else. Pure: times are arguments.
//
// A verdict belongs to its invocation: the unit's `Result` counts only while the unit's InvocationID is that of the run.
// A unit that systemd starts again by itself (Restart=) is one run over all its tries: the last one's end is the run's.

import { isAtRest, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';

/** A run of the socket that says nothing, with nobody connected, for so long is over (docs/upgrades.md, "Runs"). */
export const QUIET_MS = 10 * 60 * 1000;

export type Origin = 'systemd' | 'socket';

/** What lasts over restarts of the daemon. Times are ms since the epoch. */
export interface RunRecord {
  readonly state: 'idle' | 'running' | 'failed';
  readonly origin?: Origin;
  readonly startedMs?: number;
  readonly finishedMs?: number;
  /** The invocation of the last systemd run that is known; of a running one, absent until systemd has told it. */
  readonly invocation?: string;
  /** While `invocation` is absent: the one that the unit had before, '' for none. It says nothing about this run. */
  readonly before?: string;
  /** Of a running systemd run: the path of the job that began it. Its result is the run's, that of a reload is not. */
  readonly startJob?: string;
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /** Runs that have begun since this daemon's start: tells a trigger whether one began meanwhile. */
  readonly count: number;
  /** Of a systemd run: the result of its job, when that is not `done`. Cannot be made good again. */
  readonly badJob?: string;
  /** Of a systemd run: the path of the unit's job that is known to be queued or running; '' for none. */
  readonly job: string;
  /** Of a systemd run: it has failed, unless the unit is about to be started again. Only a reading of the unit tells. */
  readonly doubtful: boolean;
  /** The unit as last seen. */
  readonly facts: RunFacts;
}

export type RunInput =
  /**
   * systemd accepted our StartUnit. `sinceCount` and `before` are the count and the unit's invocation before the call; `job` is
   * the job's path, `jobResult` there when it has ended already.
   */
  | {
      readonly kind: 'accepted';
      readonly sinceCount: number;
      readonly before: string;
      readonly job: string;
      readonly jobResult?: string;
    }
  /** A signal told the unit's properties. */
  | { readonly kind: 'unit'; readonly facts: RunFacts }
  /**
   * The unit was read after a time in which signals may have been missed: at the daemon's start, after a loss of the bus.
   * `sameManager`: the manager is the one that the run began under; otherwise it cannot have left the run going.
   */
  | { readonly kind: 'read'; readonly facts: RunFacts; readonly sameManager: boolean }
  /** The unit was read because the run was doubtful. */
  | { readonly kind: 'confirmed'; readonly facts: RunFacts }
  /** A job of the unit was removed, of whatever kind. */
  | { readonly kind: 'job-ended'; readonly job: string; readonly result: string }
  /** A valid line. `leftover`: from a connection that belongs to a systemd run that is over. */
  | { readonly kind: 'line'; readonly says: ProgressEvent; readonly leftover: boolean }
  /** No connection open and no line for QUIET_MS; or the node was restarted since a socket run began. */
  | { readonly kind: 'abandoned' };

/** A record from the state file, or none, as the machine begins with it. */
export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, count: 0, job: '', doubtful: false, facts: NOTHING_RAN };
}

/** Whether a line would begin a run, were the unit known not to be at work. */
export function wouldAdopt(run: Run, says: ProgressEvent, leftover: boolean): boolean {
  return run.state !== 'running' && !leftover && says.event !== 'end';
}

/** The run after `input`; the same object when nothing changed. `nowMs` is since the epoch. */
export function nextRun(run: Run, input: RunInput, nowMs: number): Run {
  switch (input.kind) {
    case 'accepted':
      return accepted(run, input, nowMs);
    case 'unit':
      return withVerdict(seen(run, input.facts, nowMs), nowMs);
    case 'read':
      return reread(run, input, nowMs);
    case 'confirmed':
      return confirmed(run, input.facts, nowMs);
    case 'job-ended':
      return jobEnded(run, input.job, input.result, nowMs);
    case 'line':
      return line(run, input.says, input.leftover, nowMs);
    case 'abandoned':
      return isRunning(run, 'socket') ? finished(run, false, nowMs) : run;
  }
}

function isRunning(run: Run, origin: Origin): boolean {
  return run.state === 'running' && run.origin === origin;
}

function begun(run: Run, origin: Origin, startedMs: number): Run {
  const { count, facts } = run;
  return { state: 'running', origin, startedMs, count: count + 1, job: '', doubtful: false, facts };
}

function finished(run: Run, success: boolean, nowMs: number): Run {
  const { origin, startedMs, invocation, count, facts } = run;
  return {
    state: success ? 'idle' : 'failed',
    ...(origin !== undefined && { origin }),
    ...(startedMs !== undefined && { startedMs }),
    finishedMs: nowMs,
    ...(invocation !== undefined && { invocation }),
    count,
    job: '',
    doubtful: false,
    facts,
  };
}

function accepted(run: Run, input: RunInput & { readonly kind: 'accepted' }, nowMs: number): Run {
  const { sinceCount, before, job, jobResult } = input;
  // Signals may overtake the reply: the run that this trigger made may be known already, or be over.
  if (run.count !== sinceCount || isRunning(run, 'systemd')) return run;
  const begins: Run = { ...begun(run, 'systemd', nowMs), before, startJob: job, job };
  const { invocation } = run.facts;
  // It may have been so quick that its work was never seen.
  const started = invocation === '' || invocation === before ? begins : withInvocation(begins);
  return jobResult === undefined ? started : jobEnded(started, job, jobResult, nowMs);
}

/** Takes the unit's facts in, and sees whether a run began or took another invocation. */
function seen(run: Run, facts: RunFacts, nowMs: number): Run {
  const next: Run = { ...run, facts };
  if (isRunning(run, 'systemd')) return sameRun(next, nowMs);
  // What is left of an invocation (a stop, a reload) is no new run, and neither is one that has its verdict.
  const fresh = isUnderWay(facts) && facts.invocation !== '' && facts.invocation !== run.invocation;
  return fresh ? begunByUnit(next, nowMs) : next;
}

/** The unit works: a new run, since now or since systemd says, whichever is earlier. */
function begunByUnit(run: Run, nowMs: number): Run {
  const { facts } = run;
  const started = begun(run, 'systemd', Math.min(nowMs, facts.startedMs ?? nowMs));
  return { ...started, ...beginningOf(facts) };
}

/** What the facts tell of a run, or a try of it, that they are the first to tell of. */
function beginningOf({ invocation, job }: RunFacts): Pick<Run, 'invocation' | 'job' | 'startJob'> {
  return { invocation, job, ...(job !== '' && { startJob: job }) };
}

/** The facts may be about the run's invocation, about the one before it, or about one behind it. */
function sameRun(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const bound = { ...run, job: facts.job };
  if (facts.invocation === '' || facts.invocation === invocation) return bound;
  if (invocation === undefined) return facts.invocation === run.before ? bound : withInvocation(bound);
  if (facts.restarts > 0) return withInvocation(bound);
  // Restarted by other hands: the old invocation is over, and `Result` is that of the new one. systemd has killed it.
  const over = finished(run, false, nowMs);
  return isAtWork(facts) ? begunByUnit(over, nowMs) : over;
}

/** The unit's invocation is the run's, the first one or another try. What ended an earlier try does not count any more. */
function withInvocation(run: Run): Run {
  const { before: _before, ...first } = run;
  if (run.invocation === undefined) return { ...first, invocation: run.facts.invocation };
  const { badJob: _badJob, startJob: _startJob, ...again } = first;
  return { ...again, ...beginningOf(run.facts) };
}

/**
 * Ends a systemd run when its unit rests and none of its jobs is left. A unit that is to be started again passes through
 * `failed`, and its job ends as failed, before it says `auto-restart` (observed, systemd 252): a failure must be confirmed.
 */
function withVerdict(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  if (isAtWork(run.facts) || run.job) return { ...run, doubtful: false };
  return succeeded(run) ? finished(run, true, nowMs) : { ...run, doubtful: true };
}

function confirmed(run: Run, facts: RunFacts, nowMs: number): Run {
  const now = withVerdict(seen(run, facts, nowMs), nowMs);
  return now.doubtful ? finished(now, false, nowMs) : now;
}

function succeeded({ badJob, invocation, facts }: Run): boolean {
  // No invocation: after a long time in the queue something kept the unit from running.
  if (badJob !== undefined || invocation === undefined) return false;
  return facts.invocation === invocation && hasEndedWell(facts);
}

function jobEnded(run: Run, job: string, result: string, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  const bad = job === run.startJob && result !== 'done';
  return withVerdict({ ...run, job: job === run.job ? '' : run.job, ...(bad && { badJob: result }) }, nowMs);
}

function reread(run: Run, input: RunInput & { readonly kind: 'read' }, nowMs: number): Run {
  const { facts, sameManager } = input;
  if (!isRunning(run, 'systemd')) return seen(run, facts, nowMs);
  const now: Run = { ...run, facts, job: facts.job, doubtful: false };
  const moves = sameManager && (run.invocation === undefined || facts.restarts > 0);
  const next = moves ? sameRun(now, nowMs) : now;
  if (isAtWork(facts)) return atWorkAgain(next, sameManager, nowMs);
  if (facts.job !== '' && sameManager) return next;
  // What cannot be known to have gone well has failed: also a run whose unit systemd has forgotten.
  return finished(next, sameManager && succeeded(next), nowMs);
}

/** The unit works. If it may still be the run's invocation, the run goes on since when it began. */
function atWorkAgain(run: Run, sameManager: boolean, nowMs: number): Run {
  const { facts, invocation } = run;
  const same = sameManager && (invocation === undefined || invocation === facts.invocation);
  return same ? run : begunByUnit(run, nowMs);
}

function line(run: Run, says: ProgressEvent, leftover: boolean, nowMs: number): Run {
  const adopts = wouldAdopt(run, says, leftover) && !isAtWork(run.facts);
  const now = adopts ? begun(run, 'socket', nowMs) : run;
  if (now.state !== 'running') return now;
  if (says.event === 'progress') return { ...now, percent: percentOf(says.percent), step: says.step };
  return says.event === 'end' && now.origin === 'socket' ? finished(now, says.success, nowMs) : now;
}

/** What a bar can show of the script's word, which is relayed as it is. */
function percentOf(said: number): number {
  return Math.min(Math.max(said, 0), 100);
}

/** Of a unit at rest: whether its last invocation has ended well. */
function hasEndedWell({ activeState, result, reset }: RunFacts): boolean {
  return result === 'success' && activeState !== 'failed' && !reset;
}

type UnitState = Pick<RunFacts, 'activeState' | 'subState'>;

/** Whether the unit is at work now: starting, running, stopping, or waiting to be started again by systemd itself. */
export function isAtWork(state: UnitState): boolean {
  return !isAtRest(state) && !isExited(state);
}

/** Whether the unit is at what it was started for: not at a stop or a reload, which are what is left of it. */
function isUnderWay(state: UnitState): boolean {
  return state.activeState === 'activating' || (state.activeState === 'active' && !isExited(state));
}

/** RemainAfterExit, and the only way for a oneshot to be active: the work is done, and remembered. */
export function isExited({ activeState, subState }: UnitState): boolean {
  return activeState === 'active' && subState === 'exited';
}

/** The run as clients see it (docs/http-api.md, "Upgrade run") but for its progress: what `upgrade.info` carries. To be written as JSON. */
export function shownRun({ state, origin, startedMs, finishedMs }: RunRecord): object {
  return { state, origin, started_at: utcSeconds(startedMs), finished_at: utcSeconds(finishedMs) };
}

/** Milliseconds since the epoch as RFC 3339, UTC, seconds. */
export function utcSeconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
