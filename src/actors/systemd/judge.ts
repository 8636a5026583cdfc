// How a command has ended: D-Bus errors, job results and the unit's state -> answer. Pure.
// "done" alone proves nothing: it is also the result of a job whose condition was not met, whose process could not be
// executed, or that found its work done (measured, systemd 252).

import type { Answer } from '../../protocol/actor/commands.js';
import type { BusError } from '../bus.js';
import type { UnitFacts } from './unit-facts.js';

/** What a job was to bring about. */
export type Aim = 'started' | 'stopped';

const OK: Answer = { ok: true };

function refused(detail: string): Answer {
  return { ok: false, fault: 'refused', detail };
}

interface Rule {
  readonly aim: Aim;
  readonly holds: (facts: UnitFacts) => boolean;
  readonly why: string;
}

/** States in which a job that is over has missed its aim. The first that holds says why. */
const MISSED: readonly Rule[] = [
  { aim: 'started', holds: ({ activeState }) => activeState === 'failed', why: 'the unit has failed' },
  {
    aim: 'started',
    holds: ({ activeState, subState }) => activeState === 'activating' && subState.startsWith('auto-restart'),
    why: 'the unit has failed and waits to be started again',
  },
  {
    aim: 'started',
    holds: ({ activeState, conditionMet }) => activeState === 'inactive' && !conditionMet,
    why: 'a condition of the unit is not met',
  },
  {
    aim: 'started',
    holds: ({ activeState, result }) => activeState === 'inactive' && result !== 'success',
    why: 'the unit has ended badly',
  },
  {
    aim: 'stopped',
    holds: ({ activeState }) => activeState === 'active',
    why: 'the unit is active all the same',
  },
];

/**
 * The answer to a command whose job is over. `result` is JobRemoved's; undefined when the job's end was not heard, so that
 * only the state can tell.
 */
export function judgeJob(aim: Aim, result: string | undefined, facts: UnitFacts): Answer {
  const ended = `the job's result is ${result ?? 'unknown'}, the unit's Result ${facts.result}`;
  if (result !== undefined && result !== 'done') return refused(ended);
  const missed = MISSED.find((rule) => rule.aim === aim && rule.holds(facts));
  return missed === undefined ? OK : refused(`${missed.why}: ${ended}`);
}

/** The bus speaks for a systemd that is not there, or that went before it answered. */
const NOBODY_THERE: readonly string[] = [
  'org.freedesktop.DBus.Error.ServiceUnknown',
  'org.freedesktop.DBus.Error.NameHasNoOwner',
  'org.freedesktop.DBus.Error.NoReply',
  'org.freedesktop.DBus.Error.Disconnected',
];

/** The answer to a command that systemd did not take. */
export function judgeError(error: BusError): Answer {
  if (error.kind === 'timeout') return { ok: false, fault: 'timeout', detail: 'systemd gave no answer' };
  if (error.kind === 'closed') {
    return { ok: false, fault: 'unavailable', detail: 'the connection to the bus was lost' };
  }
  if (error.kind === 'local') return { ok: false, fault: 'internal', detail: error.detail };
  if (isAbsence(error)) return { ok: false, fault: 'unavailable', detail: `systemd is away: ${error.text}` };
  return refused(error.text === '' ? error.name : `${error.text} (${error.name})`);
}

/** Whether nobody is there to answer, as opposed to an answer that is an error. */
export function isAbsence(error: BusError): boolean {
  return error.kind === 'dbus' && (NOBODY_THERE.includes(error.name) || error.name.includes('.Spawn.'));
}

/** An error in a few words, for `/health`. */
export function describeError(error: BusError): string {
  if (error.kind === 'dbus') return error.text === '' ? error.name : error.text;
  if (error.kind === 'local') return error.detail;
  return error.kind === 'timeout' ? 'no answer' : 'the connection was lost';
}
