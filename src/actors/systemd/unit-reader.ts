// Reads units from a manager: at most one reading of a unit under way, and one more behind it if it was asked for meanwhile.
// Reading a unit that is not loaded makes the manager say UnitNew and UnitRemoved: nothing here is done because of those.

import { SYSTEMD_ERRORS, SYSTEMD_METHODS, UNIT_INTERFACE, unitPath } from '../../protocol/dbus/systemd.js';
import type { BusError, Outcome, SystemBus, UserBus } from '../bus.js';
import { isAbsence } from './judge.js';
import type { FileReading, UnitTable } from './unit-table.js';

/** Of the 256 calls that may wait on one connection. */
const READINGS_AT_ONCE = 8;

/** A bus of either kind. What it is asked here changes nothing, and TypeScript would not let it be asked for more. */
export type ReadingBus = Pick<UserBus | SystemBus, 'call' | 'watch' | 'stop'>;

/** How much a reading is to tell: signals bring the result of services, but not if there are none. */
export type Depth = 'unit' | 'everything';

const INTERFACE_OF: Readonly<Record<Depth, string>> = { unit: UNIT_INTERFACE, everything: '' };

export class UnitReader {
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;
  readonly #underWay = new Map<string, Promise<BusError | undefined>>();
  readonly #again = new Set<string>();
  #asked = 0;

  constructor(bus: ReadingBus, table: UnitTable) {
    this.#bus = bus;
    this.#table = table;
  }

  /** Reads every unit. The error is the first that says that nothing can be read. */
  async all(depth: Depth): Promise<BusError | undefined> {
    const keys = this.#table.rows().map(({ watched }) => watched.key);
    for (let at = 0; at < keys.length; at += READINGS_AT_ONCE) {
      const some = keys.slice(at, at + READINGS_AT_ONCE).map((key) => this.one(key, depth));
      const failed = (await Promise.all(some)).find((error) => error !== undefined);
      if (failed !== undefined) return failed;
    }
    return undefined;
  }

  /** Resolves when a reading that began after this call has been taken in, or has failed. */
  one(key: string, depth: Depth): Promise<BusError | undefined> {
    const running = this.#underWay.get(key);
    if (running === undefined) return this.#begin(key, depth);
    if (this.#again.has(key)) return running;
    this.#again.add(key);
    const next = running.then(() => {
      this.#again.delete(key);
      return this.#begin(key, depth);
    });
    // From here on whoever asks joins the second one, which has not begun.
    this.#underWay.set(key, next);
    return next;
  }

  /** Reads only the unit file's state, which loads nothing and is right where the unit's property is stale until a reload. */
  async file(key: string): Promise<void> {
    const name = this.#table.row(key)?.watched.name;
    if (name === undefined) return;
    const file = await this.#fileState(name);
    if (file.ok) this.#table.file(key, file.value);
  }

  #begin(key: string, depth: Depth): Promise<BusError | undefined> {
    const reading = this.#read(key, depth).finally(() => {
      if (this.#underWay.get(key) === reading) this.#underWay.delete(key);
    });
    this.#underWay.set(key, reading);
    return reading;
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
