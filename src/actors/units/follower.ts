// Follows units of one manager over its bus: decides when they are read, and which changes its owner gets.
// During a reload of the manager units seem to disappear, so the owner gets no changes until everything is
// read again, unless its interest is `verdicts`. The follower changes no unit, and does not know its owner.

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
 * After a reload or a change of unit files, units are read once no other of these has come for this time.
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
  /** All units have been read, and from now on their signals come. */
  up(): void;
  down(reason: string): void;
  /** These units may have changed. Not called during a reload, unless the interest is `verdicts`. */
  changed(units: readonly FollowedUnit[]): void;
  /** Any job of the manager has ended. `job` is its path, `id` the unit's primary name. */
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
   * True from the signal of a reload's beginning to that of its end: removals of units meanwhile are not
   * real.
   */
  #isReloading = false;
  /** True if the present facts may be an effect of a reload. */
  #isMuted = false;
  /** Counts the calls of `#begin` and `down`, so that results from before the latest are ignored. */
  #epoch = 0;
  /** The attempts to subscribe and read that have failed in succession. */
  #failures = 0;

  constructor(plan: FollowerPlan, owner: FollowerOwner, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.waits = new Waits(plan.clock);
    this.#owner = owner;
    this.table = new UnitTable(plan.names);
    this.#timers = new Timers(plan.clock);
    this.bus = makeBus(this);
    // A service's result comes by signals. But the result of a run that was not followed must be read.
    this.#reader = new UnitReader(this.bus, this.table, plan.interest === 'verdicts' ? '' : UNIT_INTERFACE);
  }

  /** Reads units again; fails if they could not be read. */
  refresh(names: readonly string[]): Promise<BusResult<undefined>> {
    return this.#reportAfter(this.#reader.units(names), names);
  }

  #refreshFiles(names: readonly string[]): void {
    void this.#reportAfter(this.#reader.files(names), names);
  }

  async #reportAfter(
    reading: Promise<BusResult<undefined>>,
    names: readonly string[],
  ): Promise<BusResult<undefined>> {
    const epoch = this.#epoch;
    const result = await reading;
    // If `#begin` was called meanwhile, it reports all units anyway.
    if (epoch === this.#epoch) this.#report(this.table.units().filter(({ name }) => names.includes(name)));
    return result;
  }

  /** Resolves when `isReached` returns true for the unit, or after `ms`. */
  wait(name: string, isReached: (unit: FollowedUnit) => boolean, ms: number): Promise<unknown> {
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

  ownerChanged(_name: string, isOwned: boolean): void {
    this.#forgetReload();
    if (isOwned) void this.#begin();
    else this.down('systemd is not on the bus');
  }

  signal(signal: Signal): void {
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) this.#propertiesChanged(signal.path, changed[0], changed[1]);
    const removed = signalValues(SYSTEMD_SIGNALS.unitRemoved, signal);
    if (removed !== undefined && !this.#isReloading)
      for (const { name } of this.table.applyRemoval(removed[0])) this.#refreshFiles([name]);
    const ended = signalValues(SYSTEMD_SIGNALS.jobRemoved, signal);
    if (ended !== undefined) {
      const [, job, id, result] = ended;
      this.waits.jobEnded(job, result);
      this.#owner.jobEnded?.(job, id, result);
    }
    const reloading = signalValues(SYSTEMD_SIGNALS.reloading, signal);
    if (reloading !== undefined) this.#reloadChanged(reloading[0]);
    if (signalValues(SYSTEMD_SIGNALS.unitFilesChanged, signal) !== undefined)
      this.#timers.set('files', QUIET_MS, () => this.#refreshFiles(this.table.names));
  }

  #propertiesChanged(path: string, iface: string, properties: PropertyRecord): void {
    const units = this.table.applyProperties(path, properties);
    // For each change, systemd sends the properties of the Service first. Only with those of the Unit are the
    // facts complete.
    if (iface !== UNIT_INTERFACE) return;
    this.#report(units);
    // A unit that did not exist before is at work now, so it is read again. It is loaded, so the reading
    // causes no signals.
    for (const { name, facts } of units)
      if (facts.loadState === 'not-found' && facts.activeState !== 'inactive') void this.refresh([name]);
  }

  /**
   * Mutes the changes until everything is read again, which is done once after reloads in quick succession.
   * `begins` is false at the end of a reload.
   */
  #reloadChanged(begins: boolean): void {
    this.#isReloading = begins;
    this.#isMuted = true;
    this.#timers.set('reload', begins ? RELOAD_MAX_MS : QUIET_MS, () => {
      this.#isReloading = false;
      void this.#readAfterReload();
    });
  }

  /** To be called when everything has been read. Changes stay muted if the next reload has begun. */
  #unmuteUnlessReloading(): void {
    this.#isMuted = this.#timers.has('reload');
  }

  /** To be called when there is another manager or none, which will not signal the end of the reload. */
  #forgetReload(): void {
    this.#timers.cancel('reload');
    this.#isReloading = false;
    this.#isMuted = false;
  }

  #report(units: readonly FollowedUnit[]): void {
    this.waits.recheck();
    const isMutedForOwner = this.#isMuted && this.#plan.interest !== 'verdicts';
    if (!isMutedForOwner && units.length > 0) this.#owner.changed(units);
  }

  /**
   * Subscribes to all units and reads them, on a new connection or of a new manager. Tries again for ever.
   */
  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    this.#timers.cancel('begin');
    const awaited = this.waits.awaitedJobs();
    const subscribed = await subscribe(this.bus, this.#plan.interest, this.table.names);
    if (epoch !== this.#epoch) return;
    const read = subscribed.ok ? await this.#readAll() : subscribed;
    if (epoch !== this.#epoch) return;
    if (!read.ok) return this.#beginAgain(read.error);
    this.#failures = 0;
    this.#unmuteUnlessReloading();
    this.waits.recheck();
    this.#owner.up();
    this.#endMissedJobs(awaited);
  }

  #beginAgain(error: BusError): void {
    this.#reportDown(busErrorText(error));
    this.#failures += 1;
    const { clock } = this.#plan;
    this.#timers.set('begin', backoffMs(this.#failures, clock.random()), () => void this.#begin());
  }

  async #readAll(): Promise<BusResult<undefined>> {
    const read = await this.#reader.units(this.table.names);
    if (!read.ok) return read;
    // Signals have a unit's primary name. If the unit is followed by an alias, that name was unknown when
    // signals were subscribed to.
    const aliases = this.table.units().filter(({ name, facts }) => name !== facts.id);
    if (aliases.length === 0) return read;
    const ids = aliases.map(({ facts }) => facts.id);
    const watched = await watchAll(this.bus, unitRules(this.#plan.interest, ids));
    if (!watched.ok) return watched;
    return this.#reader.units(aliases.map(({ name }) => name));
  }

  /** Reads everything again, because the reload may have caused changes that are not real. */
  async #readAfterReload(): Promise<void> {
    const epoch = this.#epoch;
    const awaited = this.waits.awaitedJobs();
    const read = await this.#readAll();
    if (epoch !== this.#epoch) return;
    if (!read.ok) return this.#beginAgain(read.error);
    this.#unmuteUnlessReloading();
    if (this.#isMuted) return;
    this.#report(this.table.units());
    this.#endMissedJobs(awaited);
  }

  /** `awaited`: the jobs that were awaited before all units were read. */
  #endMissedJobs(awaited: readonly AwaitedJob[]): void {
    this.waits.endMissed(awaited, (name) => this.table.unit(name)?.facts.job);
  }

  #reportDown(reason: string): void {
    this.#timers.cancelAll();
    this.#forgetReload();
    this.#owner.down(reason);
  }
}
