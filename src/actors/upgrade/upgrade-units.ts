// The check unit and the upgrade unit on the user's bus: starts them, and passes their changes to the run and
// the publisher. run.ts decides what these mean for a run; units/follower.ts follows the units.

import type { Clock } from '../../host/clock.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import { type Result, success } from '../../protocol/actor/result.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import { readProperties } from '../../protocol/dbus/daemon.js';
import {
  MANAGER_INTERFACE,
  MANAGER_PROPERTIES,
  SYSTEMD_METHODS,
  SYSTEMD_PATH,
} from '../../protocol/dbus/systemd.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { faultOf, reasonOf } from '../bus/fault.js';
import { type FollowedUnit, NOTHING_RAN, type RunFacts } from '../units/facts.js';
import { type FollowerOwner, UnitFollower } from '../units/follower.js';
import type { UpgradePublisher } from './publisher.js';
import { isAtWork, isExited } from './run.js';
import type { RunKeeper } from './run-keeper.js';

/** The machine's facts and services, passed in so that nothing here reads them from the machine itself. */
export interface UpgradeContext {
  readonly bus: BusOptions;
  readonly bootId: string;
  readonly clock: Clock;
}

/**
 * Counted from the call. A job that is still queued after this time counts as accepted. Together with writing
 * the state file this stays within a command's 10 s.
 */
const START_MAX_MS = 8_000;

const NO_UNIT = failure('no-such-unit', 'No such unit is configured');

/** `job`: the job's path; `jobResult` if it has ended already. */
export type StartResult = Result<{ readonly job: string; readonly jobResult?: string }, Fault>;

interface UpgradeUnitsParts extends UpgradeContext {
  readonly settings: UpgradeSettings;
  readonly keeper: RunKeeper;
  readonly publisher: UpgradePublisher;
  /** Nothing is published before it resolves, because the first status marks the end of the start. */
  readonly ready: Promise<unknown>;
  /** True if this run was stopped, by systemd's journal. */
  readonly wasStopped: (invocation: string) => Promise<boolean>;
}

export class UpgradeUnits implements FollowerOwner {
  readonly #parts: UpgradeUnitsParts;
  readonly #follower: UnitFollower<Bus<'units'>>;
  #isUp = false;
  /** Counts ups and downs, so that results from before the latest are ignored. */
  #epoch = 0;
  /**
   * The last known invocation of the upgrade unit; '' for none. systemd may unload a quick unit before its
   * start is answered, and its facts have no invocation then.
   */
  #lastInvocation = '';

  constructor(parts: UpgradeUnitsParts, makeBus = (owner: BusOwner) => new Bus('units', parts.bus, owner)) {
    this.#parts = parts;
    const { clock } = parts;
    const { checkUnit, upgradeUnit } = parts.settings;
    const names = [checkUnit, upgradeUnit].filter((name) => name !== undefined);
    const plan = { names, interest: 'verdicts', clock } as const;
    this.#follower = new UnitFollower(plan, this, makeBus);
  }

  /** The name under which the upgrade unit logs, which is no alias; undefined if none is configured. */
  get upgradeUnitId(): string | undefined {
    return this.#unit?.facts.id ?? this.#parts.settings.upgradeUnit;
  }

  stop(): void {
    this.#epoch += 1;
    this.#follower.stop();
  }

  /** The upgrade unit as it is now, not as the last signal left it; undefined if it cannot be read. */
  async readUpgradeUnit(): Promise<RunFacts | undefined> {
    const { upgradeUnit: upgrade } = this.#parts.settings;
    if (!this.#isUp || upgrade === undefined) return undefined;
    const read = await this.#follower.refresh([upgrade]);
    return read.ok ? this.#facts : undefined;
  }

  async startCheck(): Promise<StartResult> {
    const { checkUnit } = this.#parts.settings;
    return checkUnit === undefined ? NO_UNIT : this.#start(checkUnit, 'startUnit');
  }

  /**
   * Starts the upgrade unit, or restarts one that remembers finished work. Resolves when it runs, cannot, or
   * stays queued. One at a time.
   */
  async startUpgrade(): Promise<StartResult> {
    const { upgradeUnit: upgrade } = this.#parts.settings;
    if (upgrade === undefined) return NO_UNIT;
    const endMs = this.#parts.clock.monotonic() + START_MAX_MS;
    const before = this.#lastInvocation;
    const started = await this.#start(upgrade, isExited(this.#facts) ? 'restartUnit' : 'startUnit');
    if (!started.ok) return started;
    // "done" is also the result of a job whose condition was not met (docs/development/what-we-learnt.md,
    // "systemd, logind and Avahi"): only a new invocation is a run.
    const hasRun = () => this.#lastInvocation !== before || !['', before].includes(this.#facts.invocation);
    const { waits } = this.#follower;
    if (!hasRun()) {
      const leftMs = Math.max(endMs - this.#parts.clock.monotonic(), 0);
      await Promise.race([
        waits.until(leftMs, () => hasRun() || undefined),
        waits.forJob(started.value.job, upgrade, leftMs),
      ]);
    }
    const jobResult = waits.resultOf(started.value.job);
    if (jobResult === undefined) return started;
    return hasRun() ? success({ ...started.value, jobResult }) : didNotRun(upgrade, jobResult, this.#facts);
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
    for (const { name, facts } of units) {
      if (name === this.#parts.settings.checkUnit) this.#parts.publisher.check(facts);
      if (name !== this.#parts.settings.upgradeUnit) continue;
      this.#note(facts);
      this.#parts.keeper.feed({ kind: 'unit', facts });
    }
  }

  jobEnded(job: string, id: string, result: string): void {
    if (this.#isUp && id === this.#unit?.facts.id)
      this.#parts.keeper.feed({ kind: 'job-ended', job, result });
  }

  #note({ invocation }: RunFacts): void {
    if (invocation !== '') this.#lastInvocation = invocation;
  }

  get #unit(): FollowedUnit | undefined {
    const { upgradeUnit: upgrade } = this.#parts.settings;
    return upgrade === undefined ? undefined : this.#follower.table.unit(upgrade);
  }

  get #facts(): RunFacts {
    return this.#unit?.facts ?? NOTHING_RAN;
  }

  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    await this.#parts.ready;
    const options = { path: SYSTEMD_PATH };
    const manager = await this.#follower.bus.call(SYSTEMD_METHODS.getAll, [MANAGER_INTERFACE], options);
    if (epoch !== this.#epoch) return;
    if (!manager.ok) return this.#follower.bus.reconnect(reasonOf(manager.error));
    const wasStopped = await this.#wasStopped();
    if (epoch !== this.#epoch) return;
    this.#isUp = true;
    const { checkUnit, upgradeUnit: unit } = this.#parts.settings;
    const check = checkUnit === undefined ? undefined : this.#follower.table.unit(checkUnit);
    if (check !== undefined) this.#parts.publisher.check(check.facts);
    // It differs for each start of systemd, but not after a reload or a re-execution.
    const { UserspaceTimestampMonotonic: startedUs } = readProperties(MANAGER_PROPERTIES, manager.value);
    const circumstances = { boot: this.#parts.bootId, manager: String(startedUs ?? ''), unit: unit ?? '' };
    this.#note(this.#facts);
    if (unit !== undefined) this.#parts.keeper.read(this.#facts, circumstances, wasStopped);
    this.#parts.publisher.up(this.#parts.keeper.run);
  }

  /**
   * Needed for a run that ended while nobody watched it: a unit that was stopped, and whose script ended with
   * status 0, looks like one that succeeded.
   */
  async #wasStopped(): Promise<boolean> {
    const { state, origin, invocation } = this.#parts.keeper.run;
    const hasEnded = state === 'running' && origin === 'systemd' && !isAtWork(this.#facts);
    return hasEnded && invocation !== undefined && this.#parts.wasStopped(invocation);
  }

  async #start(unit: string, method: 'startUnit' | 'restartUnit'): Promise<StartResult> {
    const outcome = await this.#follower.bus.call(SYSTEMD_METHODS[method], [unit, 'replace']);
    if (!outcome.ok) return faultOf(outcome.error, `The start of ${unit} failed`);
    return success({ job: outcome.value });
  }
}

function didNotRun(unit: string, jobResult: string, { result, conditionMet }: RunFacts): StartResult {
  const why = conditionMet ? result : `${result}, a condition of the unit is not met`;
  return failure(
    'refused',
    `${unit} did not run: the job's result is ${jobResult}, the unit's Result ${why}`,
  );
}
