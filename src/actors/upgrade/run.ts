// The upgrade run as a state machine: the table of the contract, section 4, and nothing else. Pure: times are arguments.
//
// A verdict belongs to its invocation: the unit's `Result` counts only while the unit's InvocationID is that of the run.
// A unit that systemd starts again by itself (Restart=) is one run over all its tries: the last one's end is the run's.

import type { ProgressEvent } from './progress-line.js';
import { isAtWork, NO_FACTS, type UpgradeFacts } from './upgrade-facts.js';

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
  /** While `invocation` is absent: the one that the unit had before, '' for none. It says nothing about this run. */
  readonly before?: string;
}

export interface Run extends RunRecord {
  readonly percent?: number;
  readonly step?: string;
  /** Runs that have begun since this daemon's start: tells a trigger whether one began meanwhile. */
  readonly count: number;
  /** Of a systemd run: the first result of a job that is not `done`. Cannot be made good again. */
  readonly badJob?: string;
  /** Of a systemd run: a job of the unit is known to be queued or running. */
  readonly job: boolean;
  /** Of a systemd run: it has failed, unless the unit is about to be started again. Only a reading of the unit tells. */
  readonly doubtful: boolean;
  /** The unit as last seen. */
  readonly facts: UpgradeFacts;
}

export type RunInput =
  /**
   * systemd accepted our StartUnit. `sinceCount` and `before` are the count and the unit's invocation before the call;
   * `jobResult` when the job has ended already.
   */
  | {
      readonly kind: 'accepted';
      readonly sinceCount: number;
      readonly before: string;
      readonly jobResult?: string;
    }
  /** A signal told the unit's properties. */
  | { readonly kind: 'unit'; readonly facts: UpgradeFacts }
  /**
   * The unit was read after a time in which signals may have been missed: at the daemon's start, after a loss of the bus.
   * `sameManager`: the manager is the one that the run began under; otherwise it cannot have left the run going.
   */
  | { readonly kind: 'read'; readonly facts: UpgradeFacts; readonly sameManager: boolean }
  /** The unit was read because the run was doubtful. */
  | { readonly kind: 'confirmed'; readonly facts: UpgradeFacts }
  /** A job of the unit was removed. */
  | { readonly kind: 'job-ended'; readonly result: string }
  /** A valid line. `leftover`: from a connection that belongs to a systemd run that is over. */
  | { readonly kind: 'line'; readonly says: ProgressEvent; readonly leftover: boolean }
  /** No connection open and no line for QUIET_MS; or the node was restarted since a socket run began. */
  | { readonly kind: 'abandoned' };

/** A record from the state file, or none, as the machine begins with it. */
export function initialRun(record: RunRecord = { state: 'idle' }): Run {
  return { ...record, count: 0, job: false, doubtful: false, facts: NO_FACTS };
}

/** Whether a line would begin a run, were the unit known not to be at work. */
export function wouldAdopt(run: Run, says: ProgressEvent, leftover: boolean): boolean {
  return run.state !== 'running' && !leftover && says.event !== 'end';
}

/** The run after `input`; the same object when nothing changed. `nowMs` is since the epoch. */
export function step(run: Run, input: RunInput, nowMs: number): Run {
  switch (input.kind) {
    case 'accepted':
      return accepted(run, input, nowMs);
    case 'unit':
      return judged(seen(run, input.facts, nowMs), nowMs);
    case 'read':
      return reread(run, input.facts, input.sameManager, nowMs);
    case 'confirmed':
      return confirmed(run, input.facts, nowMs);
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
  return { state: 'running', origin, startedMs, count: count + 1, job: false, doubtful: false, facts };
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
    job: false,
    doubtful: false,
    facts,
  };
}

function accepted(run: Run, input: RunInput & { readonly kind: 'accepted' }, nowMs: number): Run {
  const { sinceCount, before, jobResult } = input;
  // Signals may overtake the reply: the run that this trigger made may be known already, or be over.
  if (run.count !== sinceCount || isRunning(run, 'systemd')) return run;
  const started: Run = { ...begun(run, 'systemd', nowMs), before, job: true };
  return jobResult === undefined ? started : jobEnded(started, jobResult, nowMs);
}

/** Takes the unit's facts in, and sees whether a run began or took another invocation. */
function seen(run: Run, facts: UpgradeFacts, nowMs: number): Run {
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
  return { ...started, invocation: facts.invocation, job: facts.job !== '' };
}

/** The facts may be about the run's invocation, about the one before it, or about one behind it. */
function sameRun(run: Run, nowMs: number): Run {
  const { facts, invocation } = run;
  const bound = { ...run, job: facts.job !== '' };
  if (facts.invocation === '' || facts.invocation === invocation) return bound;
  if (invocation === undefined) return facts.invocation === run.before ? bound : withInvocation(bound);
  if (facts.restarts > 0) return withInvocation(bound);
  // Restarted by other hands: the old invocation is over, and `Result` is that of the new one. systemd has killed it.
  const over = finished(run, false, nowMs);
  return isAtWork(facts) ? begunByUnit(over, nowMs) : over;
}

/** The unit's invocation is the run's, the first one or another try. What ended an earlier try does not count any more. */
function withInvocation(run: Run): Run {
  const { before: _before, badJob: _badJob, ...rest } = run;
  const first = run.invocation === undefined && run.badJob !== undefined;
  return { ...rest, invocation: run.facts.invocation, ...(first && { badJob: run.badJob }) };
}

/**
 * Ends a systemd run when its unit rests and none of its jobs is left. A unit that is to be started again passes through
 * `failed`, and its job ends as failed, before it says `auto-restart` (observed, systemd 252): a failure must be confirmed.
 */
function judged(run: Run, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return run;
  if (isAtWork(run.facts) || run.job) return { ...run, doubtful: false };
  return succeeded(run) ? finished(run, true, nowMs) : { ...run, doubtful: true };
}

function confirmed(run: Run, facts: UpgradeFacts, nowMs: number): Run {
  const now = judged(seen(run, facts, nowMs), nowMs);
  return now.doubtful ? finished(now, false, nowMs) : now;
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

function reread(run: Run, facts: UpgradeFacts, sameManager: boolean, nowMs: number): Run {
  if (!isRunning(run, 'systemd')) return seen(run, facts, nowMs);
  const now: Run = { ...run, facts, job: facts.job !== '', doubtful: false };
  const moves = sameManager && (run.invocation === undefined || facts.restarts > 0);
  const next = moves ? sameRun(now, nowMs) : now;
  if (isAtWork(facts)) return atWorkAgain(next, sameManager, nowMs);
  if (facts.job !== '' && sameManager) return next;
  return finished(next, endedUnseen(next, sameManager), nowMs);
}

/** The unit works. If it may still be the run's invocation, the run goes on since when it began. */
function atWorkAgain(run: Run, sameManager: boolean, nowMs: number): Run {
  const { facts, invocation } = run;
  const same = sameManager && (invocation === undefined || invocation === facts.invocation);
  return same ? run : begunByUnit(run, nowMs);
}

/**
 * The verdict of a run whose end was not seen. Of a run whose invocation was not seen either, only that its job was
 * accepted: if the unit has had no other invocation than before, its job never ran. If the unit has been forgotten, it has
 * ended well, or its job never ran (cancelled, a dependency failed); the former is by far the likelier, as the daemon must
 * have died within the moment between the two words of systemd, and a run that failed would not have been forgotten.
 */
function endedUnseen({ badJob, before, invocation, facts }: Run, sameManager: boolean): boolean {
  if (badJob !== undefined || !sameManager) return false;
  if (invocation === undefined && before === undefined) return false;
  if (facts.invocation !== '' && facts.invocation === invocation)
    return facts.result === 'success' && facts.activeState !== 'failed';
  // systemd forgets units that ended well, and keeps those that failed; unless the unit asks to be forgotten always.
  return facts.invocation === '' && facts.activeState === 'inactive' && !facts.forgotten;
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
