// Decides from readings and signals what is known of units. All units of a `UnitTable` have the same manager:
// the system's systemd or a user's. Pure.

import { type PropertyRecord, readProperties } from '../../protocol/dbus/daemon.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES, unitPath } from '../../protocol/dbus/systemd.js';

export interface RunFacts {
  readonly activeState: string;
  readonly subState: string;
  /** 32 hex digits; '' while the unit is not loaded or has never run. */
  readonly invocation: string;
  /** The path of the unit's job, queued or running; '' for none. */
  readonly job: string;
  /** The service's `Result`; 'success' also for a unit that has not run or is no service. */
  readonly result: string;
  /**
   * False if conditions were checked and not met, else true. systemd's own value is also false before the
   * first check, for example while the unit is not loaded.
   */
  readonly isConditionMet: boolean;
  /**
   * True if the unit had failed and was reset (`reset-failed`). Then `result` is no longer the result of the
   * failed run. A reset is known only while the unit stays loaded.
   */
  readonly wasReset: boolean;
  /**
   * True for a service of the type `oneshot`, or if the type is unknown. The start of a oneshot service is
   * done only when its program has ended. The start of any other service is done while its program runs.
   */
  readonly isOneshot: boolean;
  /** How often systemd has restarted the service by itself since the last start by anybody else. */
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
  isConditionMet: true,
  wasReset: false,
  isOneshot: true,
  restarts: 0,
};

/** The facts of the run, and facts that come only by readings, not by signals. */
export interface UnitFacts extends RunFacts {
  /** The primary name. systemd uses this name even if the unit is followed under an alias. */
  readonly id: string;
  readonly names: readonly string[];
  readonly description: string;
  readonly loadState: string;
}

export function unknownUnit(name: string): UnitFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/**
 * `properties` belong to the interface Unit, to the interface Service, or to both. A fact stays as it is if
 * `properties` has no value for it.
 */
export function updatedFacts(facts: UnitFacts, properties: PropertyRecord): UnitFacts {
  const unit = readProperties(UNIT_PROPERTIES, properties);
  const service = readProperties(SERVICE_PROPERTIES, properties);
  const { InvocationID, Job, ConditionResult } = unit;
  const checkedUs = unit.ConditionTimestamp;
  const startedUs = unit.InactiveExitTimestamp;
  const stateChangedUs = unit.StateChangeTimestamp;
  const endedUs = unit.InactiveEnterTimestamp;
  const wasChecked = checkedUs !== undefined && checkedUs > 0;
  const hasStarted = startedUs !== undefined && startedUs > 0;
  const activeState = unit.ActiveState ?? facts.activeState;
  const isMetNow = ConditionResult === true || !wasChecked;
  // When a run ends, StateChangeTimestamp and InactiveEnterTimestamp become the same. A later reset, from
  // `failed` to `inactive`, changes only StateChangeTimestamp (systemd 252).
  const isResetNow = activeState === 'inactive' && stateChangedUs !== endedUs;
  return {
    ...facts,
    activeState,
    subState: unit.SubState ?? facts.subState,
    invocation: InvocationID === undefined ? facts.invocation : Buffer.from(InvocationID).toString('hex'),
    job: Job === undefined ? facts.job : jobPath(Job),
    result: service.Result ?? facts.result,
    isConditionMet: ConditionResult === undefined ? facts.isConditionMet : isMetNow,
    wasReset: stateChangedUs === undefined ? facts.wasReset : isResetNow,
    isOneshot: service.Type === undefined ? facts.isOneshot : service.Type === 'oneshot',
    restarts: service.NRestarts ?? facts.restarts,
    ...(hasStarted && { startedMs: Math.floor(Number(startedUs) / 1000) }),
    id: unit.Id ?? facts.id,
    names: unit.Names ?? facts.names,
    description: unit.Description ?? facts.description,
    loadState: unit.LoadState ?? facts.loadState,
  };
}

/** The number 0 means that there is no job. The result is '' then. */
function jobPath([number, path]: readonly [number: number, path: string]): string {
  return number === 0 ? '' : path;
}

const AT_REST: readonly string[] = ['inactive', 'failed', 'maintenance'];

/** True if the unit does not run, and is not about to run. */
export function isAtRest({ activeState }: Pick<RunFacts, 'activeState'>): boolean {
  return AT_REST.includes(activeState);
}

/** A reading of a unit file's state. */
export interface FileReading {
  /** Undefined without a unit file, or if the state is unknown. */
  readonly state: string | undefined;
  /** Why the state is unknown. The reason concerns only this unit. */
  readonly problem?: string;
  /** Increases with each request, because replies may come in another order than their requests. */
  readonly requestNumber: number;
}

export interface FollowedUnit {
  /** The name under which the unit is followed, perhaps an alias. */
  readonly name: string;
  /** The facts of the last reading, and of the signals since then. */
  readonly facts: UnitFacts;
  readonly file: FileReading;
  /** True after the first reading. */
  readonly isKnown: boolean;
}

/**
 * True if the unit must be reset (`reset-failed`) before its start. systemd refuses to start a unit that was
 * started too often (StartLimitBurst=), until much time has passed or the unit is reset. After a reset
 * systemd may unload the unit. So a unit without a lasting file is not reset: it could not be loaded again.
 */
export function mustResetBeforeStart(unit: FollowedUnit | undefined): boolean {
  if (unit?.facts.activeState !== 'failed') return false;
  return unit.file.state !== undefined && unit.file.state !== 'transient';
}

interface FollowedUnitEntry {
  unit: FollowedUnit;
  path: string;
  /** Counts signals about the run, so that a reading can find out whether a signal has come meanwhile. */
  signalCount: number;
  /**
   * True if the last reading found the unit loaded and at rest, but found no file of it. A broken link to a
   * drop-in causes such a reading. While this is true, a missing file does not mean that the unit is gone.
   */
  isLoadedWithoutFile: boolean;
}

export class UnitTable {
  readonly names: readonly string[];
  readonly #entries: ReadonlyMap<string, FollowedUnitEntry>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#entries = new Map(
      names.map((name) => {
        const unit = {
          name,
          facts: unknownUnit(name),
          file: { state: undefined, requestNumber: 0 },
          isKnown: false,
        };
        return [name, { unit, path: unitPath(name), signalCount: 0, isLoadedWithoutFile: false }];
      }),
    );
  }

  units(): readonly FollowedUnit[] {
    return [...this.#entries.values()].map(({ unit }) => unit);
  }

  unit(name: string): FollowedUnit | undefined {
    return this.#entries.get(name)?.unit;
  }

  /** To be called when a reading begins. The count is passed to `applyReading` at the end of the reading. */
  signalCount(name: string): number {
    return this.#entries.get(name)?.signalCount ?? 0;
  }

  /** `countBefore` is the `signalCount` from the beginning of the reading. */
  applyReading(name: string, countBefore: number, properties: PropertyRecord, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { facts } = entry.unit;
    // A fact that a reading lacks is not known any more. Only the result stays, because readings bring the
    // facts of a service only for the interest `verdicts` (unit-reader.ts). For the interest `runs`, signals
    // bring the result, and no other fact of a service is used.
    const reading = updatedFacts({ ...unknownUnit(name), result: facts.result }, properties);
    const { id, names, description, loadState } = reading;
    // If a signal has come during the reading, the values that were read may be older than the signal's. The
    // facts of the run then stay as the signal has set them. A later change brings another signal.
    const wasOvertaken = entry.signalCount !== countBefore;
    const merged = wasOvertaken ? { ...facts, id, names, description, loadState } : reading;
    entry.unit = { ...entry.unit, facts: merged, isKnown: true };
    replaceFile(entry, file);
    entry.isLoadedWithoutFile = file.state === undefined && loadState === 'loaded' && isAtRest(reading);
    entry.path = unitPath(id);
  }

  /** Applies the signal PropertiesChanged of the object at `path`. The returned units may have changed. */
  applyProperties(path: string, properties: PropertyRecord): readonly FollowedUnit[] {
    return this.#applySignal(
      (entry) => entry.path === path,
      (facts) => updatedFacts(facts, properties),
    );
  }

  /**
   * Applies the signal UnitRemoved: systemd has unloaded a unit. Only units at rest are unloaded. The result
   * of the unit's run stays known. The signal also follows each reading of an unloaded unit, and then changes
   * no fact.
   */
  applyRemoval(id: string): readonly FollowedUnit[] {
    const { activeState, subState, job, invocation } = NOTHING_RAN;
    return this.#applySignal(
      ({ unit }) => unit.facts.id === id,
      (facts) => ({ ...facts, activeState, subState, job, invocation }),
    );
  }

  /** Applies a reading of the unit file's state. An inactive unit without a file no longer exists. */
  applyFile(name: string, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const wasReplaced = replaceFile(entry, file);
    if (!wasReplaced) return;
    const { unit } = entry;
    const hasNoFile = file.state === undefined && file.problem === undefined;
    const isGone = hasNoFile && !entry.isLoadedWithoutFile && unit.facts.activeState === 'inactive';
    if (isGone) entry.unit = { ...unit, facts: { ...unit.facts, loadState: 'not-found' } };
  }

  #applySignal(
    isAbout: (entry: FollowedUnitEntry) => boolean,
    change: (facts: UnitFacts) => UnitFacts,
  ): readonly FollowedUnit[] {
    const entries = [...this.#entries.values()].filter(isAbout);
    return entries.map((entry) => {
      entry.signalCount += 1;
      entry.unit = { ...entry.unit, facts: change(entry.unit.facts) };
      return entry.unit;
    });
  }
}

/** Returns false, and replaces nothing, if the entry's reading was requested after `file`. */
function replaceFile(entry: FollowedUnitEntry, file: FileReading): boolean {
  if (file.requestNumber < entry.unit.file.requestNumber) return false;
  entry.unit = { ...entry.unit, file };
  return true;
}
