// Makes a follower's calls to its manager, which change nothing: decides what is subscribed to, and reads
// units, in groups because a connection allows only 256 calls at a time. A manager sends signals only after a
// call of Subscribe. A reading of an unloaded unit makes the manager send UnitNew and UnitRemoved, so these
// signals must not cause another reading of the unit.

import { success } from '../../protocol/actor/result.js';
import { PROPERTIES_CHANGED } from '../../protocol/dbus/daemon.js';
import type { Match } from '../../protocol/dbus/method.js';
import {
  MANAGER_INTERFACE,
  SYSTEMD_ERRORS,
  SYSTEMD_METHODS,
  SYSTEMD_NAME,
  SYSTEMD_PATH,
  UNIT_INTERFACE,
  UNIT_PATHS,
  unitPath,
} from '../../protocol/dbus/systemd.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, busErrorText, isAbsence } from '../bus/fault.js';
import { SharedWork } from '../turns.js';
import type { FileReading, UnitTable } from './facts.js';

/** A bus of either kind. TypeScript allows only calls on it that change nothing. */
export type ReadingBus = Pick<Bus<'units'> | Bus<'none'>, 'call' | 'watch' | 'stop'>;

/**
 * The knowledge of each unit that a follower's owner needs. `state`: its state. `runs`: also the ends of runs
 * and jobs. `verdicts`: also each change during a reload, and how a run has ended that was not followed.
 */
export type Interest = 'state' | 'runs' | 'verdicts';

/**
 * Each unit has two rules of its own, and a bus refuses more than 512 rules of one connection. For more
 * units, there are rules for all units of the manager.
 */
const SINGLE_MAX_UNITS = 100;

const DONE: BusResult<undefined> = success(undefined);

const MANAGER: Match = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: MANAGER_INTERFACE };
const { interface: iface, member } = PROPERTIES_CHANGED;
const PROPERTIES: Match = { sender: SYSTEMD_NAME, interface: iface, member };

/**
 * The match rules for units, by any of their names. A start, a restart and a stop of one unit cost 17 kB of
 * messages with rules of its own, and 38 kB with rules for all units.
 */
export function unitRules(interest: Interest, names: readonly string[]): readonly Match[] {
  const ofInterface = interest === 'state' ? { arg0: UNIT_INTERFACE } : {};
  const removed: Match = { ...MANAGER, member: 'UnitRemoved' };
  if (names.length > SINGLE_MAX_UNITS)
    return [removed, { ...PROPERTIES, ...ofInterface, path_namespace: UNIT_PATHS }];
  return names.flatMap((name) => [
    { ...removed, arg0: name },
    { ...PROPERTIES, ...ofInterface, path: unitPath(name) },
  ]);
}

/** Subscribes to units and the manager. Resolves to the first error, after which no signals will come. */
export async function subscribe(
  bus: ReadingBus,
  interest: Interest,
  names: readonly string[],
): Promise<BusResult<undefined>> {
  const members = ['Reloading', 'UnitFilesChanged', ...(interest === 'state' ? [] : ['JobRemoved'])];
  const managerRules = members.map((each) => ({ ...MANAGER, member: each }));
  const watched = await watchAll(bus, [...managerRules, ...unitRules(interest, names)]);
  if (!watched.ok) return watched;
  const subscribed = await bus.call(SYSTEMD_METHODS.subscribe, []);
  if (subscribed.ok) return DONE;
  const { error } = subscribed;
  const isAlreadySubscribed = error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.alreadySubscribed;
  return isAlreadySubscribed ? DONE : subscribed;
}

/** Adds match rules, for a manager that sends signals already. Resolves to the first error. */
export async function watchAll(bus: ReadingBus, rules: readonly Match[]): Promise<BusResult<undefined>> {
  const results = await Promise.all(rules.map((rule) => bus.watch(rule)));
  return results.find(({ ok }) => !ok) ?? DONE;
}

/** Each reading takes at most two calls. */
const READINGS_AT_ONCE = 8;

/** Resolves to the first error, after which further units are not read. */
type ReadUnits = (names: readonly string[]) => Promise<BusResult<undefined>>;
type ReadUnit = (name: string) => Promise<BusResult<undefined>>;

/** Reads units into the table. */
export class UnitReader {
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;
  /** The interface whose properties are read; '' for all. */
  readonly #interface: string;
  #lastRequest = 0;

  /** Resolves when readings that began after this call have been applied. */
  readonly units: ReadUnits;
  /**
   * Reads only the states of the unit files. This loads no unit, and is right even if the manager has not
   * reloaded since a file was changed.
   */
  readonly files: ReadUnits;

  /** `iface` is the interface whose properties are read; '' means those of the unit and of its type. */
  constructor(bus: ReadingBus, table: UnitTable, iface: string) {
    this.#bus = bus;
    this.#table = table;
    this.#interface = iface;
    this.units = inGroups(table.names, (name) => this.#readUnit(name));
    this.files = inGroups(table.names, (name) => this.#readFile(name));
  }

  async #readUnit(name: string): Promise<BusResult<undefined>> {
    const signalCount = this.#table.signalCount(name);
    const [properties, file] = await Promise.all([
      this.#bus.call(SYSTEMD_METHODS.getAll, [this.#interface], { path: unitPath(name) }),
      this.#fileState(name),
    ]);
    if (!file.ok) return file;
    if (!properties.ok && !isAboutOneUnit(properties.error)) return properties;
    this.#table.applyReading(name, signalCount, properties.ok ? properties.value : {}, file.value);
    return DONE;
  }

  async #readFile(name: string): Promise<BusResult<undefined>> {
    const file = await this.#fileState(name);
    if (!file.ok) return file;
    this.#table.applyFile(name, file.value);
    return DONE;
  }

  async #fileState(name: string): Promise<BusResult<FileReading>> {
    this.#lastRequest += 1;
    const requestNumber = this.#lastRequest;
    const answer = await this.#bus.call(SYSTEMD_METHODS.getUnitFileState, [name]);
    if (answer.ok) return success({ state: answer.value || undefined, requestNumber });
    const { error } = answer;
    if (error.kind !== 'dbus' || isAbsence(error)) return answer;
    // Any other error is about this unit's files: a folder, a link to itself, a line that is too long.
    const isMissing = error.name === SYSTEMD_ERRORS.fileNotFound;
    return success({ state: undefined, requestNumber, ...(!isMissing && { problem: busErrorText(error) }) });
  }
}

/**
 * Makes a function that reads some units at a time. Calls for a unit that come while it is read share the
 * next reading.
 */
function inGroups(allNames: readonly string[], read: ReadUnit): ReadUnits {
  const readings = new Map(allNames.map((name) => [name, new SharedWork(() => read(name))]));
  return async (names) => {
    for (let first = 0; first < names.length; first += READINGS_AT_ONCE) {
      const group = names.slice(first, first + READINGS_AT_ONCE);
      const results = await Promise.all(group.map((name) => readings.get(name)?.run()));
      const failure = results.find((result) => result?.ok === false);
      if (failure !== undefined) return failure;
    }
    return DONE;
  };
}

/** True if the manager answered with an error about one unit only: then the others are still read. */
function isAboutOneUnit(error: BusError): boolean {
  if (error.kind !== 'dbus' || isAbsence(error)) return false;
  return error.name.startsWith('org.freedesktop.systemd1.') || ONE_UNIT_ERRORS.includes(error.name);
}

const ONE_UNIT_ERRORS: readonly string[] = [
  'org.freedesktop.DBus.Error.InvalidArgs',
  'org.freedesktop.DBus.Error.UnknownObject',
  'org.freedesktop.DBus.Error.UnknownInterface',
];
