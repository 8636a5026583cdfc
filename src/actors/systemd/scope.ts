// One scope's manager, watched over its bus: subscribes, reads, follows signals, and says which units were touched.
// It changes no unit: that is the business of commands.ts, which needs a scope on the user's bus.

import type { UnitScope } from '../../protocol/actor/commands.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { backoffMs } from '../backoff.js';
import type { BusError, BusOwner } from '../bus.js';
import { type Clock, Timers } from './clock.js';
import { Jobs } from './jobs.js';
import { describeError } from './judge.js';
import { Listening } from './listening.js';
import { type ManagerEvents, tellSignal } from './manager-signals.js';
import { type Source, serviceRecord } from './record.js';
import { ReloadMute } from './reload-mute.js';
import { isPassing } from './unit-facts.js';
import type { Depth, ReadingBus } from './unit-reader.js';
import { type Row, UnitTable } from './unit-table.js';
import { UnitsDirectory } from './units-directory.js';
import { Watchpoints } from './watchpoints.js';
import type { Watched } from './whitelist.js';

/** After the last of a storm of changed unit files. */
const FILES_QUIET_MS = 50;
/** If the end of a reload is never told. */
const RELOAD_MAX_MS = 30_000;
/** Without signals, a state that is about to change is looked at again. */
const PASSING_AGAIN_MS = 500;

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

export class Scope<B extends ReadingBus> implements BusOwner, ManagerEvents {
  readonly bus: B;
  readonly table: UnitTable;
  readonly jobs = new Jobs();
  readonly points: Watchpoints;
  readonly #plan: ScopePlan;
  readonly #listener: ScopeListener;
  readonly #listening: Listening;
  readonly #directory: UnitsDirectory;
  readonly #timers: Timers<'begin' | 'reload guard' | 'resync' | 'files' | 'passing'>;
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
  async refresh(key: string): Promise<BusError | undefined> {
    const failed = await this.#listening.reader.one(key, this.#depth());
    this.#touch([this.table.row(key)]);
    return failed;
  }

  /** Whether changes come by themselves. */
  get hasSignals(): boolean {
    return this.#mode === 'signals';
  }

  /** Whether what is known now may be a reload's appearance. */
  get muted(): boolean {
    return this.#mute.muted;
  }

  stop(): void {
    this.#epoch += 1;
    this.#timers.cancelAll();
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
    tellSignal(signal, this);
  }

  // What the manager says.

  unitChanged(path: string, properties: Readonly<Record<string, unknown>>): void {
    const rows = this.table.changed(path, properties);
    this.#touch(rows);
    // A unit that did not exist runs: it is loaded, so that reading it makes no noise.
    for (const { watched, facts } of rows) {
      if (facts.loadState === 'not-found' && facts.activeState !== 'inactive') void this.refresh(watched.key);
    }
  }

  unitRemoved(unit: string): void {
    if (this.#mute.reloading) return;
    for (const { watched } of this.table.removed(unit)) void this.#lookForFile(watched.key);
  }

  jobRemoved(job: string, result: string): void {
    this.jobs.removed(job, result);
  }

  unitFilesChanged(): void {
    this.#timers.set('files', FILES_QUIET_MS, () => {
      for (const { watched } of this.table.rows()) void this.#lookForFile(watched.key);
    });
  }

  reloading(active: boolean): void {
    const now = this.#plan.clock.now();
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
      this.#away(describeError(failed));
      this.#beginAgain();
      return;
    }
    this.#become(mode, refused === undefined ? undefined : describeError(refused));
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
    const failed = await this.#listening.readAll(this.#depth());
    if (epoch !== this.#epoch) return;
    if (failed !== undefined) {
      this.#away(describeError(failed));
      this.#beginAgain();
    } else if (!this.#timers.has('resync') && this.#mute.hasRead(this.#plan.clock.now())) {
      this.#touch(this.table.rows());
      this.#listener.certain(this.table.rows());
      this.jobs.compare(awaited, (unit) => this.table.row(unit)?.facts.job);
    }
  }

  #become(mode: 'signals' | 'directory', why: string | undefined): void {
    this.#mode = mode;
    if (mode === 'signals') {
      this.#attempt = 0;
      this.#directory.close();
      this.#timers.cancel('passing');
    } else this.#directory.open();
    if (!this.#mute.reloading) this.#mute.lift();
    this.#listener.whole(
      this.#plan.scope,
      mode === 'signals' ? undefined : `no signals (${why}), ${this.#directory.described}`,
    );
    this.#touch(this.table.rows());
  }

  #away(reason: string): void {
    this.#timers.cancelAll();
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
    if (this.#mode === 'away') this.#touch(rows);
    else void this.#reread(rows);
  }

  /** Without signals: reads units, and those that are on their way to another state again and again. */
  async #reread(rows: readonly Row[]): Promise<void> {
    await Promise.all(rows.map(({ watched }) => this.refresh(watched.key)));
    if (this.#mode !== 'directory' || this.#timers.has('passing')) return;
    const passing = (): readonly Row[] => this.table.rows().filter(({ facts }) => isPassing(facts));
    if (passing().length > 0)
      this.#timers.set('passing', PASSING_AGAIN_MS, () => void this.#reread(passing()));
  }

  async #lookForFile(key: string): Promise<void> {
    await this.#listening.reader.file(key);
    this.#touch([this.table.row(key)]);
  }

  #depth(): Depth {
    return this.#mode === 'directory' ? 'everything' : 'unit';
  }

  #source({ facts }: Row): Source {
    const atRest = this.#mode === 'away' ? this.#directory.atRest(facts.id) : undefined;
    return atRest === undefined ? { kind: 'manager' } : { kind: 'directory', atRest };
  }

  #touch(rows: readonly (Row | undefined)[]): void {
    const touched = rows.filter((row) => row !== undefined);
    for (const row of touched) this.points.look(row);
    if (!this.#mute.muted) this.#listener.touched(touched);
  }
}
