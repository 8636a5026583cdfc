// What a manager tells of its units and jobs, for every actor that follows some: a unit's run, and how jobs have ended. Pure.
// PropertiesChanged carries a fixed set of properties each time, the Service's first and then the Unit's (observed, systemd 252).

import { readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES } from '../../protocol/dbus/systemd.js';

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

/** A start-up of a user's session ends some dozens at once. */
const ENDS_MAX_JOBS = 256;

/**
 * How jobs of a manager have ended lately. A job may end before the reply that names it has been read (4 of 60, measured), so
 * that its end must be known by whoever asks a moment later.
 */
export class JobEnds {
  readonly #results = new Map<string, string>();

  /** JobRemoved: `job` is its path. The oldest end is forgotten when there are too many. */
  ended(job: string, result: string): void {
    this.#results.set(job, result);
    const [oldest] = this.#results.keys();
    if (this.#results.size > ENDS_MAX_JOBS && oldest !== undefined) this.#results.delete(oldest);
  }

  /** The result of a job that has ended lately. */
  resultOf(job: string): string | undefined {
    return this.#results.get(job);
  }

  /** The manager is another one: it counts its jobs from the beginning. */
  clear(): void {
    this.#results.clear();
  }
}
