// What is known of one followed unit, and how readings and signals change it. Pure.
// Signals never tell LoadState, Description and the like: those come from readings only.

import { readProperties } from '../../protocol/dbus/properties.js';
import { UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';
import { NOTHING_RAN, type PropertyRecord, type RunFacts, withRun } from '../bus/units.js';

/** What only a reading tells. */
interface FileFacts {
  /** The primary name, under which systemd speaks of the unit. */
  readonly id: string;
  readonly names: readonly string[];
  readonly description: string;
  readonly loadState: string;
}

/** Signals tell the facts of its run: one that came since a reading began is never older than the reading. */
export interface UnitFacts extends RunFacts, FileFacts {}

/** A unit of which nothing has been heard. */
export function unknownUnit(name: string): UnitFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withProperties(facts: UnitFacts, record: PropertyRecord): UnitFacts {
  const { Id, Names, Description, LoadState } = readProperties(UNIT_PROPERTIES, record);
  return {
    ...withRun(facts, record),
    id: Id ?? facts.id,
    names: Names ?? facts.names,
    description: Description ?? facts.description,
    loadState: LoadState ?? facts.loadState,
  };
}

/** A unit that systemd has let go of is at rest by definition; how its run ended stays known. */
export function unloaded(facts: UnitFacts): UnitFacts {
  const { activeState, subState, job, invocation } = NOTHING_RAN;
  return { ...facts, activeState, subState, job, invocation };
}

/** Puts a reading together with what signals said since it began. */
export function readingUnder(signalled: UnitFacts, reading: UnitFacts): UnitFacts {
  const { id, names, description, loadState } = reading;
  return { ...signalled, id, names, description, loadState };
}
