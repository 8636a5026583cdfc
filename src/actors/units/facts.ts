// What is known of the followed units of one manager: readings and signals go in, the units that they changed come out. Pure: it
// reads nothing itself. systemd speaks of units by primary name, so that an alias shows the unit behind it.
// PropertiesChanged carries a fixed set of properties each time, the Service's first and then the Unit's (observed, systemd 252). It
// never tells LoadState, Description and the like: those come from readings only.

import { type PropertyRecord, readProperties } from '../../protocol/dbus/properties.js';
import { SERVICE_PROPERTIES, UNIT_PROPERTIES, unitPath } from '../../protocol/dbus/systemd.js';

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

/** Signals tell the facts of its run: one that came since a reading began is never older than the reading. */
export interface UnitFacts extends RunFacts {
  // What only a reading tells.
  /** The primary name, under which systemd speaks of the unit. */
  readonly id: string;
  readonly names: readonly string[];
  readonly description: string;
  readonly loadState: string;
}

/** A unit of which nothing has been heard. */
export function unknownUnit(name: string): UnitFacts {
  return { ...NOTHING_RAN, id: name, names: [name], description: '', loadState: '' };
}

/** The facts as properties change them; of the interface Unit, Service, or both. What the record lacks stays. */
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
    job: Job === undefined ? facts.job : jobPath(Job),
    result: Result ?? facts.result,
    conditionMet: ConditionResult === undefined ? facts.conditionMet : ConditionResult || !wasChecked,
    // The step from `failed` to `inactive` is a change of state, but no end of work (measured, systemd 252).
    reset: changedUs === undefined ? facts.reset : activeState === 'inactive' && changedUs !== restsUs,
    restarts: NRestarts ?? facts.restarts,
    ...(hasStarted && { startedMs: Math.floor(Number(startedUs) / 1000) }),
    id: unit.Id ?? facts.id,
    names: unit.Names ?? facts.names,
    description: unit.Description ?? facts.description,
    loadState: unit.LoadState ?? facts.loadState,
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

/** One followed unit. */
export interface FollowedUnit {
  /** As it was asked for: any of its names. */
  readonly name: string;
  /** As of the last reading and the signals since. */
  readonly facts: UnitFacts;
  /** The unit file state; undefined without a unit file, or where it cannot be told. */
  readonly fileState: string | undefined;
  /** Why it cannot be told: another unit's files are no better or worse for it. */
  readonly fileTrouble?: string | undefined;
  /** False until the first reading. */
  readonly known: boolean;
}

/** `asked` grows from question to question: an answer may be taken in behind that to a later question. */
export interface FileReading {
  readonly state: string | undefined;
  /** What the manager has against the unit's files. */
  readonly trouble?: string;
  readonly asked: number;
}

interface Entry {
  unit: FollowedUnit;
  /** The path of the unit's object. */
  path: string;
  /** Signals heard about the unit's run: a reading that began before one of them is older than it. */
  heard: number;
  /** The question whose answer the file state is. */
  fileAsked: number;
  /** It was loaded from rest though its file was said to be missing, as where a drop-in leads nowhere. */
  needsNoFile: boolean;
}

export class UnitTable {
  readonly names: readonly string[];
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(names: readonly string[]) {
    this.names = names;
    this.#entries = new Map(
      names.map((name) => {
        const unit = { name, facts: unknownUnit(name), fileState: undefined, known: false };
        return [name, { unit, path: unitPath(name), heard: 0, fileAsked: 0, needsNoFile: false }];
      }),
    );
  }

  units(): readonly FollowedUnit[] {
    return this.#of(() => true).map(({ unit }) => unit);
  }

  unit(name: string): FollowedUnit | undefined {
    return this.#entries.get(name)?.unit;
  }

  /** What is followed of one of systemd's units: more than one when an alias of it is followed too. */
  unitsOf(id: string): readonly FollowedUnit[] {
    return this.#of(({ unit }) => unit.facts.id === id).map(({ unit }) => unit);
  }

  /** What to hand to `read` at the end of a reading that begins now. */
  mark(name: string): number {
    return this.#entries.get(name)?.heard ?? 0;
  }

  /** Takes a reading in. */
  read(name: string, mark: number, properties: PropertyRecord, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined) return;
    const { facts } = entry.unit;
    // From the ground up: a reading is whole, and what it lacks is no longer so. The result of a run is only in signals.
    const reading = withProperties({ ...unknownUnit(name), result: facts.result }, properties);
    const { id, names, description, loadState } = reading;
    // A reply that was overtaken by a signal may be older than it, and what it may know better comes as a signal again.
    const merged = entry.heard === mark ? reading : { ...facts, id, names, description, loadState };
    entry.unit = { ...entry.unit, facts: merged, known: true };
    takeFile(entry, file);
    entry.needsNoFile = file.state === undefined && loadState === 'loaded' && isAtRest(reading);
    entry.path = unitPath(id);
  }

  /** PropertiesChanged of a unit's object. */
  changed(path: string, properties: PropertyRecord): readonly FollowedUnit[] {
    return this.#hear(
      (entry) => entry.path === path,
      (facts) => withProperties(facts, properties),
    );
  }

  /**
   * UnitRemoved, which also follows every reading of a unit that is not loaded. What systemd has let go of is at rest by
   * definition; how its run ended stays known.
   */
  removed(id: string): readonly FollowedUnit[] {
    const { activeState, subState, job, invocation } = NOTHING_RAN;
    return this.#hear(
      ({ unit }) => unit.facts.id === id,
      (facts) => ({ ...facts, activeState, subState, job, invocation }),
    );
  }

  /** Takes a file state in; without a file, a unit that is not loaded does not exist any more. */
  file(name: string, file: FileReading): void {
    const entry = this.#entries.get(name);
    if (entry === undefined || !takeFile(entry, file)) return;
    const { unit } = entry;
    const isMissing = file.state === undefined && file.trouble === undefined && !entry.needsNoFile;
    const gone = isMissing && unit.facts.activeState === 'inactive';
    if (gone) entry.unit = { ...unit, facts: { ...unit.facts, loadState: 'not-found' } };
  }

  #hear(which: (entry: Entry) => boolean, change: (facts: UnitFacts) => UnitFacts): readonly FollowedUnit[] {
    return this.#of(which).map((entry) => {
      entry.heard += 1;
      entry.unit = { ...entry.unit, facts: change(entry.unit.facts) };
      return entry.unit;
    });
  }

  #of(which: (entry: Entry) => boolean): readonly Entry[] {
    return [...this.#entries.values()].filter(which);
  }
}

/** False for an answer that is older than the one that there is. */
function takeFile(entry: Entry, { state, trouble, asked }: FileReading): boolean {
  if (asked < entry.fileAsked) return false;
  entry.fileAsked = asked;
  entry.unit = { ...entry.unit, fileState: state, fileTrouble: trouble };
  return true;
}
