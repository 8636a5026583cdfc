// What is known of a unit and of its run, and how readings and signals change it. Pure.
// PropertiesChanged carries a fixed set of properties each time, the Service's first and then the Unit's (observed, systemd 252). It
// never tells LoadState, Description and the like: those come from readings only.

import { type PropertyRecord, readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';

export interface RunFacts {
  readonly activeState: string;
  readonly subState: string;
  /** 32 hex digits; '' while the unit is not loaded or has never run. */
  readonly invocation: string;
  /** The path of its job, queued or running; '' for none. */
  readonly job: string;
  /** The service's `Result`; 'success' for a unit that has run well, has not run, or is no service. */
  readonly result: string;
  /** False only when a condition was really checked and not met: an unloaded unit says false by default. */
  readonly conditionMet: boolean;
  /**
   * The unit had failed, and systemd was told to forget that (`reset-failed`): `result` is not how its invocation ended. Known
   * for a unit that has stayed loaded.
   */
  readonly reset: boolean;
  /** How many times systemd has started the service again by itself since it was last started by other hands. */
  readonly restarts: number;
  /** When the unit last began to run, in ms since the epoch; undefined when that is not known. */
  readonly startedMs?: number;
}

export const NOTHING_RAN: RunFacts = {
  activeState: 'inactive',
  subState: 'dead',
  invocation: '',
  job: '',
  result: 'success',
  conditionMet: true,
  reset: false,
  restarts: 0,
};

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withRun(facts: RunFacts, record: PropertyRecord): RunFacts {
  const { ActiveState, SubState, InvocationID, Job, ...unit } = readProperties(UNIT_PROPERTIES, record);
  const { ConditionResult, ConditionTimestamp: checkedUs, InactiveExitTimestamp: startedUs } = unit;
  const { StateChangeTimestamp: changedUs, InactiveEnterTimestamp: restsUs } = unit;
  const { Result, NRestarts } = readProperties(SERVICE_PROPERTIES, record);
  const wasChecked = checkedUs !== undefined && checkedUs > 0;
  const hasStarted = startedUs !== undefined && startedUs > 0;
  const activeState = ActiveState ?? facts.activeState;
  return {
    ...facts,
    activeState,
    subState: SubState ?? facts.subState,
    invocation: InvocationID === undefined ? facts.invocation : Buffer.from(InvocationID).toString('hex'),
    job: Job === undefined ? facts.job : jobPath(Job),
    result: Result ?? facts.result,
    conditionMet: ConditionResult === undefined ? facts.conditionMet : ConditionResult || !wasChecked,
    // The step from `failed` to `inactive` is a change of state, but no end of work (measured, systemd 252).
    reset: changedUs === undefined ? facts.reset : activeState === 'inactive' && changedUs !== restsUs,
    restarts: NRestarts ?? facts.restarts,
    ...(hasStarted && { startedMs: Math.floor(Number(startedUs) / 1000) }),
  };
}

function jobPath([id, path]: readonly [number, string]): string {
  return id === 0 ? '' : path;
}

const AT_REST: readonly string[] = ['inactive', 'failed', 'maintenance'];

/** Whether the unit neither runs nor is on its way to it. */
export function isAtRest({ activeState }: Pick<RunFacts, 'activeState'>): boolean {
  return AT_REST.includes(activeState);
}

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
