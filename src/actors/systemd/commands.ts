// Changes units of the user: asks the manager, waits for the job, looks at what has become of the unit. It is made over a
// follower on the user's bus, and no other type of bus takes the calls that it makes.

import { type Clock, within } from '../../clock.js';
import type { Answer, SystemdCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { SYSTEMD_ERRORS, SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { UserBus } from '../bus/bus.js';
import { type BusError, faultOf, type Outcome } from '../bus/fault.js';
import { type FollowedUnit, isAtRest, type UnitFacts } from '../units/facts.js';
import type { UnitFollower } from '../units/follower.js';
import type { AwaitedChange } from '../units/jobs.js';

/** Below the supervisor's 10 s, so that our own answer arrives (contract, section 3). */
const COMMAND_MAX_MS = 9_000;
/**
 * The start of a simple service is done before its program has been executed, and no signal says that it has: only a program
 * that is missing or ends at once is told, behind the job's end. On an idle machine below 1 ms behind it; on two cores with
 * 16 processes at work 5 ms in the median, below 37 ms for 99 of 100, and above 100 ms once in 960 starts.
 */
const START_GRACE_MS = 100;

type Verb = SystemdCommand['do'];

/** What a job was to bring about. */
type Aim = 'started' | 'stopped';

interface CommandPlan {
  /** For people: what is done to the unit. */
  readonly noun: string;
  readonly files?: 'enable' | 'disable';
  readonly job: 'startUnit' | 'stopUnit' | 'restartUnit';
  readonly aim: Aim;
}

/** enable and disable are as with `systemctl --now`. */
const PLANS: Readonly<Record<Verb, CommandPlan>> = {
  start: { noun: 'start', job: 'startUnit', aim: 'started' },
  stop: { noun: 'stop', job: 'stopUnit', aim: 'stopped' },
  restart: { noun: 'restart', job: 'restartUnit', aim: 'started' },
  enable: { noun: 'enabling', files: 'enable', job: 'startUnit', aim: 'started' },
  disable: { noun: 'disabling', files: 'disable', job: 'stopUnit', aim: 'stopped' },
};

const OK: Answer = { ok: true };

export class UnitCommands {
  readonly #follower: UnitFollower<UserBus>;
  readonly #clock: Clock;

  constructor(follower: UnitFollower<UserBus>, clock: Clock) {
    this.#follower = follower;
    this.#clock = clock;
  }

  /** Resolves when the unit's job is over, or at the latest after 9 s: what is still queued then was accepted. */
  async run(verb: Verb, name: string): Promise<Answer> {
    const plan = PLANS[verb];
    const deadline = this.#clock.monotonic() + COMMAND_MAX_MS;
    // Before the links are changed: behind them the name may lead nowhere, while the unit that it led to runs on.
    const before = this.#factsOf(name);
    if (plan.files !== undefined) {
      const failed = await this.#changeFiles(plan.files, name, deadline);
      // Also where it went wrong half-way: links may have been made.
      await this.#follower.refresh([name]);
      if (failed !== undefined) return refusal(plan, name, failed);
    }
    return this.#runJob(plan, name, before, deadline);
  }

  /** As systemctl does it: the links, then a reload, so that the manager knows them. */
  async #changeFiles(
    how: 'enable' | 'disable',
    name: string,
    deadline: number,
  ): Promise<BusError | undefined> {
    const { bus } = this.#follower;
    const { enableUnitFiles, disableUnitFiles, reload } = SYSTEMD_METHODS;
    const options = (): { deadlineMs: number } => ({ deadlineMs: this.#left(deadline) });
    const changed: Outcome<unknown> =
      how === 'enable'
        ? await bus.call(enableUnitFiles, [[name], false, false], options())
        : await bus.call(disableUnitFiles, [[name], false], options());
    if (!changed.ok) return changed.error;
    const reloaded = await bus.call(reload, [], options());
    return reloaded.ok ? undefined : reloaded.error;
  }

  async #runJob(
    plan: CommandPlan,
    name: string,
    before: UnitFacts | undefined,
    deadline: number,
  ): Promise<Answer> {
    const { bus, jobs } = this.#follower;
    // The unit that an alias led to until its link was taken away.
    const lost = plan.files === 'disable' && before?.id !== this.#factsOf(name)?.id ? before?.id : undefined;
    const call = await bus.call(SYSTEMD_METHODS[plan.job], [lost ?? name, 'replace'], {
      deadlineMs: this.#left(deadline),
    });
    if (!call.ok) return isGoneAlready(plan, before, call.error) ? OK : refusal(plan, name, call.error);
    const end = await this.#within(this.#left(deadline), jobs.wait(call.value, lost ?? name));
    if (end === undefined) return OK;
    if (end.kind === 'away') return refusal(plan, name, { kind: 'closed' });
    // Signals that a job caused come before its end. Without signals, or with those of another unit, there is only looking.
    if (!this.#follower.hasSignals || lost !== undefined) await this.#follower.refresh([name]);
    if (plan.aim === 'started') await this.#startGrace(name, before?.invocation, deadline);
    const facts = this.#factsOf(name);
    return facts === undefined ? OK : verdictOn(plan.aim, end.result, facts);
  }

  async #startGrace(name: string, before: string | undefined, deadline: number): Promise<void> {
    const unit = this.#follower.table.unit(name);
    if (unit === undefined || !runsInUnit(unit) || unit.facts.invocation === before) return;
    const wait = Math.min(START_GRACE_MS, this.#left(deadline));
    await this.#within(
      wait,
      this.#follower.wait(name, (now) => !runsInUnit(now)),
    );
  }

  #factsOf(name: string): UnitFacts | undefined {
    return this.#follower.table.unit(name)?.facts;
  }

  #left(deadline: number): number {
    return Math.max(1, deadline - this.#clock.monotonic());
  }

  /** What is waited for; undefined when it has not come after `ms`. */
  async #within<T>(ms: number, { end, forget }: AwaitedChange<T>): Promise<T | undefined> {
    const first = await within(this.#clock, ms, end);
    forget();
    return first;
  }
}

function refusal({ noun }: CommandPlan, name: string, error: BusError): Answer {
  return { ok: false, ...faultOf(error, `The ${noun} of ${name} failed`) };
}

function runsInUnit({ name, facts }: FollowedUnit): boolean {
  return name.endsWith('.service') && facts.activeState === 'active' && facts.subState === 'running';
}

/** A linked unit whose link was taken away is not there to be stopped. While it runs it stays there. */
function isGoneAlready({ files }: CommandPlan, before: UnitFacts | undefined, error: BusError): boolean {
  if (files !== 'disable' || before === undefined || !isAtRest(before)) return false;
  return error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.noSuchUnit;
}

// How a command has ended. "done" alone proves nothing: it is also the result of a job whose condition was not met, whose process
// could not be executed, or that found its work done (measured, systemd 252).

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
  if (result !== undefined && result !== 'done') return failure('refused', `The ${ended}`);
  const missed = MISSED.find((rule) => rule.aim === aim && rule.holds(facts));
  return missed === undefined ? OK : failure('refused', `${missed.why}: the ${ended}`);
}
