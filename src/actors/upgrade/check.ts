// The last known run of the check unit (docs/http-api.md, "Upgrade"), derived from the unit's facts. Pure: the time is an argument.

import type { RunFacts } from '../units/facts.js';
import { utcSeconds } from './run.js';

export interface LastCheck {
  readonly state: 'idle' | 'running' | 'failed';
  /** The invocation of its last run; '' if it has not run. */
  readonly invocation: string;
  /** Milliseconds since the epoch; undefined if the end was not seen. */
  readonly finishedMs?: number;
  /** Why it failed. */
  readonly detail?: string;
}

export const NEVER_CHECKED: LastCheck = { state: 'idle', invocation: '' };

/** States in which the unit works, or stops. */
const AT_WORK: readonly string[] = ['activating', 'reloading', 'deactivating'];

/** `before` is the previous state; undefined if there is none, as after a start. */
export function nextCheck(before: LastCheck | undefined, facts: RunFacts, nowMs: number): LastCheck {
  const { activeState, subState, result, reset } = facts;
  // An unloaded unit has lost its invocation id.
  const invocation = facts.invocation === '' ? (before?.invocation ?? '') : facts.invocation;
  const isRunning = AT_WORK.includes(activeState) || (activeState === 'active' && subState !== 'exited');
  if (isRunning) return { state: 'running', invocation };
  const hasEnded = before !== undefined && (before.state === 'running' || before.invocation !== invocation);
  const finishedMs = hasEnded ? nowMs : before?.finishedMs;
  const ended = { invocation, ...(finishedMs !== undefined && { finishedMs }) };
  const hasFailed = activeState === 'failed' || (result !== 'success' && !reset);
  return hasFailed
    ? { ...ended, state: 'failed', detail: `its result is ${result}` }
    : { ...ended, state: 'idle' };
}

/** The record that clients get. */
export function shownCheck({ state, finishedMs, detail }: LastCheck): object {
  return { state, finished_at: utcSeconds(finishedMs), detail };
}
