// What a manager says of units, and what has to be read because of it. Signals go into the table as they are; what they
// leave open, and everything where there are none, is read. It knows no connection: its beginning and end are scope.ts's.

import type { BusError } from '../bus/fault.js';
import type { PropertyRecord } from '../bus/units.js';
import { type Clock, Timers } from '../clock.js';
import type { Jobs } from './jobs.js';
import type { ManagerEvents } from './manager-signals.js';
import { isPassing } from './service-facts.js';
import type { Depth, UnitReader } from './unit-reader.js';
import type { Row, UnitTable } from './unit-table.js';

/** After the last of a storm of changed unit files. */
const FILES_QUIET_MS = 50;
/** Without signals, a state that is about to change is looked at again. */
const PASSING_AGAIN_MS = 500;

/** The scope, as this file needs it. */
export interface SignalledScope {
  /** How much a reading is to tell now. */
  readonly depth: Depth;
  /** Between the two words of a reload: what seems to go is not gone. */
  readonly isReloading: boolean;
  touched(rows: readonly (Row | undefined)[]): void;
  reloading(active: boolean): void;
}

export class UnitSignals implements ManagerEvents {
  readonly #scope: SignalledScope;
  readonly #table: UnitTable;
  readonly #jobs: Jobs;
  readonly #reader: UnitReader;
  readonly #timers: Timers<'files' | 'passing'>;

  constructor(scope: SignalledScope, table: UnitTable, jobs: Jobs, reader: UnitReader, clock: Clock) {
    this.#scope = scope;
    this.#table = table;
    this.#jobs = jobs;
    this.#reader = reader;
    this.#timers = new Timers(clock);
  }

  /** Reads one unit again; the error says that it could not be read. */
  async refresh(key: string): Promise<BusError | undefined> {
    const failed = await this.#reader.one(key, this.#scope.depth);
    this.#scope.touched([this.#table.row(key)]);
    return failed;
  }

  /** Without signals: reads units, and those that are on their way to another state again and again. */
  async reread(rows: readonly Row[]): Promise<void> {
    const keys = keysOf(rows);
    await this.#reader.many(keys, this.#scope.depth);
    this.#scope.touched(keys.map((key) => this.#table.row(key)));
    if (this.#scope.depth !== 'everything' || this.#timers.has('passing')) return;
    const passing = (): readonly Row[] => this.#table.rows().filter(({ facts }) => isPassing(facts));
    if (passing().length > 0)
      this.#timers.set('passing', PASSING_AGAIN_MS, () => void this.reread(passing()));
  }

  /** Signals have come: nothing need be looked at again. */
  rest(): void {
    this.#timers.cancel('passing');
  }

  /** The manager is away: nothing is read until it is there again. */
  stop(): void {
    this.#timers.cancelAll();
  }

  // What the manager says.

  unitChanged(path: string, properties: PropertyRecord): void {
    const rows = this.#table.changed(path, properties);
    this.#scope.touched(rows);
    // A unit that did not exist runs: it is loaded, so that reading it makes no noise.
    for (const { watched, facts } of rows) {
      if (facts.loadState === 'not-found' && facts.activeState !== 'inactive') void this.refresh(watched.key);
    }
  }

  unitRemoved(unit: string): void {
    if (this.#scope.isReloading) return;
    for (const { watched } of this.#table.removed(unit)) void this.#lookForFile(watched.key);
  }

  jobRemoved(job: string, result: string): void {
    this.#jobs.removed(job, result);
  }

  unitFilesChanged(): void {
    this.#timers.set('files', FILES_QUIET_MS, () => void this.#lookForFiles());
  }

  reloading(active: boolean): void {
    this.#scope.reloading(active);
  }

  async #lookForFile(key: string): Promise<void> {
    await this.#reader.file(key);
    this.#scope.touched([this.#table.row(key)]);
  }

  async #lookForFiles(): Promise<void> {
    await this.#reader.files(keysOf(this.#table.rows()));
    this.#scope.touched(this.#table.rows());
  }
}

function keysOf(rows: readonly Row[]): readonly string[] {
  return rows.map(({ watched }) => watched.key);
}
