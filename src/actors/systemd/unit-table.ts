// The watched units of one scope and what is known of each: readings and signals go in, which units they touched comes out.
// Pure: it reads nothing itself. Units are told apart by primary name, so that an alias shows the unit behind it.

import { unitPath } from '../../protocol/dbus/systemd.js';
import type { PropertyRecord } from '../bus/units.js';
import { readingUnder, type ServiceFacts, unknownUnit, unloaded, withProperties } from './service-facts.js';
import type { Watched } from './whitelist.js';

/** One watched unit. */
export interface Row {
  readonly watched: Watched;
  /** As of the last reading and the signals since. */
  readonly facts: ServiceFacts;
  /** The unit file state; undefined without a unit file. */
  readonly fileState: string | undefined;
  /** False until the first reading. */
  readonly known: boolean;
}

/** What one reading found. */
export interface Reading {
  readonly properties: PropertyRecord;
  readonly file: FileReading;
}

/** `asked` grows from question to question: an answer may be taken in behind that to a later question. */
export interface FileReading {
  readonly state: string | undefined;
  readonly asked: number;
}

interface Entry {
  row: Row;
  /** The path of the unit's object. */
  path: string;
  /** Signals heard about the unit's run: a reading that began before one of them is older than it. */
  heard: number;
  /** The question whose answer the file state is. */
  fileAsked: number;
}

export class UnitTable {
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(watched: readonly Watched[]) {
    this.#entries = new Map(
      watched.map((each) => {
        const row = { watched: each, facts: unknownUnit(each.name), fileState: undefined, known: false };
        return [each.key, { row, path: unitPath(each.name), heard: 0, fileAsked: 0 }];
      }),
    );
  }

  rows(): readonly Row[] {
    return [...this.#entries.values()].map(({ row }) => row);
  }

  row(key: string): Row | undefined {
    return this.#entries.get(key)?.row;
  }

  /** The rows that one of systemd's units shows in: more than one when an alias of it is listed too. */
  rowsOf(id: string): readonly Row[] {
    return this.#of(({ row }) => row.facts.id === id).map(({ row }) => row);
  }

  /** What to hand to `read` at the end of a reading that begins now. */
  mark(key: string): number {
    return this.#entries.get(key)?.heard ?? 0;
  }

  /** Takes a reading in. */
  read(key: string, mark: number, { properties, file }: Reading): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const { watched, facts } = entry.row;
    // From the ground up: a reading is whole, and what it lacks is no longer so. The result of a run is only in signals.
    const ground = { ...unknownUnit(watched.name), result: facts.result };
    const reading = withProperties(ground, properties);
    // A reply that was overtaken by a signal may be older than it, and what it may know better comes as a signal again.
    const merged = entry.heard === mark ? reading : readingUnder(facts, reading);
    entry.row = { ...entry.row, facts: merged, known: true };
    takeFile(entry, file);
    entry.path = unitPath(merged.id);
  }

  /** PropertiesChanged of a unit's object. */
  changed(path: string, properties: PropertyRecord): readonly Row[] {
    return this.#hear(
      (entry) => entry.path === path,
      (facts) => withProperties(facts, properties),
    );
  }

  /** UnitRemoved, which also follows every reading of a unit that is not loaded. */
  removed(id: string): readonly Row[] {
    return this.#hear(({ row }) => row.facts.id === id, unloaded);
  }

  /** Takes a file state in; without a file, a unit that is not loaded does not exist any more. */
  file(key: string, file: FileReading): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !takeFile(entry, file)) return;
    const { row } = entry;
    const gone = file.state === undefined && row.facts.activeState === 'inactive';
    if (gone) entry.row = { ...row, facts: { ...row.facts, loadState: 'not-found' } };
  }

  #hear(which: (entry: Entry) => boolean, change: (facts: ServiceFacts) => ServiceFacts): readonly Row[] {
    return this.#of(which).map((entry) => {
      entry.heard += 1;
      entry.row = { ...entry.row, facts: change(entry.row.facts) };
      return entry.row;
    });
  }

  #of(which: (entry: Entry) => boolean): readonly Entry[] {
    return [...this.#entries.values()].filter(which);
  }
}

/** False for an answer that is older than the one that there is. */
function takeFile(entry: Entry, { state, asked }: FileReading): boolean {
  if (asked < entry.fileAsked) return false;
  entry.fileAsked = asked;
  entry.row = { ...entry.row, fileState: state };
  return true;
}
