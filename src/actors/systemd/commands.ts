// Carries out commands to units of the user, and decides whether a command has succeeded. The calls on the
// bus compile only with a follower on the user's bus.

import { type Clock, within } from '../../host/clock.js';
import { type Answer, DONE, type UnitVerb } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { failed } from '../../protocol/actor/result.js';
import { JOB_MODE, SYSTEMD_ERRORS, SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, busFault } from '../bus/fault.js';
import { type FollowedUnit, isAtRest, mustResetBeforeStart, type UnitFacts } from '../units/facts.js';
import type { UnitFollower } from '../units/follower.js';

/**
 * The supervisor allows a command 10 s. The command ends earlier, so that the client gets the command's
 * answer and not a timeout (docs/http-api.md, "Unit routes").
 */
const COMMAND_MAX_MS = 9_000;
/**
 * How long a service is watched after its start job. The job of a service with Type=simple ends before the
 * program is executed. No signal reports a successful execution. But signals report that the program is
 * missing, or that it has ended early. A service without such a signal counts as started. Measured on an
 * idle machine: these signals come less than 1 ms after the job's end. Measured on two cores with 16 busy
 * processes: 5 ms in the median, below 37 ms for 99 of 100, above 100 ms once in 960 starts.
 */
const START_GRACE_MS = 100;

/** An argument of EnableUnitFiles and DisableUnitFiles. It is false, so the change outlives a reboot. */
const RUNTIME_ONLY = false;
/** An argument of EnableUnitFiles. It is false, so no link of another unit is replaced. */
const REPLACE_LINKS = false;

type Goal = 'started' | 'stopped';

interface CommandPlan {
  /** The command's name in messages to people. */
  readonly noun: string;
  /** The change of the links to the unit's file, before the job. */
  readonly linkChange?: 'enable' | 'disable';
  readonly jobMethod: 'startUnit' | 'stopUnit' | 'restartUnit';
  readonly goal: Goal;
}

/** `enable` and `disable` work like the commands of systemctl with `--now`. */
const PLANS: Readonly<Record<UnitVerb, CommandPlan>> = {
  start: { noun: 'start', jobMethod: 'startUnit', goal: 'started' },
  stop: { noun: 'stop', jobMethod: 'stopUnit', goal: 'stopped' },
  restart: { noun: 'restart', jobMethod: 'restartUnit', goal: 'started' },
  enable: { noun: 'enabling', linkChange: 'enable', jobMethod: 'startUnit', goal: 'started' },
  disable: { noun: 'disabling', linkChange: 'disable', jobMethod: 'stopUnit', goal: 'stopped' },
};

/**
 * Resolves when the unit's job is over, or after 9 s. A job that has not ended after 9 s counts as accepted.
 */
export async function commandUnit(
  follower: UnitFollower<Bus<'units'>>,
  clock: Clock,
  verb: UnitVerb,
  name: string,
): Promise<Answer> {
  const plan = PLANS[verb];
  const { noun, linkChange, jobMethod, goal } = plan;
  const { bus, waits, table } = follower;
  const deadline = clock.monotonic() + COMMAND_MAX_MS;
  // The result is at least 1, which is the shortest time of a timer in Node.
  const leftMs = (): number => Math.max(1, deadline - clock.monotonic());
  const factsNow = (): UnitFacts | undefined => table.unit(name)?.facts;
  // The follower's readings have a deadline of their own, which may be later than the command's deadline.
  const refresh = async (): Promise<BusResult<undefined>> =>
    (await within(clock, leftMs(), follower.refresh([name]))) ?? failed({ kind: 'timeout' });
  const refusal = (error: BusError): Answer => busFault(error, `The ${noun} of ${name} failed`);
  // If `name` is an alias, disabling removes this name, and the unit can then be stopped only by its primary
  // name. So the primary name is read first. An earlier reading is not enough, because the alias may be newer
  // than that reading.
  if (linkChange === 'disable') {
    const read = await refresh();
    if (!read.ok) return refusal(read.error);
  }
  const factsBefore = factsNow();
  if (linkChange !== undefined) {
    const changed = await changeLinks(bus, linkChange, name, leftMs);
    // The unit is read even after a failure, because some links may have been changed.
    const read = await refresh();
    if (!changed.ok) return refusal(changed.error);
    if (!read.ok) return refusal(read.error);
  }
  const primaryName = factsBefore?.id ?? name;
  // If `name` was an alias that disabling has removed, `name` now stands for another unit, or for none. So
  // the reading after the change has another primary name than the reading before it.
  const wasAliasRemoved = linkChange === 'disable' && factsBefore?.id !== factsNow()?.id;
  const target = wasAliasRemoved ? primaryName : name;
  // systemd may refuse to start a failed unit that has not been reset. An error of the reset is ignored,
  // because the start that follows shows what is wrong.
  if (goal === 'started' && mustResetBeforeStart(table.unit(name)))
    await bus.call(SYSTEMD_METHODS.resetFailedUnit, [target], { deadlineMs: leftMs() });
  const call = await bus.call(SYSTEMD_METHODS[jobMethod], [target, JOB_MODE], { deadlineMs: leftMs() });
  if (!call.ok) {
    const isDone = isGoneAlready(plan, factsBefore, call.error);
    return isDone ? DONE : refusal(call.error);
  }
  const jobPath = call.value;
  const end = await waits.forJob(jobPath, target, leftMs());
  if (end === undefined) return DONE;
  if (end.kind === 'away') return refusal({ kind: 'closed' });
  // Usually the signals of the job have brought the facts of `name`. If `name` is a removed alias, these
  // signals were about another unit, so `name` is read.
  if (wasAliasRemoved) await refresh();
  const unit = table.unit(name);
  // Only a new run is watched. If the service ran already, a start job does nothing, and the invocation is
  // the same as before.
  const hasBegun =
    unit !== undefined && isRunningService(unit) && unit.facts.invocation !== factsBefore?.invocation;
  if (goal === 'started' && hasBegun) {
    const graceMs = Math.min(START_GRACE_MS, leftMs());
    await follower.waitUntil(name, (latest) => !isRunningService(latest), graceMs);
  }
  const facts = factsNow();
  // The table always has the unit, so the check is only for the compiler.
  return facts === undefined ? DONE : answerAfterJob(goal, end.result, facts);
}

/** Changes the links, and then makes the manager reload, as systemctl does. */
async function changeLinks(
  bus: Bus<'units'>,
  change: 'enable' | 'disable',
  name: string,
  leftMs: () => number,
): Promise<BusResult<unknown>> {
  const { enableUnitFiles, disableUnitFiles, reload } = SYSTEMD_METHODS;
  const changed: BusResult<unknown> =
    change === 'enable'
      ? await bus.call(enableUnitFiles, [[name], RUNTIME_ONLY, REPLACE_LINKS], { deadlineMs: leftMs() })
      : await bus.call(disableUnitFiles, [[name], RUNTIME_ONLY], { deadlineMs: leftMs() });
  return changed.ok ? bus.call(reload, [], { deadlineMs: leftMs() }) : changed;
}

function isRunningService({ name, facts }: FollowedUnit): boolean {
  return name.endsWith('.service') && facts.activeState === 'active' && facts.subState === 'running';
}

/**
 * True if the stop failed only because disabling has removed a unit that did not run. If a unit's file is
 * only a link (`systemctl link`), disabling removes this link, and systemd then knows the unit only while
 * it runs.
 */
function isGoneAlready(
  { linkChange }: CommandPlan,
  factsBefore: UnitFacts | undefined,
  error: BusError,
): boolean {
  if (linkChange !== 'disable' || factsBefore === undefined || !isAtRest(factsBefore)) return false;
  return error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.noSuchUnit;
}

/**
 * Returns why the command's goal is not met; undefined if it is met. Only the unit's facts decide this,
 * because the job's own result is `done` even if a condition of the unit is not met, or a program cannot be
 * executed (docs/development/what-we-learnt.md, "systemd, logind and Avahi"). `result` is the unit's Result.
 */
function unmetGoal(
  goal: Goal,
  { activeState, subState, result, isConditionMet }: UnitFacts,
): string | undefined {
  if (goal === 'stopped') return activeState === 'active' ? 'The unit is still active' : undefined;
  if (activeState === 'failed') return 'The unit has failed';
  if (activeState === 'activating' && subState.startsWith('auto-restart'))
    return 'The unit has failed and waits to be started again';
  if (activeState === 'inactive' && !isConditionMet) return 'A condition of the unit is not met';
  if (result === 'success') return undefined;
  // From here on the Result is an error. It counts only if the unit has ended, or is ending. While
  // ExecStopPost= runs, for example, the unit is on the way to `failed` or `auto-restart`.
  if (activeState === 'deactivating') return 'The unit is failing';
  return activeState === 'inactive' ? 'The unit has ended with an error' : undefined;
}

/**
 * The answer to a command whose job is over. If the job's signal JobRemoved was missed, `jobResult` is
 * undefined, and only the unit's facts count.
 */
export function answerAfterJob(goal: Goal, jobResult: string | undefined, facts: UnitFacts): Answer {
  const results = `job's result is ${jobResult ?? 'unknown'}, the unit's Result ${facts.result}`;
  if (jobResult !== undefined && jobResult !== 'done') return failure('refused', `The ${results}`);
  const problem = unmetGoal(goal, facts);
  return problem === undefined ? DONE : failure('refused', `${problem}: the ${results}`);
}
