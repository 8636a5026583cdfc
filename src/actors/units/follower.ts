// Follows units of one manager over its bus: subscribes, reads everything, applies signals, waits for reloads
// to end, and passes changed units to its owner. It changes no unit, and does not know its owner.

import { backoffMs, type Clock, Timers } from '../../host/clock.js';
import { PROPERTIES_CHANGED, type PropertyRecord } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { SYSTEMD_SIGNALS, UNIT_INTERFACE } from '../../protocol/dbus/systemd.js';
import type { BusOwner } from '../bus/bus.js';
import { type BusError, type BusResult, reasonOf } from '../bus/fault.js';
import { type FollowedUnit, UnitTable } from './facts.js';
import { type Interest, type ReadingBus, subscribe, UnitReader, unitRules, watchAll } from './unit-reader.js';
import { Waits } from './waits.js';

/** Quiet time after a storm of reloads, or of changed unit files. */
const QUIET_MS = 50;
/** Timeout for a reload's end that is never signalled. */
const RELOAD_MAX_MS = 30_000;

export interface FollowerPlan {
  readonly names: readonly string[];
  readonly interest: Interest;
  readonly clock: Clock;
}

export interface FollowerOwner {
  /** All units have been read, and their signals come. */
  up(): void;
  down(reason: string): void;
  /**
   * These units may have changed. Not called while a reload makes them seem to go, unless the interest is
   * verdicts.
   */
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
  /** True between the signals of a reload's beginning and end: removals of units in between are not real. */
  #isReloading = false;
  /** True if the present facts may be an effect of a reload. */
  #isMuted = false;
  /** Counts beginnings, so that results of an earlier one are ignored. */
  #epoch = 0;
  #attempt = 0;

  constructor(plan: FollowerPlan, owner: FollowerOwner, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.waits = new Waits(plan.clock);
    this.#owner = owner;
    this.table = new UnitTable(plan.names);
    this.#timers = new Timers(plan.clock);
    this.bus = makeBus(this);
    // A service's result comes with signals; for a run that was not followed, it must be read.
    this.#reader = new UnitReader(this.bus, this.table, plan.interest === 'verdicts' ? '' : UNIT_INTERFACE);
  }

  /**
   * Reads units again, or only the states of their files; fails if they could not be read.
   */
  async refresh(names: readonly string[], what: 'units' | 'files' = 'units'): Promise<BusResult<undefined>> {
    const epoch = this.#epoch;
    const result = await this.#reader[what](names);
    // After a new beginning all units are published anyway.
    if (epoch === this.#epoch) this.#report(this.table.units().filter(({ name }) => names.includes(name)));
    return result;
  }

  /** Resolves once `holds` is true for the unit, or after `ms`. */
  wait(name: string, isReached: (unit: FollowedUnit) => boolean, ms: number): Promise<unknown> {
    return this.waits.until(ms, () => {
      const unit = this.table.unit(name);
      return unit && isReached(unit) ? unit : undefined;
    });
  }

  stop(): void {
    this.#epoch += 1;
    this.#timers.cancelAll();
    this.waits.away();
    this.bus.stop();
  }

  async up(): Promise<void> {
    this.#attempt = 0;
    await this.#begin();
  }

  down(reason: string): void {
    this.#epoch += 1;
    this.waits.away();
    this.#away(reason);
  }

  ownerChanged(_name: string, owned: boolean): void {
    this.#forgetReload();
    if (owned) void this.#begin();
    else this.down('systemd is not on the bus');
  }

  /** UnitNew is not used, because it brings nothing new. */
  signal(signal: Signal): void {
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (changed !== undefined) this.#propertiesChanged(signal.path, changed[0], changed[1]);
    const removed = signalValues(SYSTEMD_SIGNALS.unitRemoved, signal);
    if (removed !== undefined && !this.#isReloading)
      for (const { name } of this.table.removed(removed[0])) void this.refresh([name], 'files');
    const ended = signalValues(SYSTEMD_SIGNALS.jobRemoved, signal);
    if (ended !== undefined) {
      const [, job, id, result] = ended;
      this.waits.removed(job, result);
      this.#owner.jobEnded?.(job, id, result);
    }
    const reloading = signalValues(SYSTEMD_SIGNALS.reloading, signal);
    if (reloading !== undefined) this.#reloads(reloading[0]);
    if (signalValues(SYSTEMD_SIGNALS.unitFilesChanged, signal) !== undefined)
      this.#timers.set('files', QUIET_MS, () => void this.refresh(this.table.names, 'files'));
  }

  #propertiesChanged(path: string, iface: string, properties: PropertyRecord): void {
    const units = this.table.changed(path, properties);
    // A change sends first the Service's properties, then the Unit's: only then are the facts complete.
    if (iface !== UNIT_INTERFACE) return;
    this.#report(units);
    // A unit that did not exist now runs: it is loaded, so that reading it causes no signals.
    for (const { name, facts } of units)
      if (facts.loadState === 'not-found' && facts.activeState !== 'inactive') void this.refresh([name]);
  }

  /**
   * Units seem to disappear and come back: nothing is published until they are read again, once after reloads
   * in quick succession.
   */
  #reloads(begins: boolean): void {
    this.#isReloading = begins;
    this.#isMuted = true;
    this.#timers.set('reload', begins ? RELOAD_MAX_MS : QUIET_MS, () => {
      this.#isReloading = false;
      void this.#readAfterReload();
    });
  }

  /** Everything has been read: true if it may be published, because the next reload has not begun. */
  #hasRead(): boolean {
    this.#isMuted = this.#timers.has('reload');
    return !this.#isMuted;
  }

  /** There is another manager, or none: it will not signal the end of the old one's reload. */
  #forgetReload(): void {
    this.#timers.cancel('reload');
    this.#isReloading = false;
    this.#isMuted = false;
  }

  #report(units: readonly FollowedUnit[]): void {
    this.waits.news();
    if (this.#isMuted && this.#plan.interest !== 'verdicts') return;
    if (units.length > 0) this.#owner.changed(units);
  }

  /** Subscribes and reads all units on a new connection or manager; tries again for ever. */
  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    this.#timers.cancel('begin');
    const awaited = this.waits.awaited();
    const subscribed = await subscribe(this.bus, this.#plan.interest, this.table.names);
    if (epoch !== this.#epoch) return;
    const read = subscribed.ok ? await this.#readAll() : subscribed;
    if (epoch !== this.#epoch) return;
    if (!read.ok) return this.#beginAgain(read.error);
    this.#attempt = 0;
    this.#hasRead();
    this.waits.news();
    this.#owner.up();
    this.waits.compare(awaited, (name) => this.table.unit(name)?.facts.job);
  }

  #beginAgain(error: BusError): void {
    this.#away(reasonOf(error));
    this.#attempt += 1;
    const { clock } = this.#plan;
    this.#timers.set('begin', backoffMs(this.#attempt, clock.random()), () => void this.#begin());
  }

  /**
   * Signals carry primary names: where a unit is followed by an alias, signals of its primary name are
   * subscribed to as well.
   */
  async #readAll(): Promise<BusResult<undefined>> {
    const read = await this.#reader.units(this.table.names);
    if (!read.ok) return read;
    const aliases = this.table.units().filter(({ name, facts }) => name !== facts.id);
    if (aliases.length === 0) return read;
    const ids = aliases.map(({ facts }) => facts.id);
    const watched = await watchAll(this.bus, unitRules(this.#plan.interest, ids));
    if (!watched.ok) return watched;
    return this.#reader.units(aliases.map(({ name }) => name));
  }

  /** Reads everything again, replacing changes that were none, but came from the reload. */
  async #readAfterReload(): Promise<void> {
    const epoch = this.#epoch;
    const awaited = this.waits.awaited();
    const read = await this.#readAll();
    if (epoch !== this.#epoch) return;
    if (!read.ok) this.#beginAgain(read.error);
    else if (this.#hasRead()) {
      this.#report(this.table.units());
      this.waits.compare(awaited, (name) => this.table.unit(name)?.facts.job);
    }
  }

  #away(reason: string): void {
    this.#timers.cancelAll();
    this.#forgetReload();
    this.#owner.down(reason);
  }
}
