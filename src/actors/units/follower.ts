// Follows units of one manager: the system's systemd or the user's. Decides when these units are read, and
// which changes the follower's owner gets. The follower changes no unit.

import { backoffMs, type Clock, Timers } from '../../host/clock.js';
import { PROPERTIES_CHANGED, type PropertyRecord } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { SYSTEMD_SIGNALS, UNIT_INTERFACE } from '../../protocol/dbus/systemd.js';
import type { BusOwner } from '../bus/bus.js';
import { type BusError, type BusResult, busErrorText } from '../bus/fault.js';
import { type FollowedUnit, UnitTable } from './facts.js';
import { type Interest, type ReadingBus, subscribe, UnitReader, unitRules, watchAll } from './unit-reader.js';
import { type AwaitedJob, Waits } from './waits.js';

/**
 * The end of a reload (daemon-reload) and a change of unit files cause a reading, but only after this pause.
 * Another such event within the pause begins the pause again.
 */
const QUIET_MS = 50;
/** After this time a reload counts as ended, even if no signal reports its end. */
const RELOAD_MAX_MS = 30_000;

export interface FollowerPlan {
  readonly names: readonly string[];
  readonly interest: Interest;
  readonly clock: Clock;
}

export interface FollowerOwner {
  /** The follower has read all units, and has subscribed to their signals. */
  up(): void;
  down(reason: string): void;
  /**
   * These units may have changed. From the beginning of a reload until the reading after it, this method is
   * called only for the interest `verdicts`.
   */
  changed(units: readonly FollowedUnit[]): void;
  /**
   * A job of the manager has ended. The job's unit may be one that is not followed. Never called for the
   * interest `state`. `job` is the job's path, `id` the unit's primary name.
   */
  jobEnded?(job: string, id: string, result: string): void;
}

export class UnitFollower<B extends ReadingBus> implements BusOwner {
  readonly bus: B;
  readonly table: UnitTable;
  readonly waits: Waits;
  readonly #plan: FollowerPlan;
  readonly #owner: FollowerOwner;
  readonly #reader: UnitReader;
  readonly #timers: Timers<'begin' | 'files' | 'reload'>;
  /**
   * True from the signal that a reload has begun until the signal that it has ended, but not longer than
   * RELOAD_MAX_MS. The signal UnitRemoved is ignored meanwhile, because a reload removes units only for a
   * moment.
   */
  #isReloading = false;
  /**
   * True from the beginning of a reload until everything is read again. Units seem to disappear meanwhile, so
   * changes are reported only for the interest `verdicts`.
   */
  #isMuted = false;
  /**
   * Counts the calls of `#begin`, `down` and `stop`, so that results from before the last call are ignored.
   */
  #epoch = 0;
  /** How many attempts to subscribe and read have failed in succession. */
  #failures = 0;

  constructor(plan: FollowerPlan, owner: FollowerOwner, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.waits = new Waits(plan.clock);
    this.#owner = owner;
    this.table = new UnitTable(plan.names);
    this.#timers = new Timers(plan.clock);
    this.bus = makeBus(this);
    // For the interests `runs` and `verdicts`, signals bring the results of runs. Only `verdicts` also needs
    // the result of a run whose end the follower has missed, and only a reading brings that result.
    // UNIT_INTERFACE has no results, so for `verdicts` the properties of all interfaces ('') are read.
    const readInterface = plan.interest === 'verdicts' ? '' : UNIT_INTERFACE;
    this.#reader = new UnitReader(this.bus, this.table, readInterface);
  }

  /** Reads units again; fails if they could not be read. */
  refresh(names: readonly string[]): Promise<BusResult<undefined>> {
    return this.#reportAfter(this.#reader.readUnits(names), names);
  }

  #refreshFiles(names: readonly string[]): void {
    void this.#reportAfter(this.#reader.readFiles(names), names);
  }

  async #reportAfter(
    reading: Promise<BusResult<undefined>>,
    names: readonly string[],
  ): Promise<BusResult<undefined>> {
    const epoch = this.#epoch;
    const result = await reading;
    // A changed epoch means that `down`, `stop` or `#begin` was called. When `#begin` has read all units, it
    // calls the owner's `up`, so these units need no report of their own.
    if (epoch !== this.#epoch) return result;
    const readUnits = this.table.units().filter(({ name }) => names.includes(name));
    this.#reportUnits(readUnits);
    return result;
  }

  /** Resolves when `isReached` returns true for the unit, or after `ms`. */
  waitUntil(name: string, isReached: (unit: FollowedUnit) => boolean, ms: number): Promise<unknown> {
    return this.waits.until(ms, () => {
      const unit = this.table.unit(name);
      return unit && isReached(unit) ? unit : undefined;
    });
  }

  stop(): void {
    this.#epoch += 1;
    this.#timers.cancelAll();
    this.waits.managerLost();
    this.bus.stop();
  }

  async up(): Promise<void> {
    this.#failures = 0;
    await this.#begin();
  }

  down(reason: string): void {
    this.#epoch += 1;
    this.waits.managerLost();
    this.#reportDown(reason);
  }

  /** `isOwned` is true if a program now owns the name on the bus. Only systemd's name is watched. */
  ownerChanged(_name: string, isOwned: boolean): void {
    this.#forgetReload();
    if (isOwned) void this.#begin();
    else this.down('systemd is not on the bus');
  }

  signal(signal: Signal): void {
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) {
      const [iface, properties] = changed;
      this.#propertiesChanged(signal.path, iface, properties);
    }
    const [removedId] = signalValues(SYSTEMD_SIGNALS.unitRemoved, signal) ?? [];
    // Only the state of the unit's file is read, because a reading of the unloaded unit itself would cause
    // another UnitRemoved.
    if (removedId !== undefined && !this.#isReloading)
      for (const { name } of this.table.applyRemoval(removedId)) this.#refreshFiles([name]);
    const ended = signalValues(SYSTEMD_SIGNALS.jobRemoved, signal);
    if (ended !== undefined) {
      const [, job, id, result] = ended;
      this.waits.jobEnded(job, result);
      this.#owner.jobEnded?.(job, id, result);
    }
    const [hasReloadBegun] = signalValues(SYSTEMD_SIGNALS.reloading, signal) ?? [];
    if (hasReloadBegun !== undefined) this.#reloadChanged(hasReloadBegun);
    if (signalValues(SYSTEMD_SIGNALS.unitFilesChanged, signal) !== undefined)
      this.#timers.set('files', QUIET_MS, () => this.#refreshFiles(this.table.names));
  }

  #propertiesChanged(path: string, iface: string, properties: PropertyRecord): void {
    const units = this.table.applyProperties(path, properties);
    // systemd sends each change of a service in two signals: the properties of the interface Service, then
    // those of the interface Unit (systemd 252). The facts are complete only after both.
    if (iface !== UNIT_INTERFACE) return;
    this.#reportUnits(units);
    // A unit that was not found, but is no longer inactive, may exist now. It is read again, because only a
    // reading brings its load state. The unit is loaded now, so the reading causes no signals
    // (unit-reader.ts).
    for (const { name, facts } of units)
      if (facts.loadState === 'not-found' && facts.activeState !== 'inactive') void this.refresh([name]);
  }

  /**
   * Mutes the changes until everything is read again. Several reloads in quick succession cause only one
   * reading. `hasBegun` is true at the beginning of a reload, and false at its end.
   */
  #reloadChanged(hasBegun: boolean): void {
    this.#isReloading = hasBegun;
    this.#isMuted = true;
    this.#timers.set('reload', hasBegun ? RELOAD_MAX_MS : QUIET_MS, () => {
      this.#isReloading = false;
      void this.#readAfterReload();
    });
  }

  /**
   * To be called when everything has been read. If another reload has begun meanwhile, the timer `reload`
   * runs, and changes stay muted until the reading after that reload.
   */
  #unmuteUnlessReloading(): void {
    this.#isMuted = this.#timers.has('reload');
  }

  /** To be called if the end of a reload may stay unknown, for example after the loss of the connection. */
  #forgetReload(): void {
    this.#timers.cancel('reload');
    this.#isReloading = false;
    this.#isMuted = false;
  }

  #reportUnits(units: readonly FollowedUnit[]): void {
    this.waits.recheck();
    const isMutedForOwner = this.#isMuted && this.#plan.interest !== 'verdicts';
    if (!isMutedForOwner && units.length > 0) this.#owner.changed(units);
  }

  /**
   * Subscribes to all units and reads them: on a new connection, or when a new manager has come. Tries again
   * until it succeeds.
   */
  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    this.#timers.cancel('begin');
    const awaitedBefore = this.waits.awaitedJobs();
    const subscribed = await subscribe(this.bus, this.#plan.interest, this.table.names);
    if (epoch !== this.#epoch) return;
    const read = subscribed.ok ? await this.#readAll() : subscribed;
    if (epoch !== this.#epoch) return;
    if (!read.ok) return this.#retryBegin(read.error);
    this.#failures = 0;
    this.#unmuteUnlessReloading();
    this.waits.recheck();
    // The owner's `up` is called even during a reload, because all units are read and reported again after
    // the reload.
    this.#owner.up();
    this.#endMissedJobs(awaitedBefore);
  }

  #retryBegin(error: BusError): void {
    this.#reportDown(busErrorText(error));
    this.#failures += 1;
    const { clock } = this.#plan;
    this.#timers.set('begin', backoffMs(this.#failures, clock.random()), () => void this.#begin());
  }

  async #readAll(): Promise<BusResult<undefined>> {
    const read = await this.#reader.readUnits(this.table.names);
    if (!read.ok) return read;
    // Signals have a unit's primary name. If the unit is followed under an alias, its primary name is known
    // only now, and its signals can be watched only now. The unit is then read again, because earlier
    // signals may have been missed.
    const aliasedUnits = this.table.units().filter(({ name, facts }) => name !== facts.id);
    if (aliasedUnits.length === 0) return read;
    const ids = aliasedUnits.map(({ facts }) => facts.id);
    const watched = await watchAll(this.bus, unitRules(this.#plan.interest, ids));
    if (!watched.ok) return watched;
    return this.#reader.readUnits(aliasedUnits.map(({ name }) => name));
  }

  /** Reads everything again, because the reload may have caused changes that are not real. */
  async #readAfterReload(): Promise<void> {
    const epoch = this.#epoch;
    const awaitedBefore = this.waits.awaitedJobs();
    const read = await this.#readAll();
    if (epoch !== this.#epoch) return;
    if (!read.ok) return this.#retryBegin(read.error);
    this.#unmuteUnlessReloading();
    if (this.#isMuted) return;
    this.#reportUnits(this.table.units());
    this.#endMissedJobs(awaitedBefore);
  }

  /** `awaitedBefore` has the jobs that were awaited before the reading of all units began. */
  #endMissedJobs(awaitedBefore: readonly AwaitedJob[]): void {
    this.waits.endMissed(awaitedBefore, (name) => this.table.unit(name)?.facts.job);
  }

  #reportDown(reason: string): void {
    this.#timers.cancelAll();
    this.#forgetReload();
    this.#owner.down(reason);
  }
}
