// Decides to which signals of a manager a follower subscribes, and reads units into the follower's table. The
// calls to the manager change no unit.

import { SharedWork } from '../../host/turns.js';
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
  UNITS_PATH,
  unitPath,
} from '../../protocol/dbus/systemd.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, type BusResult, busErrorText, isAbsence } from '../bus/fault.js';
import type { FileReading, UnitTable } from './facts.js';

/** The user's or the system's bus, with only those calls that change nothing. */
export type ReadingBus = Pick<Bus<'units'> | Bus<'none'>, 'call' | 'watch' | 'stop'>;

/**
 * The interest of a follower's owner in the units. `state`: their states. `runs`: also the ends of runs and
 * jobs. `verdicts`: also each change during a reload, and the result of a run whose end the follower missed.
 */
export type Interest = 'state' | 'runs' | 'verdicts';

/**
 * Up to this number of units, each unit of a follower has two match rules of its own. If there are more
 * units, two rules match all units of the manager, because a bus refuses more than 512 rules of one
 * connection.
 */
const OWN_RULES_MAX_UNITS = 100;

const DONE: BusResult<undefined> = success(undefined);

const MANAGER_SIGNALS: Match = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: MANAGER_INTERFACE };
const PROPERTY_CHANGES: Match = {
  sender: SYSTEMD_NAME,
  interface: PROPERTIES_CHANGED.interface,
  member: PROPERTIES_CHANGED.member,
};

/**
 * The match rules for the units with these names. Signals have a unit's primary name, so the rules of an
 * alias match no signal, and follower.ts adds the rules of the primary name. A start, a restart and a stop
 * of one unit were measured: they cost 17 kB of messages with the unit's own rules, and 38 kB with the rules
 * for all units.
 */
export function unitRules(interest: Interest, names: readonly string[]): readonly Match[] {
  // `arg0` is a signal's first argument: the interface of the changed properties, or a removed unit's name.
  const interfaceFilter = interest === 'state' ? { arg0: UNIT_INTERFACE } : {};
  const removed: Match = { ...MANAGER_SIGNALS, member: 'UnitRemoved' };
  if (names.length > OWN_RULES_MAX_UNITS)
    return [removed, { ...PROPERTY_CHANGES, ...interfaceFilter, path_namespace: UNITS_PATH }];
  return names.flatMap((name) => [
    { ...removed, arg0: name },
    { ...PROPERTY_CHANGES, ...interfaceFilter, path: unitPath(name) },
  ]);
}

/**
 * Subscribes to the signals of units and of the manager. After an error this function must be called again,
 * because a manager sends no signals until its method Subscribe is called.
 */
export async function subscribe(
  bus: ReadingBus,
  interest: Interest,
  names: readonly string[],
): Promise<BusResult<undefined>> {
  const members = ['Reloading', 'UnitFilesChanged'];
  if (interest !== 'state') members.push('JobRemoved');
  const managerRules = members.map((member) => ({ ...MANAGER_SIGNALS, member }));
  const watched = await watchAll(bus, [...managerRules, ...unitRules(interest, names)]);
  if (!watched.ok) return watched;
  const subscribed = await bus.call(SYSTEMD_METHODS.subscribe, []);
  if (subscribed.ok) return DONE;
  const { error } = subscribed;
  const isAlreadySubscribed = error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.alreadySubscribed;
  return isAlreadySubscribed ? DONE : subscribed;
}

/**
 * Adds match rules. The manager sends signals only if its method Subscribe is called, too, before or after
 * this call. Resolves to the first error, if there is one.
 */
export async function watchAll(bus: ReadingBus, rules: readonly Match[]): Promise<BusResult<undefined>> {
  const results = await Promise.all(rules.map((rule) => bus.watch(rule)));
  return results.find(({ ok }) => !ok) ?? DONE;
}

/**
 * A group of this number of units is read at a time. The number is small, because each unit takes up to two
 * of the 256 calls that a connection allows at a time. Commands and other readings need calls, too.
 */
const READINGS_AT_ONCE = 8;

/** Resolves to the first error, if there is one. After a group with an error, no further group is read. */
type ReadUnits = (names: readonly string[]) => Promise<BusResult<undefined>>;
type ReadUnit = (name: string) => Promise<BusResult<undefined>>;

export class UnitReader {
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;
  readonly #interface: string;
  #lastRequest = 0;

  /**
   * Resolves when readings that began after this call have been applied to the table. A reading of an
   * unloaded unit makes the manager send UnitNew and UnitRemoved. These signals must not cause another
   * reading.
   */
  readonly readUnits: ReadUnits;
  /**
   * Reads only the states of the unit files. This reading loads no unit. The states are current even if the
   * manager has not reloaded since a file was changed.
   */
  readonly readFiles: ReadUnits;

  /** `iface` is the interface whose properties are read; '' means all interfaces of a unit. */
  constructor(bus: ReadingBus, table: UnitTable, iface: string) {
    this.#bus = bus;
    this.#table = table;
    this.#interface = iface;
    this.readUnits = groupReader(table.names, (name) => this.#readUnit(name));
    this.readFiles = groupReader(table.names, (name) => this.#readFile(name));
  }

  async #readUnit(name: string): Promise<BusResult<undefined>> {
    const signalCountBefore = this.#table.signalCount(name);
    const [properties, file] = await Promise.all([
      this.#bus.call(SYSTEMD_METHODS.getAll, [this.#interface], { path: unitPath(name) }),
      this.#fileState(name),
    ]);
    if (!file.ok) return file;
    if (!properties.ok && !isAboutOneUnit(properties.error)) return properties;
    const values = properties.ok ? properties.value : {};
    this.#table.applyReading(name, signalCountBefore, values, file.value);
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
    // An empty text stands for no state.
    if (answer.ok) return success({ state: answer.value || undefined, requestNumber });
    const { error } = answer;
    if (error.kind !== 'dbus' || isAbsence(error) || error.name === BUS_TIMED_OUT) return answer;
    // Any other error is about this unit's files. For example, the file is a folder, is a link to itself, has
    // a line that is too long (LimitsExceeded), or is not readable for systemd itself (AccessDenied).
    const isMissing = error.name === SYSTEMD_ERRORS.fileNotFound;
    if (isMissing) return success({ state: undefined, requestNumber });
    return success({ state: undefined, requestNumber, problem: busErrorText(error) });
  }
}

/**
 * The bus's error if the bus could not start the manager in time. The class above may use this constant,
 * because a reading begins only after this file has been loaded.
 */
const BUS_TIMED_OUT = 'org.freedesktop.DBus.Error.TimedOut';

/**
 * Makes a function that reads units in groups. If a call needs a unit that is being read already, the call
 * waits for the unit's next reading. All such calls share the next reading.
 */
function groupReader(allNames: readonly string[], read: ReadUnit): ReadUnits {
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

/** True if the error is about one unit only, so that the other units are still read. */
function isAboutOneUnit(error: BusError): boolean {
  if (error.kind !== 'dbus' || isAbsence(error)) return false;
  return error.name.startsWith('org.freedesktop.systemd1.') || ONE_UNIT_ERRORS.includes(error.name);
}

/** The errors about one unit that do not have systemd's prefix. */
const ONE_UNIT_ERRORS: readonly string[] = [
  'org.freedesktop.DBus.Error.InvalidArgs',
  'org.freedesktop.DBus.Error.UnknownObject',
  'org.freedesktop.DBus.Error.UnknownInterface',
];
