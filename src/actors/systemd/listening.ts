// Asks a manager for its signals, and reads its units so that no change can fall between reading and listening.

import type { UnitScope } from '../../protocol/actor/commands.js';
import type { Match } from '../../protocol/dbus/method.js';
import { SYSTEMD_ERRORS, SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { BusError } from '../bus/fault.js';
import { type Depth, type ReadingBus, UnitReader } from './unit-reader.js';
import type { UnitTable } from './unit-table.js';
import { managerRules, unitRules } from './watch-rules.js';

export class Listening {
  readonly reader: UnitReader;
  readonly #scope: UnitScope;
  readonly #bus: ReadingBus;
  readonly #table: UnitTable;

  constructor(scope: UnitScope, bus: ReadingBus, table: UnitTable) {
    this.#scope = scope;
    this.#bus = bus;
    this.#table = table;
    this.reader = new UnitReader(bus, table);
  }

  /** The error says that there will be no signals; a connection that fails altogether shows in the readings. */
  async subscribe(): Promise<BusError | undefined> {
    const names = this.#table.rows().map(({ watched }) => watched.name);
    const unheard = await this.#watch([...managerRules(this.#scope), ...unitRules(this.#scope, names)]);
    if (unheard !== undefined) return unheard;
    const subscribed = await this.#bus.call(SYSTEMD_METHODS.subscribe, []);
    if (subscribed.ok) return undefined;
    const { error } = subscribed;
    return error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.alreadySubscribed ? undefined : error;
  }

  /** Reads all units. Signals carry primary names: where an alias is listed, the unit behind it is listened to as well. */
  async readAll(depth: Depth): Promise<BusError | undefined> {
    const keys = this.#table.rows().map(({ watched }) => watched.key);
    const failed = await this.reader.many(keys, depth);
    if (failed !== undefined) return failed;
    const aliases = this.#table.rows().filter(({ watched, facts }) => watched.name !== facts.id);
    if (aliases.length === 0) return undefined;
    const ids = aliases.map(({ facts }) => facts.id);
    const unheard = await this.#watch(unitRules(this.#scope, ids));
    if (unheard !== undefined) return unheard;
    return this.reader.many(
      aliases.map(({ watched }) => watched.key),
      depth,
    );
  }

  async #watch(rules: readonly Match[]): Promise<BusError | undefined> {
    const outcomes = await Promise.all(rules.map((rule) => this.#bus.watch(rule)));
    for (const outcome of outcomes) if (!outcome.ok) return outcome.error;
    return undefined;
  }
}
