// Changes units of the user: asks the manager, waits for the job, then checks the unit's state. It needs a
// follower on the user's bus; the calls do not compile on any other type of bus.

import type { Clock } from '../../host/clock.js';
import { type Answer, DONE, type UnitVerb } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { SYSTEMD_ERRORS, SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, faultOf } from '../bus/fault.js';
import { type FollowedUnit, isAtRest, type UnitFacts } from '../units/facts.js';
import type { UnitFollower } from '../units/follower.js';

/** Below the supervisor's 10 s, so that our own answer arrives (docs/http-api.md, "Unit routes"). */
const COMMAND_MAX_MS = 9_000;
/**
 * The start job of a simple service ends before its program has been executed, and no signal reports the
 * execution; only a missing program or an early exit is reported, after the job's end. On an idle machine
 * less than 1 ms later; on two cores with 16 busy processes 5 ms in the median, below 37 ms for 99 of 100,
 * and above 100 ms once in 960 starts.
 */
const START_GRACE_MS = 100;

type Aim = 'started' | 'stopped';

interface CommandPlan {
  readonly noun: string;
  readonly files?: 'enable' | 'disable';
  readonly job: 'startUnit' | 'stopUnit' | 'restartUnit';
  readonly aim: Aim;
}

/** enable and disable work like `systemctl --now`. */
const PLANS: Readonly<Record<UnitVerb, CommandPlan>> = {
  start: { noun: 'start', job: 'startUnit', aim: 'started' },
  stop: { noun: 'stop', job: 'stopUnit', aim: 'stopped' },
  restart: { noun: 'restart', job: 'restartUnit', aim: 'started' },
  enable: { noun: 'enabling', files: 'enable', job: 'startUnit', aim: 'started' },
  disable: { noun: 'disabling', files: 'disable', job: 'stopUnit', aim: 'stopped' },
};

/**
 * Resolves when the unit's job is over, after 9 s at the latest: a job that is still queued then was
 * accepted.
 */
export async function commandUnit(
  follower: UnitFollower<Bus<'units'>>,
  clock: Clock,
  verb: UnitVerb,
  name: string,
): Promise<Answer> {
  const plan = PLANS[verb];
  const { noun, files, job, aim } = plan;
  const { bus, waits, table } = follower;
  const deadline = clock.monotonic() + COMMAND_MAX_MS;
  const leftMs = (): number => Math.max(1, deadline - clock.monotonic());
  const factsNow = (): UnitFacts | undefined => table.unit(name)?.facts;
  const refusal = (error: BusError): Answer => faultOf(error, `The ${noun} of ${name} failed`);
  // Read before the links change: afterwards the name may lead nowhere while its unit still runs. What was
  // read earlier may be from before the link was made.
  if (files === 'disable') {
    const read = await follower.refresh([name]);
    if (!read.ok) return refusal(read.error);
  }
  const before = factsNow();
  if (files !== undefined) {
    const changed = await changeFiles(bus, files, name, leftMs);
    // Also after a failure, because some links may have been made.
    await follower.refresh([name]);
    if (!changed.ok) return refusal(changed.error);
  }
  // The unit that an alias led to before its link was removed.
  const lost = files === 'disable' && before?.id !== factsNow()?.id ? before?.id : undefined;
  const target = lost ?? name;
  const call = await bus.call(SYSTEMD_METHODS[job], [target, 'replace'], { deadlineMs: leftMs() });
  if (!call.ok) return isGoneAlready(plan, before, call.error) ? DONE : refusal(call.error);
  const end = await waits.forJob(call.value, target, leftMs());
  if (end === undefined) return DONE;
  if (end.kind === 'away') return refusal({ kind: 'closed' });
  // Signals caused by a job come before its end. After those of another unit, the unit must be read.
  if (lost !== undefined) await follower.refresh([name]);
  const unit = table.unit(name);
  const hasBegun = unit !== undefined && runsInUnit(unit) && unit.facts.invocation !== before?.invocation;
  if (aim === 'started' && hasBegun)
    await follower.wait(name, (now) => !runsInUnit(now), Math.min(START_GRACE_MS, leftMs()));
  const facts = factsNow();
  return facts === undefined ? DONE : verdictOn(aim, end.result, facts);
}

/** Works like systemctl: changes the links, then reloads, so that the manager knows them. */
async function changeFiles(
  bus: Bus<'units'>,
  how: 'enable' | 'disable',
  name: string,
  leftMs: () => number,
): Promise<BusResult<unknown>> {
  const { enableUnitFiles, disableUnitFiles, reload } = SYSTEMD_METHODS;
  const changed: BusResult<unknown> =
    how === 'enable'
      ? await bus.call(enableUnitFiles, [[name], false, false], { deadlineMs: leftMs() })
      : await bus.call(disableUnitFiles, [[name], false], { deadlineMs: leftMs() });
  return changed.ok ? bus.call(reload, [], { deadlineMs: leftMs() }) : changed;
}

function runsInUnit({ name, facts }: FollowedUnit): boolean {
  return name.endsWith('.service') && facts.activeState === 'active' && facts.subState === 'running';
}

/** True if a linked unit at rest lost its link and so cannot be stopped. A running one stays known. */
function isGoneAlready({ files }: CommandPlan, before: UnitFacts | undefined, error: BusError): boolean {
  if (files !== 'disable' || before === undefined || !isAtRest(before)) return false;
  return error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.noSuchUnit;
}

/**
 * Why a job with the result `done` has missed its aim; undefined if it has not. A condition may not have been
 * met, or no process could be executed (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
 */
function missed(aim: Aim, { activeState, subState, result, conditionMet }: UnitFacts): string | undefined {
  if (aim === 'stopped') return activeState === 'active' ? 'The unit is still active' : undefined;
  if (activeState === 'failed') return 'The unit has failed';
  if (activeState === 'activating' && subState.startsWith('auto-restart'))
    return 'The unit has failed and waits to be started again';
  if (activeState === 'inactive' && !conditionMet) return 'A condition of the unit is not met';
  if (result === 'success') return undefined;
  // It is on the way to one of the first two for as long as ExecStopPost= takes.
  if (activeState === 'deactivating') return 'The unit is failing';
  return activeState === 'inactive' ? 'The unit has ended with an error' : undefined;
}

/**
 * The answer to a command whose job is over. `result` is JobRemoved's; undefined if that was missed, so that
 * only the state counts.
 */
export function verdictOn(aim: Aim, result: string | undefined, facts: UnitFacts): Answer {
  const ended = `job's result is ${result ?? 'unknown'}, the unit's Result ${facts.result}`;
  if (result !== undefined && result !== 'done') return failure('refused', `The ${ended}`);
  const why = missed(aim, facts);
  return why === undefined ? DONE : failure('refused', `${why}: the ${ended}`);
}
