// One scope's manager, watched over its bus, from its coming to its going: subscribes, reads everything, sits reloads out, and
// says which units were touched. What single signals are about is unit-signals.ts's.
// It changes no unit: that is the business of commands.ts, which needs a scope on the user's bus.

import type { UnitScope } from '../../protocol/actor/commands.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { backoffMs } from '../backoff.js';
import type { BusOwner } from '../bus/bus.js';
import { type BusError, sentence } from '../bus/fault.js';
import { type Clock, Timers } from '../clock.js';
import { Jobs } from './jobs.js';
import { Listening } from './listening.js';
import { tellSignal } from './manager-signals.js';
import { type Source, serviceRecord } from './record.js';
import { ReloadMute } from './reload-mute.js';
import type { Depth, ReadingBus } from './unit-reader.js';
import { type SignalledScope, UnitSignals } from './unit-signals.js';
import { type Row, UnitTable } from './unit-table.js';
import { UnitsDirectory } from './units-directory.js';
import { Watchpoints } from './watchpoints.js';
import type { Watched } from './whitelist.js';

/** If the end of a reload is never told. */
const RELOAD_MAX_MS = 30_000;

export interface ScopePlan {
  readonly scope: UnitScope;
  readonly watched: readonly Watched[];
  /** Where this scope's manager keeps its links (units-directory.ts). */
  readonly unitsDirectory: string;
  readonly clock: Clock;
}

export interface ScopeListener {
  /** Every unit has been read. `detail` says what is not as it should be. */
  whole(scope: UnitScope, detail: string | undefined): void;
  /** The manager cannot be asked now. */
  away(scope: UnitScope, reason: string): void;
  touched(rows: readonly Row[]): void;
  /** After a reload, these were read: what was held back may be told. */
  certain(rows: readonly Row[]): void;
}

/** Where the truth comes from: nowhere, from signals, or from readings for which the directory gives the cue. */
type Mode = 'away' | 'signals' | 'directory';

export class Scope<B extends ReadingBus> implements BusOwner, SignalledScope {
  readonly bus: B;
  readonly table: UnitTable;
  readonly jobs = new Jobs();
  readonly points: Watchpoints;
  readonly #plan: ScopePlan;
  readonly #listener: ScopeListener;
  readonly #listening: Listening;
  readonly #signals: UnitSignals;
  readonly #directory: UnitsDirectory;
  readonly #timers: Timers<'begin' | 'reload guard' | 'resync'>;
  #mode: Mode = 'away';
  #reason = 'not connected yet';
  /** Counts beginnings: what an earlier one finds out later is of no interest. */
  #epoch = 0;
  #attempt = 0;
  readonly #mute = new ReloadMute();

  constructor(plan: ScopePlan, listener: ScopeListener, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.#listener = listener;
    this.table = new UnitTable(plan.watched);
    this.points = new Watchpoints(plan.clock);
    this.#timers = new Timers(plan.clock);
    this.#directory = new UnitsDirectory(plan.unitsDirectory, plan.clock, (unit) => this.#cue(unit));
    this.bus = makeBus(this);
    this.#listening = new Listening(plan.scope, this.bus, this.table);
    this.#signals = new UnitSignals(this, this.table, this.jobs, this.#listening.reader, plan.clock);
  }

  /** Why no command can be carried out now; undefined when one can. */
  get absence(): string | undefined {
    return this.#mode === 'away' ? this.#reason : undefined;
  }

  /** The record of a row as it is known now; undefined before the first reading. */
  record(row: Row) {
    if (!row.known) return undefined;
    return serviceRecord(row.watched, row.facts, row.fileState, this.#source(row));
  }

  /** Reads one unit again; the error says that it could not be read. */
  refresh(key: string): Promise<BusError | undefined> {
    return this.#signals.refresh(key);
  }

  /** Whether changes come by themselves. */
  get hasSignals(): boolean {
    return this.#mode === 'signals';
  }

  /** Whether what is known now may be a reload's appearance. */
  get muted(): boolean {
    return this.#mute.muted;
  }

  /** How much a reading is to tell now. */
  get depth(): Depth {
    return this.#mode === 'directory' ? 'everything' : 'unit';
  }

  /** What the manager says of units going is not so. */
  get isReloading(): boolean {
    return this.#mute.reloading;
  }

  stop(): void {
    this.#epoch += 1;
    this.#timers.cancelAll();
    this.#signals.stop();
    this.#directory.close();
    this.jobs.away();
    this.bus.stop();
  }

  // What the bus says.

  async up(): Promise<void> {
    this.#attempt = 0;
    await this.#begin();
  }

  down(reason: string): void {
    this.#epoch += 1;
    this.jobs.away();
    this.#away(reason);
  }

  ownerChanged(_name: string, owned: boolean): void {
    this.#mute.forget();
    if (owned) void this.#begin();
    else this.down('systemd is not on the bus');
  }

  signal(signal: Signal): void {
    tellSignal(signal, this.#signals);
  }

  // What the manager says.

  reloading(active: boolean): void {
    const now = this.#plan.clock.monotonic();
    this.#timers.cancel('reload guard');
    this.#timers.cancel('resync');
    if (active) {
      this.#mute.begins(now);
      this.#timers.set('reload guard', RELOAD_MAX_MS, () => {
        this.#mute.forget();
        void this.#resync();
      });
    } else this.#timers.set('resync', this.#mute.ends(now), () => void this.#resync());
  }

  /** What is known of these rows may be new. */
  touched(rows: readonly (Row | undefined)[]): void {
    const touched = rows.filter((row) => row !== undefined);
    for (const row of touched) this.points.look(row);
    if (!this.#mute.muted) this.#listener.touched(touched);
  }

  /** From a bare connection, or a new manager, to a scope that is whole; tries again for ever. */
  async #begin(): Promise<void> {
    this.#epoch += 1;
    const epoch = this.#epoch;
    this.#timers.cancel('begin');
    const awaited = this.jobs.awaited();
    const refused = await this.#listening.subscribe();
    if (epoch !== this.#epoch) return;
    const mode = refused === undefined ? 'signals' : 'directory';
    const failed = await this.#listening.readAll(mode === 'signals' ? 'unit' : 'everything');
    if (epoch !== this.#epoch) return;
    if (failed !== undefined) {
      this.#away(sentence(failed));
      this.#beginAgain();
      return;
    }
    this.#become(mode, refused === undefined ? undefined : sentence(refused));
    this.jobs.compare(awaited, (unit) => this.table.row(unit)?.facts.job);
    if (mode === 'directory') this.#beginAgain();
  }

  #beginAgain(): void {
    this.#attempt += 1;
    const { clock } = this.#plan;
    this.#timers.set('begin', backoffMs(this.#attempt, clock.random()), () => void this.#begin());
  }

  /** Everything is read again, and what seemed to change meanwhile is forgotten. */
  async #resync(): Promise<void> {
    const epoch = this.#epoch;
    const awaited = this.jobs.awaited();
    const failed = await this.#listening.readAll(this.depth);
    if (epoch !== this.#epoch) return;
    if (failed !== undefined) {
      this.#away(sentence(failed));
      this.#beginAgain();
    } else if (!this.#timers.has('resync') && this.#mute.hasRead(this.#plan.clock.monotonic())) {
      this.touched(this.table.rows());
      this.#listener.certain(this.table.rows());
      this.jobs.compare(awaited, (unit) => this.table.row(unit)?.facts.job);
    }
  }

  #become(mode: 'signals' | 'directory', why: string | undefined): void {
    this.#mode = mode;
    if (mode === 'signals') {
      this.#attempt = 0;
      this.#directory.close();
      this.#signals.rest();
    } else this.#directory.open();
    if (!this.#mute.reloading) this.#mute.lift();
    this.#listener.whole(
      this.#plan.scope,
      mode === 'signals' ? undefined : `no signals (${why}), ${this.#directory.described}`,
    );
    this.touched(this.table.rows());
  }

  #away(reason: string): void {
    this.#timers.cancelAll();
    this.#signals.stop();
    this.#mode = 'away';
    this.#reason = reason;
    this.#mute.forget();
    this.#mute.lift();
    this.#directory.open();
    this.#listener.away(this.#plan.scope, `${reason}, ${this.#directory.described}`);
  }

  /** The directory has changed. */
  #cue(unit: string | undefined): void {
    const rows = unit === undefined ? this.table.rows() : this.table.rowsOf(unit);
    if (this.#mode === 'away') this.touched(rows);
    else void this.#signals.reread(rows);
  }

  #source({ facts }: Row): Source {
    const atRest = this.#mode === 'away' ? this.#directory.atRest(facts.id) : undefined;
    return atRest === undefined ? { kind: 'manager' } : { kind: 'directory', atRest };
  }
}
