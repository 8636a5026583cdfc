// How a command has ended: the job's result and the unit's state -> answer. Pure.
// "done" alone proves nothing: it is also the result of a job whose condition was not met, whose process could not be
// executed, or that found its work done (measured, systemd 252).

import type { Answer } from '../../protocol/actor/commands.js';
import type { UnitFacts } from '../units/facts.js';

/** What a job was to bring about. */
export type Aim = 'started' | 'stopped';

const OK: Answer = { ok: true };

function refusedUnit(detail: string): Answer {
  return { ok: false, fault: 'refused', detail };
}

interface Rule {
  readonly aim: Aim;
  readonly holds: (facts: UnitFacts) => boolean;
  readonly why: string;
}

/** States in which a job that is over has missed its aim. The first that holds says why. */
const MISSED: readonly Rule[] = [
  { aim: 'started', holds: ({ activeState }) => activeState === 'failed', why: 'The unit has failed' },
  {
    aim: 'started',
    holds: ({ activeState, subState }) => activeState === 'activating' && subState.startsWith('auto-restart'),
    why: 'The unit has failed and waits to be started again',
  },
  {
    aim: 'started',
    // On its way to one of the two above: it stays there for as long as its ExecStopPost= takes.
    holds: ({ activeState, result }) => activeState === 'deactivating' && result !== 'success',
    why: 'The unit is failing',
  },
  {
    aim: 'started',
    holds: ({ activeState, conditionMet }) => activeState === 'inactive' && !conditionMet,
    why: 'A condition of the unit is not met',
  },
  {
    aim: 'started',
    holds: ({ activeState, result }) => activeState === 'inactive' && result !== 'success',
    why: 'The unit has ended badly',
  },
  {
    aim: 'stopped',
    holds: ({ activeState }) => activeState === 'active',
    why: 'The unit is active all the same',
  },
];

/**
 * The answer to a command whose job is over. `result` is JobRemoved's; undefined when the job's end was not heard, so that
 * only the state can tell.
 */
export function verdictOn(aim: Aim, result: string | undefined, facts: UnitFacts): Answer {
  const ended = `job's result is ${result ?? 'unknown'}, the unit's Result ${facts.result}`;
  if (result !== undefined && result !== 'done') return refusedUnit(`The ${ended}`);
  const missed = MISSED.find((rule) => rule.aim === aim && rule.holds(facts));
  return missed === undefined ? OK : refusedUnit(`${missed.why}: the ${ended}`);
}
