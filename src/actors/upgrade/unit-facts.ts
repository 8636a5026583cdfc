// What is known of the upgrade unit, and what that means for a run. Pure.
// PropertiesChanged carries a fixed set of properties each time, first the Service's, then the Unit's (observed, systemd 252).

import { type Properties, readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';

export interface UnitFacts {
  readonly activeState: string;
  readonly subState: string;
  /** 32 hex digits; '' while the unit is not loaded or has never run. */
  readonly invocation: string;
  /** A job of the unit is queued or runs. */
  readonly job: boolean;
  /** The service's `Result`; 'success' for a unit that has run well, has not run, or is no service. */
  readonly result: string;
  /** The unit is forgotten as soon as it ends, even when it failed (CollectMode=inactive-or-failed). */
  readonly forgotten: boolean;
  /** When the unit last began to run, in ms since the epoch; undefined when that is not known. */
  readonly startedMs?: number;
}

export const NO_FACTS: UnitFacts = {
  activeState: 'inactive',
  subState: 'dead',
  invocation: '',
  job: false,
  result: 'success',
  forgotten: false,
};

export type PropertyRecord = Readonly<Record<string, unknown>>;

/** The facts as properties of the interface Unit change them. */
export function withUnit(facts: UnitFacts, record: PropertyRecord): UnitFacts {
  const known: Properties<typeof UNIT_PROPERTIES> = readProperties(UNIT_PROPERTIES, record);
  const { ActiveState, SubState, InvocationID, Job } = known;
  const startedUs = record['InactiveExitTimestamp'];
  const collect = record['CollectMode'];
  return {
    ...facts,
    ...(ActiveState !== undefined && { activeState: ActiveState }),
    ...(SubState !== undefined && { subState: SubState }),
    ...(InvocationID !== undefined && { invocation: Buffer.from(InvocationID).toString('hex') }),
    ...(Job !== undefined && { job: Job[0] !== 0 }),
    ...(typeof startedUs === 'number' && startedUs > 0 && { startedMs: Math.floor(startedUs / 1000) }),
    ...(typeof collect === 'string' && { forgotten: collect === 'inactive-or-failed' }),
  };
}

/** The facts as properties of the interface Service change them. */
export function withService(facts: UnitFacts, record: PropertyRecord): UnitFacts {
  const { Result } = readProperties(SERVICE_PROPERTIES, record);
  return { ...facts, ...(Result !== undefined && { result: Result }) };
}

const AT_REST: readonly string[] = ['inactive', 'failed', 'maintenance'];

/** Whether the unit is at work now: starting, running or stopping, but not waiting to be started once more. */
export function isAtWork({ activeState, subState }: Pick<UnitFacts, 'activeState' | 'subState'>): boolean {
  return (
    !AT_REST.includes(activeState) &&
    !subState.startsWith('auto-restart') &&
    !isExited({ activeState, subState })
  );
}

/** RemainAfterExit, and the only way for a oneshot to be active: the work is done, and remembered. */
export function isExited({ activeState, subState }: Pick<UnitFacts, 'activeState' | 'subState'>): boolean {
  return activeState === 'active' && subState === 'exited';
}
