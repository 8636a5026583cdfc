// Reads units from a manager, however many are asked for at once: a connection takes no more than 256 calls at a time.
// Reading a unit that is not loaded makes the manager say UnitNew and UnitRemoved: nothing here is done because of those.

import { SYSTEMD_ERRORS, SYSTEMD_METHODS, UNIT_INTERFACE, unitPath } from '../../protocol/dbus/systemd.js';
import type { SystemBus, UserBus } from '../bus/bus.js';
import { type BusError, isAbsence, type Outcome } from '../bus/fault.js';
import { ReadingQueue } from './reading-queue.js';
import type { FileReading, UnitTable } from './unit-table.js';

/** Each is two calls at most. */
const READINGS_AT_ONCE = 8;

/** A bus of either kind. What it is asked here changes nothing, and TypeScript would not let it be asked for more. */
export type ReadingBus = Pick<UserBus | SystemBus, 'call' | 'watch' | 'stop'>;

/** How much a reading is to tell: signals bring the result of services, but not if there are none. */
export type Depth = 'unit' | 'everything';

const INTERFACE_OF: Readonly<Record<Depth, string>> = { unit: UNIT_INTERFACE, everything: '' };

export class UnitReader {
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;
  readonly #queue = new ReadingQueue<BusError | undefined>(READINGS_AT_ONCE);
  #asked = 0;

  constructor(bus: ReadingBus, table: UnitTable) {
    this.#bus = bus;
    this.#table = table;
  }

  /** Reads units. The error is the first that says that nothing can be read: then the others are not tried. */
  many(keys: readonly string[], depth: Depth): Promise<BusError | undefined> {
    return inGroups(keys, (key) => this.one(key, depth));
  }

  /** Resolves when a reading that began after this call has been taken in, or has failed. */
  one(key: string, depth: Depth): Promise<BusError | undefined> {
    return this.#queue.join(`unit ${key}`, () => this.#read(key, depth));
  }

  /** Reads only the unit files' states, which loads nothing and is right where a unit's property is stale until a reload. */
  files(keys: readonly string[]): Promise<BusError | undefined> {
    return inGroups(keys, (key) => this.file(key));
  }

  file(key: string): Promise<BusError | undefined> {
    return this.#queue.join(`file ${key}`, () => this.#readFile(key));
  }

  async #readFile(key: string): Promise<BusError | undefined> {
    const name = this.#table.row(key)?.watched.name;
    if (name === undefined) return undefined;
    const file = await this.#fileState(name);
    if (!file.ok) return file.error;
    this.#table.file(key, file.value);
    return undefined;
  }

  async #read(key: string, depth: Depth): Promise<BusError | undefined> {
    const name = this.#table.row(key)?.watched.name;
    if (name === undefined) return undefined;
    const mark = this.#table.mark(key);
    const [all, file] = await Promise.all([
      this.#bus.call(SYSTEMD_METHODS.getAll, [INTERFACE_OF[depth]], { path: unitPath(name) }),
      this.#fileState(name),
    ]);
    if (!file.ok) return file.error;
    const properties = all.ok ? all.value : aboutThisUnit(all.error) ? {} : undefined;
    if (properties === undefined) return all.ok ? undefined : all.error;
    this.#table.read(key, mark, { properties, file: file.value });
    return undefined;
  }

  async #fileState(name: string): Promise<Outcome<FileReading>> {
    this.#asked += 1;
    const asked = this.#asked;
    const answer = await this.#bus.call(SYSTEMD_METHODS.getUnitFileState, [name]);
    if (!answer.ok && !aboutThisUnit(answer.error)) return answer;
    const state = answer.ok && answer.value !== '' ? answer.value : undefined;
    return { ok: true, value: { state, asked } };
  }
}

async function inGroups(
  keys: readonly string[],
  read: (key: string) => Promise<BusError | undefined>,
): Promise<BusError | undefined> {
  for (let at = 0; at < keys.length; at += READINGS_AT_ONCE) {
    const outcomes = await Promise.all(keys.slice(at, at + READINGS_AT_ONCE).map(read));
    const failed = outcomes.find((error) => error !== undefined);
    if (failed !== undefined) return failed;
  }
  return undefined;
}

/** The manager answered, and has nothing to say about the unit: no reason to give the others up. */
function aboutThisUnit(error: BusError): boolean {
  if (error.kind !== 'dbus' || isAbsence(error)) return false;
  return error.name.startsWith('org.freedesktop.systemd1.') || PER_UNIT.includes(error.name);
}

const PER_UNIT: readonly string[] = [
  SYSTEMD_ERRORS.fileNotFound,
  'org.freedesktop.DBus.Error.InvalidArgs',
  'org.freedesktop.DBus.Error.UnknownObject',
  'org.freedesktop.DBus.Error.UnknownInterface',
];
