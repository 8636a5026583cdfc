// What systemd tells of a unit's run, and how its properties change what is known. Pure.
// PropertiesChanged carries a fixed set of properties each time, the Service's first and then the Unit's (observed, systemd 252).

import { readProperties } from '../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../protocol/dbus/systemd.js';

export type PropertyRecord = Readonly<Record<string, unknown>>;

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
}

export const NOTHING_RAN: RunFacts = {
  activeState: 'inactive',
  subState: 'dead',
  invocation: '',
  job: '',
  result: 'success',
  conditionMet: true,
};

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withRun(facts: RunFacts, record: PropertyRecord): RunFacts {
  const { ActiveState, SubState, InvocationID, Job, ...unit } = readProperties(UNIT_PROPERTIES, record);
  const { ConditionResult, ConditionTimestamp: checkedUs } = unit;
  const { Result } = readProperties(SERVICE_PROPERTIES, record);
  const wasChecked = checkedUs !== undefined && checkedUs > 0;
  return {
    activeState: ActiveState ?? facts.activeState,
    subState: SubState ?? facts.subState,
    invocation: InvocationID === undefined ? facts.invocation : Buffer.from(InvocationID).toString('hex'),
    job: Job === undefined ? facts.job : jobPath(Job),
    result: Result ?? facts.result,
    conditionMet: ConditionResult === undefined ? facts.conditionMet : ConditionResult || !wasChecked,
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
