// The read-only questions of a follower to its manager: subscriptions, which need a call of Subscribe before
// any signal is sent, and readings of units, in groups because a connection allows only 256 calls at a time.
// Reading an unloaded unit makes the manager send UnitNew and UnitRemoved: nothing here reacts to those.

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
import { type BusError, type BusResult, isAbsence, reasonOf } from '../bus/fault.js';
import { SharedWork } from '../turns.js';
import type { FileReading, UnitTable } from './facts.js';

/** A bus of either kind. These calls change nothing, and TypeScript allows no others here. */
export type ReadingBus = Pick<Bus<'units'> | Bus<'none'>, 'call' | 'watch' | 'stop'>;

/**
 * The signals that are needed of each unit. `state`: those of its state. `runs`: also those of the ends of
 * runs and jobs. `verdicts`: each change of a run, also during a reload; and a reading finds the end of a run
 * that was not followed.
 */
export type Interest = 'state' | 'runs' | 'verdicts';

/**
 * Two rules per unit; a bus refuses more than 512 rules of one connection. Above this, rules for all units
 * are used.
 */
const SINGLE_MAX_UNITS = 100;

const DONE: BusResult<undefined> = success(undefined);

const MANAGER: Match = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: MANAGER_INTERFACE };
const { interface: iface, member } = PROPERTIES_CHANGED;
const PROPERTIES: Match = { sender: SYSTEMD_NAME, interface: iface, member };

/**
 * The match rules for units, by any name. Rules per unit halve the traffic: start, restart and stop of one
 * unit cost 17 kB instead of 38 kB.
 */
export function unitRules(interest: Interest, names: readonly string[]): readonly Match[] {
  const which = interest === 'state' ? { arg0: UNIT_INTERFACE } : {};
  const removed: Match = { ...MANAGER, member: 'UnitRemoved' };
  if (names.length > SINGLE_MAX_UNITS)
    return [removed, { ...PROPERTIES, ...which, path_namespace: UNIT_PATHS }];
  return names.flatMap((name) => [
    { ...removed, arg0: name },
    { ...PROPERTIES, ...which, path: unitPath(name) },
  ]);
}

/**
 * Subscribes to units and the manager. Resolves to the first error, which means that no signals will come.
 */
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
  const wasSubscribed = error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.alreadySubscribed;
  return wasSubscribed ? DONE : subscribed;
}

/** Like `subscribe`, if the manager sends signals already. */
export async function watchAll(bus: ReadingBus, rules: readonly Match[]): Promise<BusResult<undefined>> {
  const results = await Promise.all(rules.map((rule) => bus.watch(rule)));
  return results.find(({ ok }) => !ok) ?? DONE;
}

/** Each reading takes at most two calls. */
const READINGS_AT_ONCE = 8;

/** Resolves to the first error, after which the other units are not tried. */
type ReadUnits = (names: readonly string[]) => Promise<BusResult<undefined>>;
type ReadUnit = (name: string) => Promise<BusResult<undefined>>;

/** Reads units into the table. */
export class UnitReader {
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;
  readonly #interface: string;
  #lastRequest = 0;

  /** Resolves when readings that began after this call have been applied. */
  readonly units: ReadUnits;
  /**
   * Reads only the unit files' states: this loads no unit, and is right even where a unit's property is stale
   * until a reload.
   */
  readonly files: ReadUnits;

  /** `iface` selects the properties; '' means those of the unit and of its type. */
  constructor(bus: ReadingBus, table: UnitTable, iface: string) {
    this.#bus = bus;
    this.#table = table;
    this.#interface = iface;
    this.units = inGroups(table.names, (name) => this.#readUnit(name));
    this.files = inGroups(table.names, (name) => this.#readFile(name));
  }

  async #readUnit(name: string): Promise<BusResult<undefined>> {
    const mark = this.#table.mark(name);
    const [all, file] = await Promise.all([
      this.#bus.call(SYSTEMD_METHODS.getAll, [this.#interface], { path: unitPath(name) }),
      this.#fileState(name),
    ]);
    if (!file.ok) return file;
    if (!all.ok && !aboutThisUnit(all.error)) return all;
    this.#table.read(name, mark, all.ok ? all.value : {}, file.value);
    return DONE;
  }

  async #readFile(name: string): Promise<BusResult<undefined>> {
    const file = await this.#fileState(name);
    if (!file.ok) return file;
    this.#table.file(name, file.value);
    return DONE;
  }

  async #fileState(name: string): Promise<BusResult<FileReading>> {
    this.#lastRequest += 1;
    const requestNumber = this.#lastRequest;
    const answer = await this.#bus.call(SYSTEMD_METHODS.getUnitFileState, [name]);
    if (answer.ok) return success({ state: answer.value || undefined, requestNumber });
    const { error } = answer;
    if (error.kind !== 'dbus' || isAbsence(error)) return answer;
    // One unit's files may cause any errno: a folder, a link to itself, a line that is too long.
    const isMissing = error.name === SYSTEMD_ERRORS.fileNotFound;
    return success({ state: undefined, requestNumber, ...(!isMissing && { problem: reasonOf(error) }) });
  }
}

/** Some units at a time. Calls for one unit that come while it is read share the next reading. */
function inGroups(allNames: readonly string[], read: ReadUnit): ReadUnits {
  const readings = new Map(allNames.map((name) => [name, new SharedWork(() => read(name))]));
  return async (names) => {
    for (let at = 0; at < names.length; at += READINGS_AT_ONCE) {
      const group = names.slice(at, at + READINGS_AT_ONCE);
      const results = await Promise.all(group.map((name) => readings.get(name)?.run()));
      const failure = results.find((result) => result?.ok === false);
      if (failure !== undefined) return failure;
    }
    return DONE;
  };
}

/** True if the manager answered with an error about this unit only: then the others are still read. */
function aboutThisUnit(error: BusError): boolean {
  if (error.kind !== 'dbus' || isAbsence(error)) return false;
  return error.name.startsWith('org.freedesktop.systemd1.') || PER_UNIT.includes(error.name);
}

const PER_UNIT: readonly string[] = [
  'org.freedesktop.DBus.Error.InvalidArgs',
  'org.freedesktop.DBus.Error.UnknownObject',
  'org.freedesktop.DBus.Error.UnknownInterface',
];
