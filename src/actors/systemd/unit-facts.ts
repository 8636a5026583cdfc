// What is known of one unit, and how readings and signals change it. Pure.
// PropertiesChanged carries a fixed set of properties each time: ActiveState and the like, never LoadState or Description.

import { readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';

export type PropertyRecord = Readonly<Record<string, unknown>>;

/** What signals tell: a signal that came since a reading began is never older than the reading. */
export interface RunFacts {
  readonly activeState: string;
  readonly subState: string;
  /** 32 hex digits; '' while the unit is not loaded or has never run. */
  readonly invocation: string;
  /** The path of its job, queued or running; '' for none. */
  readonly job: string;
  /** False only when a condition was really checked and not met: an unloaded unit says false by default. */
  readonly conditionMet: boolean;
  /** The service's `Result`. */
  readonly result: string;
}

/** What only a reading tells. */
export interface FileFacts {
  /** The primary name, under which systemd speaks of the unit. */
  readonly id: string;
  readonly names: readonly string[];
  readonly description: string;
  readonly loadState: string;
}

export interface UnitFacts extends RunFacts, FileFacts {}

const NOTHING_RAN: RunFacts = {
  activeState: 'inactive',
  subState: 'dead',
  invocation: '',
  job: '',
  conditionMet: true,
  result: 'success',
};

/** A unit of which nothing has been heard. */
export function unknownUnit(name: string): UnitFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withProperties(facts: UnitFacts, record: PropertyRecord): UnitFacts {
  const { Id, Names, Description, LoadState, ActiveState, SubState, InvocationID, Job, ConditionResult } =
    readProperties(UNIT_PROPERTIES, record);
  const { Result } = readProperties(SERVICE_PROPERTIES, record);
  const checkedAt = record['ConditionTimestamp'];
  return {
    id: Id ?? facts.id,
    names: Names ?? facts.names,
    description: Description ?? facts.description,
    loadState: LoadState ?? facts.loadState,
    activeState: ActiveState ?? facts.activeState,
    subState: SubState ?? facts.subState,
    invocation: InvocationID === undefined ? facts.invocation : Buffer.from(InvocationID).toString('hex'),
    job: Job === undefined ? facts.job : jobPath(Job),
    conditionMet: ConditionResult === undefined ? facts.conditionMet : ConditionResult || !isTime(checkedAt),
    result: Result ?? facts.result,
  };
}

function jobPath([id, path]: readonly [number, string]): string {
  return id === 0 ? '' : path;
}

/** systemd's 0 is never. A bigint would be a time, too. */
function isTime(value: unknown): boolean {
  return (typeof value === 'number' || typeof value === 'bigint') && value > 0;
}

/** A unit that systemd has let go of is at rest by definition; how its run ended stays known. */
export function unloaded(facts: UnitFacts): UnitFacts {
  return { ...facts, activeState: 'inactive', subState: 'dead', job: '', invocation: '' };
}

/** Puts a reading together with what signals said since it began. */
export function readingUnder(signalled: RunFacts, reading: UnitFacts): UnitFacts {
  const { activeState, subState, invocation, job, conditionMet, result } = signalled;
  return { ...reading, activeState, subState, invocation, job, conditionMet, result };
}

const AT_REST: readonly string[] = ['inactive', 'failed', 'maintenance'];
const PASSING: readonly string[] = ['activating', 'deactivating', 'reloading', 'refreshing'];

export function isAtRest({ activeState }: RunFacts): boolean {
  return AT_REST.includes(activeState);
}

/** Whether the state is about to change by itself. */
export function isPassing({ activeState }: RunFacts): boolean {
  return PASSING.includes(activeState);
}
