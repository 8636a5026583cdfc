// The facts known of one manager's followed units: takes readings and signals, and returns the changed units.
// Pure: it reads nothing. systemd uses primary names, so an alias shows its unit. For each change systemd
// sends two signals, first with the properties of the Service, then with those of the Unit (systemd 252).
// They never contain LoadState, Description and the like: only readings do.

import { type PropertyRecord, readProperties } from '../../protocol/dbus/daemon.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES, unitPath } from '../../protocol/dbus/systemd.js';

export interface RunFacts {
  readonly activeState: string;
  readonly subState: string;
  /** 32 hex digits; '' while the unit is not loaded or has never run. */
  readonly invocation: string;
  /** The path of its job, queued or running; '' for none. */
  readonly job: string;
  /** The service's `Result`; 'success' also for a unit that has not run or is no service. */
  readonly result: string;
  /** False only if a condition was checked and not met: an unloaded unit reports false by default. */
  readonly conditionMet: boolean;
  /**
   * True if the unit had failed and was reset (`reset-failed`): then `result` is not how it ended. Only known
   * while it stays loaded.
   */
  readonly reset: boolean;
  /** How often systemd has restarted the service by itself since its last start by others. */
  readonly restarts: number;
  /** When the unit last began to run, in ms since the epoch; undefined if unknown. */
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

/** Signals bring the facts of a run: a signal that came during a reading is never older than the reading. */
export interface UnitFacts extends RunFacts {
  // Only readings bring the following.
  /** The primary name, which systemd uses for the unit. */
  readonly id: string;
  readonly names: readonly string[];
  readonly description: string;
  readonly loadState: string;
}

export function unknownUnit(name: string): UnitFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/** Applies properties of the interface Unit, Service, or both. Facts that the record lacks stay. */
export function withProperties(facts: UnitFacts, record: PropertyRecord): UnitFacts {
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
    ...(Job !== undefined && { job: Job[0] === 0 ? '' : Job[1] }),
    result: Result ?? facts.result,
    conditionMet: ConditionResult === undefined ? facts.conditionMet : ConditionResult || !wasChecked,
    // The step from `failed` to `inactive` changes the time of the state, but not the time at which the work
    // ended (systemd 252).
    reset: changedUs === undefined ? facts.reset : activeState === 'inactive' && changedUs !== restsUs,
    restarts: NRestarts ?? facts.restarts,
    ...(hasStarted && { startedMs: Math.floor(Number(startedUs) / 1000) }),
    id: unit.Id ?? facts.id,
    names: unit.Names ?? facts.names,
    description: unit.Description ?? facts.description,
    loadState: unit.LoadState ?? facts.loadState,
  };
}

const AT_REST: readonly string[] = ['inactive', 'failed', 'maintenance'];

/** True if the unit neither runs nor is about to. */
export function isAtRest({ activeState }: Pick<RunFacts, 'activeState'>): boolean {
  return AT_REST.includes(activeState);
}

export interface FileReading {
  /** The unit file state; undefined without a unit file, or if unknown. */
  readonly state: string | undefined;
  /** Why the state is unknown; this concerns only this unit. */
  readonly problem?: string;
  /** Increases with each request. The reply to an earlier request may arrive after that to a later one. */
  readonly requestNumber: number;
}

export interface FollowedUnit {
  /** The name that it is followed by: any of its names. */
  readonly name: string;
  /** From the last reading and the signals since. */
  readonly facts: UnitFacts;
  readonly file: FileReading;
  /** False until the first reading. */
  readonly known: boolean;
}

interface Entry {
  unit: FollowedUnit;
  path: string;
  /** Counts signals about the unit's run: a reading that began before one of them is older than it. */
  signalCount: number;
  /**
   * True if it was loaded and at rest though its file was reported missing, as with a broken link to a
   * drop-in.
   */
  needsNoFile: boolean;
}

export class UnitTable {
  readonly names: readonly string[];
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#entries = new Map(
      names.map((name) => {
        const unit = {
          name,
          facts: unknownUnit(name),
          file: { state: undefined, requestNumber: 0 },
          known: false,
        };
        return [name, { unit, path: unitPath(name), signalCount: 0, needsNoFile: false }];
      }),
    );
  }

  units(): readonly FollowedUnit[] {
    return [...this.#entries.values()].map(({ unit }) => unit);
  }

  unit(name: string): FollowedUnit | undefined {
    return this.#entries.get(name)?.unit;
  }

  /** Taken when a reading begins, and passed to `read` at its end. */
  mark(name: string): number {
    return this.#entries.get(name)?.signalCount ?? 0;
  }

  read(name: string, mark: number, properties: PropertyRecord, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { facts } = entry.unit;
    // A reading is complete: what it lacks no longer exists. Only the result of a run comes from signals
    // alone.
    const reading = withProperties({ ...unknownUnit(name), result: facts.result }, properties);
    const { id, names, description, loadState } = reading;
    // A reply that was overtaken by a signal may be older; anything newer in it comes as another signal.
    const merged = entry.signalCount === mark ? reading : { ...facts, id, names, description, loadState };
    entry.unit = { ...entry.unit, facts: merged, known: true };
    takeFile(entry, file);
    entry.needsNoFile = file.state === undefined && loadState === 'loaded' && isAtRest(reading);
    entry.path = unitPath(id);
  }

  changed(path: string, properties: PropertyRecord): readonly FollowedUnit[] {
    return this.#applySignal(
      (entry) => entry.path === path,
      (facts) => withProperties(facts, properties),
    );
  }

  /**
   * Applies UnitRemoved, which also follows readings of an unloaded unit: that one is at rest, and the result
   * of its run is kept.
   */
  removed(id: string): readonly FollowedUnit[] {
    const { activeState, subState, job, invocation } = NOTHING_RAN;
    return this.#applySignal(
      ({ unit }) => unit.facts.id === id,
      (facts) => ({ ...facts, activeState, subState, job, invocation }),
    );
  }

  /** Applies a file state; an unloaded unit without a file no longer exists. */
  file(name: string, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || !takeFile(entry, file)) return;
    const { unit } = entry;
    const isMissing = file.state === undefined && file.problem === undefined && !entry.needsNoFile;
    const gone = isMissing && unit.facts.activeState === 'inactive';
    if (gone) entry.unit = { ...unit, facts: { ...unit.facts, loadState: 'not-found' } };
  }

  #applySignal(which: (entry: Entry) => boolean, change: (facts: UnitFacts) => UnitFacts): FollowedUnit[] {
    const entries = [...this.#entries.values()].filter(which);
    return entries.map((entry) => {
      entry.signalCount += 1;
      entry.unit = { ...entry.unit, facts: change(entry.unit.facts) };
      return entry.unit;
    });
  }
}

/** False if the reply is older than the present file state. */
function takeFile(entry: Entry, file: FileReading): boolean {
  if (file.requestNumber < entry.unit.file.requestNumber) return false;
  entry.unit = { ...entry.unit, file };
  return true;
}
