// The upgrade run as a state machine: the table of the contract, section 4, and nothing else. Pure: times are arguments.
//
// A verdict belongs to its invocation: the unit's `Result` counts only while the unit's InvocationID is that of the run.

import type { ProgressEvent } from './progress-line.js';
import { isAtWork, NO_FACTS, type UnitFacts } from './unit-facts.js';

/** A run of the socket that says nothing, with nobody connected, for so long is over (contract, section 4). */
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
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /** Runs that have begun since this daemon's start: tells a trigger whether one began meanwhile. */
  readonly count: number;
  /** The invocation that the unit had before this run: it says nothing about this run. */
  readonly before: string;
  /** Of a systemd run: the first result of a job that is not `done`. Cannot be made good again. */
  readonly badJob?: string;
  /** Of a systemd run: a job of the unit is known to be queued or running. */
  readonly job: boolean;
  /** The unit as last seen. */
  readonly facts: UnitFacts;
}

export type RunInput =
  /** systemd accepted our StartUnit. `sinceCount` is the count before the call; `jobResult` when the job has ended already. */
  | { readonly kind: 'accepted'; readonly sinceCount: number; readonly jobResult?: string }
  /** A signal told the unit's properties. */
  | { readonly kind: 'unit'; readonly facts: UnitFacts }
  /**
   * The unit was read after a time in which signals may have been missed: at the daemon's start, after a loss of the bus.
   * `sameManager`: the manager is the one that the run began under; otherwise it cannot have left the run going.
   */
  | { readonly kind: 'read'; readonly facts: UnitFacts; readonly sameManager: boolean }
  /** A job of the unit was removed. */
  | { readonly kind: 'job-ended'; readonly result: string }
  /** A valid line. `leftover`: from a connection that belongs to a systemd run that is over. */
  | { readonly kind: 'line'; readonly says: ProgressEvent; readonly leftover: boolean }
  /** No connection open and no line for QUIET_MS; or the node was restarted since a socket run began. */
  | { readonly kind: 'abandoned' };

/** A record from the state file, or none, as the machine begins with it. */
export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, count: 0, before: '', job: false, facts: NO_FACTS };
}

/** Whether a line would begin a run, were the unit known not to be at work. */
export function wouldAdopt(run: Run, says: ProgressEvent, leftover: boolean): boolean {
  return run.state !== 'running' && !leftover && says.event !== 'end';
}

/** The run after `input`; the same object when nothing changed. `nowMs` is since the epoch. */
export function step(run: Run, input: RunInput, nowMs: number): Run {
  switch (input.kind) {
    case 'accepted':
      return accepted(run, input.sinceCount, input.jobResult, nowMs);
    case 'unit':
      return judged(seen(run, input.facts, nowMs), nowMs);
    case 'read':
      return reread(run, input.facts, input.sameManager, nowMs);
    case 'job-ended':
      return jobEnded(run, input.result, nowMs);
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
  return { state: 'running', origin, startedMs, count: count + 1, before: '', job: false, facts };
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
    before: '',
    job: false,
    facts,
  };
}

function accepted(run: Run, sinceCount: number, jobResult: string | undefined, nowMs: number): Run {
  // Signals may overtake the reply: the run that this trigger made may be known already, or be over.
  if (run.count !== sinceCount || isRunning(run, 'systemd')) return run;
  const started: Run = { ...begun(run, 'systemd', nowMs), before: run.facts.invocation, job: true };
  return jobResult === undefined ? started : jobEnded(started, jobResult, nowMs);
}

/** Takes the unit's facts in, and sees whether a run began or took another invocation. */
function seen(run: Run, facts: UnitFacts, nowMs: number): Run {
  const next: Run = { ...run, facts };
  if (isRunning(run, 'systemd')) return sameRun(next, nowMs);
  // What is left of an invocation that has been judged (a stop, a reload) is no new run.
  const fresh = isAtWork(facts) && facts.invocation !== '' && facts.invocation !== run.invocation;
  return fresh ? begunByUnit(next, nowMs) : next;
}

/** The unit works: a new run, since now or since systemd says, whichever is earlier. */
function begunByUnit(run: Run, nowMs: number): Run {
  const { facts } = run;
  const started = begun(run, 'systemd', Math.min(nowMs, facts.startedMs ?? nowMs));
  return { ...started, invocation: facts.invocation, job: facts.job };
}

/** The facts may be about the run's invocation, about the one before it, or about one behind it. */
function sameRun(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const bound = { ...run, job: facts.job };
  if (facts.invocation === '' || facts.invocation === invocation) return bound;
  if (invocation === undefined) {
    return facts.invocation === run.before ? bound : { ...bound, invocation: facts.invocation };
  }
  // Restarted by other hands: the old invocation is over, and `Result` is that of the new one. systemd has killed it.
  const over = finished(run, false, nowMs);
  return isAtWork(facts) ? begunByUnit(over, nowMs) : over;
}

/** Ends a systemd run when its unit rests and none of its jobs is left. */
function judged(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd') || isAtWork(run.facts) || run.job) return run;
  return finished(run, succeeded(run), nowMs);
}

function succeeded({ badJob, invocation, facts }: Run): boolean {
  if (badJob !== undefined) return false;
  // No invocation: a condition kept the unit from running, and the job's result is all there is.
  if (invocation === undefined) return true;
  return facts.invocation === invocation && facts.result === 'success' && facts.activeState !== 'failed';
}

function jobEnded(run: Run, result: string, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  const bad = result === 'done' ? run.badJob : (run.badJob ?? result);
  return judged({ ...run, job: false, ...(bad !== undefined && { badJob: bad }) }, nowMs);
}

function reread(run: Run, facts: UnitFacts, sameManager: boolean, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return seen(run, facts, nowMs);
  const next: Run = { ...run, facts, job: facts.job };
  if (isAtWork(facts)) return atWorkAgain(next, sameManager, nowMs);
  if (facts.job && sameManager) return next;
  return finished(next, endedUnseen(next, sameManager), nowMs);
}

/** The unit works. If it may still be the run's invocation, the run goes on since when it began. */
function atWorkAgain(run: Run, sameManager: boolean, nowMs: number): Run {
  const { facts, invocation } = run;
  const same = sameManager && (invocation === undefined || invocation === facts.invocation);
  return same ? { ...run, invocation: facts.invocation } : begunByUnit(run, nowMs);
}

/** The verdict of a run whose end was not seen. */
function endedUnseen({ badJob, invocation, facts }: Run, sameManager: boolean): boolean {
  if (badJob !== undefined || invocation === undefined || !sameManager) return false;
  if (facts.invocation === invocation) return facts.result === 'success' && facts.activeState !== 'failed';
  // systemd forgets units that ended well, and keeps those that failed; unless the unit asks to be forgotten always.
  return facts.invocation === '' && facts.activeState === 'inactive' && !facts.forgotten;
}

function line(run: Run, says: ProgressEvent, leftover: boolean, nowMs: number): Run {
  const adopts = wouldAdopt(run, says, leftover) && !isAtWork(run.facts);
  const now = adopts ? begun(run, 'socket', nowMs) : run;
  if (now.state !== 'running') return now;
  if (says.event === 'progress') return { ...now, percent: says.percent, step: says.step };
  return says.event === 'end' && now.origin === 'socket' ? finished(now, says.success, nowMs) : now;
}
