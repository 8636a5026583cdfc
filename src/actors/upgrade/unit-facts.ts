// What is known of the upgrade unit, and what that means for a run. Pure.

import { readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';
import { isAtRest, NOTHING_RAN, type PropertyRecord, type RunFacts, withRun } from '../bus/units.js';

export interface UpgradeFacts extends RunFacts {
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

export const NO_FACTS: UpgradeFacts = { ...NOTHING_RAN, reset: false, restarts: 0 };

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
export function withProperties(facts: UpgradeFacts, record: PropertyRecord): UpgradeFacts {
  const { InactiveExitTimestamp: startedUs, ...unit } = readProperties(UNIT_PROPERTIES, record);
  const { NRestarts } = readProperties(SERVICE_PROPERTIES, record);
  const run = withRun(facts, record);
  const { StateChangeTimestamp: changedUs, InactiveEnterTimestamp: restsUs } = unit;
  const hasStarted = startedUs !== undefined && startedUs > 0;
  return {
    ...facts,
    ...run,
    // The step from `failed` to `inactive` is a change of state, but no end of work (measured, systemd 252).
    ...(changedUs !== undefined && { reset: run.activeState === 'inactive' && changedUs !== restsUs }),
    ...(hasStarted && { startedMs: Math.floor(Number(startedUs) / 1000) }),
    ...(NRestarts !== undefined && { restarts: NRestarts }),
  };
}

/** Of a unit at rest: whether its last invocation has ended well. */
export function hasEndedWell({ activeState, result, reset }: UpgradeFacts): boolean {
  return result === 'success' && activeState !== 'failed' && !reset;
}

type State = Pick<UpgradeFacts, 'activeState' | 'subState'>;

/** Whether the unit is at work now: starting, running, stopping, or waiting to be started again by systemd itself. */
export function isAtWork(state: State): boolean {
  return !isAtRest(state) && !isExited(state);
}

/** Whether the unit is at what it was started for: not at a stop or a reload, which are what is left of it. */
export function isUnderWay(state: State): boolean {
  return state.activeState === 'activating' || (state.activeState === 'active' && !isExited(state));
}

/** RemainAfterExit, and the only way for a oneshot to be active: the work is done, and remembered. */
export function isExited({ activeState, subState }: State): boolean {
  return activeState === 'active' && subState === 'exited';
}
