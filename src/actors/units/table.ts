// The followed units of one manager and what is known of each: readings and signals go in, the units that they changed come
// out. Pure: it reads nothing itself. systemd speaks of units by primary name, so that an alias shows the unit behind it.

import type { PropertyRecord } from '../../protocol/dbus/properties.js';
import { unitPath } from '../../protocol/dbus/systemd.js';
import { readingUnder, type UnitFacts, unknownUnit, unloaded, withProperties } from './facts.js';

/** One followed unit. */
export interface FollowedUnit {
  /** As it was asked for: any of its names. */
  readonly name: string;
  /** As of the last reading and the signals since. */
  readonly facts: UnitFacts;
  /** The unit file state; undefined without a unit file. */
  readonly fileState: string | undefined;
  /** False until the first reading. */
  readonly known: boolean;
}

/** What one reading found. */
export interface UnitReading {
  readonly properties: PropertyRecord;
  readonly file: FileReading;
}

/** `asked` grows from question to question: an answer may be taken in behind that to a later question. */
export interface FileReading {
  readonly state: string | undefined;
  readonly asked: number;
}

interface Entry {
  unit: FollowedUnit;
  /** The path of the unit's object. */
  path: string;
  /** Signals heard about the unit's run: a reading that began before one of them is older than it. */
  heard: number;
  /** The question whose answer the file state is. */
  fileAsked: number;
}

export class UnitTable {
  readonly names: readonly string[];
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#entries = new Map(
      names.map((name) => {
        const unit = { name, facts: unknownUnit(name), fileState: undefined, known: false };
        return [name, { unit, path: unitPath(name), heard: 0, fileAsked: 0 }];
      }),
    );
  }

  units(): readonly FollowedUnit[] {
    return this.#of(() => true).map(({ unit }) => unit);
  }

  unit(name: string): FollowedUnit | undefined {
    return this.#entries.get(name)?.unit;
  }

  /** What is followed of one of systemd's units: more than one when an alias of it is followed too. */
  unitsOf(id: string): readonly FollowedUnit[] {
    return this.#of(({ unit }) => unit.facts.id === id).map(({ unit }) => unit);
  }

  /** What to hand to `read` at the end of a reading that begins now. */
  mark(name: string): number {
    return this.#entries.get(name)?.heard ?? 0;
  }

  /** Takes a reading in. */
  read(name: string, mark: number, { properties, file }: UnitReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { facts } = entry.unit;
    // From the ground up: a reading is whole, and what it lacks is no longer so. The result of a run is only in signals.
    const reading = withProperties({ ...unknownUnit(name), result: facts.result }, properties);
    // A reply that was overtaken by a signal may be older than it, and what it may know better comes as a signal again.
    const merged = entry.heard === mark ? reading : readingUnder(facts, reading);
    entry.unit = { ...entry.unit, facts: merged, known: true };
    takeFile(entry, file);
    entry.path = unitPath(merged.id);
  }

  /** PropertiesChanged of a unit's object. */
  changed(path: string, properties: PropertyRecord): readonly FollowedUnit[] {
    return this.#hear(
      (entry) => entry.path === path,
      (facts) => withProperties(facts, properties),
    );
  }

  /** UnitRemoved, which also follows every reading of a unit that is not loaded. */
  removed(id: string): readonly FollowedUnit[] {
    return this.#hear(({ unit }) => unit.facts.id === id, unloaded);
  }

  /** Takes a file state in; without a file, a unit that is not loaded does not exist any more. */
  file(name: string, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || !takeFile(entry, file)) return;
    const { unit } = entry;
    const gone = file.state === undefined && unit.facts.activeState === 'inactive';
    if (gone) entry.unit = { ...unit, facts: { ...unit.facts, loadState: 'not-found' } };
  }

  #hear(which: (entry: Entry) => boolean, change: (facts: UnitFacts) => UnitFacts): readonly FollowedUnit[] {
    return this.#of(which).map((entry) => {
      entry.heard += 1;
      entry.unit = { ...entry.unit, facts: change(entry.unit.facts) };
      return entry.unit;
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
  entry.unit = { ...entry.unit, fileState: state };
  return true;
}
