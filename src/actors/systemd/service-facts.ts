// What is known of one listed unit, and how readings and signals change it. Pure.
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
export interface ServiceFacts extends RunFacts, FileFacts {}

/** A unit of which nothing has been heard. */
export function unknownUnit(name: string): ServiceFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withProperties(facts: ServiceFacts, record: PropertyRecord): ServiceFacts {
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
export function unloaded(facts: ServiceFacts): ServiceFacts {
  const { activeState, subState, job, invocation } = NOTHING_RAN;
  return { ...facts, activeState, subState, job, invocation };
}

/** Puts a reading together with what signals said since it began. */
export function readingUnder(signalled: RunFacts, reading: ServiceFacts): ServiceFacts {
  const { activeState, subState, invocation, job, conditionMet, result } = signalled;
  return { ...reading, activeState, subState, invocation, job, conditionMet, result };
}

const PASSING: readonly string[] = ['activating', 'deactivating', 'reloading', 'refreshing'];

/** Whether the state is about to change by itself. */
export function isPassing({ activeState }: RunFacts): boolean {
  return PASSING.includes(activeState);
}
