// Starts the check unit and the upgrade unit by calls on the user's bus, and decides whether a start has
// succeeded. run.ts decides what a change of the upgrade unit means for the run.

import type { Clock } from '../../host/clock.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import { type Result, success } from '../../protocol/actor/result.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import { readProperties } from '../../protocol/dbus/daemon.js';
import {
  JOB_MODE,
  MANAGER_INTERFACE,
  MANAGER_PROPERTIES,
  SYSTEMD_METHODS,
  SYSTEMD_PATH,
} from '../../protocol/dbus/systemd.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { busErrorText, busFault } from '../bus/fault.js';
import { type FollowedUnit, mustResetBeforeStart, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import { type FollowerOwner, UnitFollower } from '../units/follower.js';
import type { UpgradePublisher } from './publisher.js';
import { isAtWork, isExited } from './run.js';
import type { RunKeeper } from './run-keeper.js';

/** The backend's access to the machine. */
export interface UpgradeContext {
  readonly bus: BusOptions;
  readonly bootId: string;
  readonly clock: Clock;
}

/**
 * The longest time for a start: the calls to systemd, and the wait for the job's end. If the job has not
 * ended by then, the start counts as accepted. This time and the writing of the state file (1 s at most)
 * together are shorter than the 10 s that a command may take (supervisor.ts).
 */
const START_MAX_MS = 8_000;

const NO_UNIT = failure('no-such-unit', 'No such unit is configured');

interface StartedJob {
  /** The job's path. */
  readonly job: string;
  /** The job's result if it has ended already. */
  readonly jobResult?: string;
}

export type StartResult = Result<StartedJob, Fault>;

interface UpgradeUnitsParts extends UpgradeContext {
  readonly settings: UpgradeSettings;
  readonly keeper: RunKeeper;
  readonly publisher: UpgradePublisher;
  /**
   * The backend sends no status before this resolves, because its first status completes the daemon's start
   * (host/readiness.ts).
   */
  readonly ready: Promise<unknown>;
  /** True if the unit was stopped during this invocation, according to systemd's journal. */
  readonly wasStopped: (invocation: string, isOneshot: boolean) => Promise<boolean>;
}

export class UpgradeUnits implements FollowerOwner {
  readonly #parts: UpgradeUnitsParts;
  readonly #follower: UnitFollower<Bus<'units'>>;
  #isUp = false;
  /** Counts the calls of `up`, `down` and `stop`, so that a reading from before such a call is ignored. */
  #epoch = 0;
  /**
   * The last known invocation of each unit that has run, by the unit's configured name. An entry stays when
   * systemd unloads the unit, because a quick unit may be unloaded before systemd answers the start.
   */
  readonly #lastInvocations = new Map<string, string>();
  /** The facts of a check that seems to have failed, while its unit is read again. */
  #doubtfulFailure: RunFacts | undefined;

  constructor(parts: UpgradeUnitsParts, makeBus = (owner: BusOwner) => new Bus('units', parts.bus, owner)) {
    this.#parts = parts;
    const { clock } = parts;
    const { checkUnit, upgradeUnit } = parts.settings;
    const names = [checkUnit, upgradeUnit].filter((name) => name !== undefined);
    const plan = { names, interest: 'verdicts', clock } as const;
    this.#follower = new UnitFollower(plan, this, makeBus);
  }

  /**
   * The primary name of the upgrade unit, under which systemd's journal has the unit's log; undefined if no
   * upgrade unit is configured.
   */
  get upgradeUnitId(): string | undefined {
    return this.#upgradeUnit?.facts.id ?? this.#parts.settings.upgradeUnit;
  }

  stop(): void {
    this.#epoch += 1;
    this.#follower.stop();
  }

  /** Reads the upgrade unit again; undefined if it cannot be read. */
  async readUpgradeUnit(): Promise<RunFacts | undefined> {
    const { upgradeUnit } = this.#parts.settings;
    if (!this.#isUp || upgradeUnit === undefined) return undefined;
    const read = await this.#follower.refresh([upgradeUnit]);
    return read.ok ? this.#upgradeFacts : undefined;
  }

  /**
   * Starts the check unit, or restarts it if it has exited (RemainAfterExit=). Resolves like `startUpgrade`,
   * with one exception: if the unit is at work already, the start brings no new invocation, so only
   * systemd's reply to the call is awaited.
   */
  async startCheck(): Promise<StartResult> {
    const { checkUnit } = this.#parts.settings;
    if (checkUnit === undefined) return NO_UNIT;
    return isAtWork(this.#factsOf(checkUnit))
      ? this.#start(checkUnit, START_MAX_MS)
      : this.#startAndAwaitRun(checkUnit);
  }

  /**
   * Starts the upgrade unit, or restarts it if it has exited (RemainAfterExit=). Resolves when the unit
   * runs, when its start has failed, or after START_MAX_MS. Only one call at a time is allowed.
   */
  async startUpgrade(): Promise<StartResult> {
    const { upgradeUnit } = this.#parts.settings;
    return upgradeUnit === undefined ? NO_UNIT : this.#startAndAwaitRun(upgradeUnit);
  }

  async #startAndAwaitRun(unit: string): Promise<StartResult> {
    const endMs = this.#parts.clock.monotonic() + START_MAX_MS;
    const leftMs = (): number => Math.max(endMs - this.#parts.clock.monotonic(), 0);
    const invocationBefore = this.#lastInvocations.get(unit);
    const { waits, bus, table } = this.#follower;
    // A failure of the reset is ignored, because the answer to the start then shows what is wrong.
    if (mustResetBeforeStart(table.unit(unit)))
      await bus.call(SYSTEMD_METHODS.resetFailedUnit, [unit], { deadlineMs: leftMs() });
    const started = await this.#start(unit, leftMs());
    if (!started.ok) return started;
    // Only a new invocation proves that the unit has run, because the job's result is "done" even if a
    // condition of the unit is not met (docs/development/what-we-learnt.md, "systemd, logind and Avahi").
    const hasRun = () => {
      // The facts get a new invocation before `#lastInvocations` gets it. But if the unit is unloaded, only
      // `#lastInvocations` keeps it. So both are checked.
      const { invocation } = this.#factsOf(unit);
      const isNewInvocation = invocation !== '' && invocation !== invocationBefore;
      return isNewInvocation || this.#lastInvocations.get(unit) !== invocationBefore;
    };
    if (!hasRun()) {
      await Promise.race([
        // `until` goes on while the value is undefined.
        waits.until(leftMs(), () => hasRun() || undefined),
        waits.forJob(started.value.job, unit, leftMs()),
      ]);
    }
    const jobResult = waits.jobResult(started.value.job);
    // If the job has not ended, the start counts as accepted, whether the unit has run or not.
    if (jobResult === undefined) return started;
    return hasRun()
      ? success({ ...started.value, jobResult })
      : didNotRun(unit, jobResult, this.#factsOf(unit));
  }

  up(): void {
    void this.#begin();
  }

  down(reason: string): void {
    this.#epoch += 1;
    this.#isUp = false;
    void this.#parts.ready.then(() => this.#parts.publisher.down(reason));
  }

  changed(units: readonly FollowedUnit[]): void {
    if (!this.#isUp) return;
    const { settings, keeper } = this.#parts;
    for (const { name, facts } of units) {
      this.#noteInvocation(name, facts);
      if (name === settings.checkUnit) this.#checkChanged(name, facts);
      if (name === settings.upgradeUnit) keeper.applyInput({ kind: 'facts', facts });
    }
  }

  /**
   * A check unit that systemd is about to restart (Restart=) is `failed` for a moment, as an upgrade unit is
   * (run-keeper.ts, `#confirm`). So the unit is read before a failure is published. Until the unit is read,
   * facts are ignored unless the unit is at work again, because the facts of an unloaded unit no longer show
   * its failure.
   */
  #checkChanged(name: string, facts: RunFacts): void {
    const { publisher } = this.#parts;
    if (this.#doubtfulFailure !== undefined && !isAtWork(facts)) return;
    if (publisher.isCheckFailing(facts)) {
      void this.#confirmFailure(name, facts);
      return;
    }
    this.#doubtfulFailure = undefined;
    publisher.setCheck(facts);
  }

  async #confirmFailure(name: string, failedFacts: RunFacts): Promise<void> {
    const epoch = this.#epoch;
    this.#doubtfulFailure = failedFacts;
    // The follower passes the new facts to `changed`. If the unit is at work again, this ends the doubt.
    await this.#follower.refresh([name]);
    if (this.#doubtfulFailure !== failedFacts) return;
    this.#doubtfulFailure = undefined;
    if (epoch === this.#epoch) this.#parts.publisher.setCheck(failedFacts);
  }

  jobEnded(job: string, id: string, result: string): void {
    if (this.#isUp && id === this.#upgradeUnit?.facts.id)
      this.#parts.keeper.applyInput({ kind: 'job-ended', job, result });
  }

  #noteInvocation(unit: string, { invocation }: RunFacts): void {
    if (invocation !== '') this.#lastInvocations.set(unit, invocation);
  }

  #factsOf(unit: string): RunFacts {
    return this.#follower.table.unit(unit)?.facts ?? NOTHING_RAN;
  }

  get #upgradeUnit(): FollowedUnit | undefined {
    const { upgradeUnit } = this.#parts.settings;
    return upgradeUnit === undefined ? undefined : this.#follower.table.unit(upgradeUnit);
  }

  get #upgradeFacts(): RunFacts {
    return this.#upgradeUnit?.facts ?? NOTHING_RAN;
  }

  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    await this.#parts.ready;
    // One of the manager's properties is the time of systemd's start. `circumstances` below needs this time.
    const options = { path: SYSTEMD_PATH };
    const manager = await this.#follower.bus.call(SYSTEMD_METHODS.getAll, [MANAGER_INTERFACE], options);
    if (epoch !== this.#epoch) return;
    if (!manager.ok) return this.#follower.bus.reconnect(busErrorText(manager.error));
    const wasStopped = await this.#wasStoppedMeanwhile();
    if (epoch !== this.#epoch) return;
    this.#isUp = true;
    const { checkUnit, upgradeUnit: unit } = this.#parts.settings;
    const check = checkUnit === undefined ? undefined : this.#follower.table.unit(checkUnit);
    if (check !== undefined) this.#parts.publisher.setCheck(check.facts);
    // This time identifies one life of systemd. A reload or re-execution of systemd does not change the time.
    const { UserspaceTimestampMonotonic: startedUs } = readProperties(MANAGER_PROPERTIES, manager.value);
    const circumstances = { boot: this.#parts.bootId, manager: String(startedUs ?? ''), unit: unit ?? '' };
    for (const { name, facts } of this.#follower.table.units()) this.#noteInvocation(name, facts);
    if (unit !== undefined) this.#parts.keeper.applyReading(this.#upgradeFacts, circumstances, wasStopped);
    this.#parts.publisher.up(this.#parts.keeper.run);
  }

  /**
   * True if somebody has stopped the upgrade unit while this daemon did not follow the unit. The facts do
   * not show this: if a stopped script ends with status 0, the facts are those of a success.
   */
  async #wasStoppedMeanwhile(): Promise<boolean> {
    const { state, origin, invocation } = this.#parts.keeper.run;
    const hasEnded = state === 'running' && origin === 'systemd' && !isAtWork(this.#upgradeFacts);
    if (!hasEnded || invocation === undefined) return false;
    return this.#parts.wasStopped(invocation, this.#upgradeFacts.isOneshot);
  }

  /** Starts the unit. StartUnit has no effect on a unit that has exited, so such a unit is restarted. */
  async #start(unit: string, deadlineMs: number): Promise<StartResult> {
    const method = isExited(this.#factsOf(unit)) ? 'restartUnit' : 'startUnit';
    const outcome = await this.#follower.bus.call(SYSTEMD_METHODS[method], [unit, JOB_MODE], { deadlineMs });
    if (!outcome.ok) return busFault(outcome.error, `The start of ${unit} failed`);
    return success({ job: outcome.value });
  }
}

function didNotRun(unit: string, jobResult: string, { result, isConditionMet }: RunFacts): StartResult {
  const condition = isConditionMet ? '' : ', a condition of the unit is not met';
  const results = `the job's result is ${jobResult}, the unit's Result ${result}${condition}`;
  return failure('refused', `${unit} did not run: ${results}`);
}
