// The systemd backend: a scope for each list of units, the bulletin that they share, and the commands, which only the
// user's scope has.

import type { Answer, SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import type { LogLevel } from '../../protocol/actor/messages.js';
import type { SystemdSettings } from '../../protocol/actor/settings.js';
import { backoffMs } from '../backoff.js';
import { type BusOptions, SystemBus, UserBus } from '../bus/bus.js';
import type { Clock } from '../clock.js';
import type { Actor, Publisher } from '../runtime.js';
import { Bulletin } from './bulletin.js';
import { UnitCommands } from './commands.js';
import { Scope, type ScopeListener } from './scope.js';
import type { ReadingBus } from './unit-reader.js';
import type { Row } from './unit-table.js';
import { noSuchUnit, targetOf, type Watched, watchedUnits } from './whitelist.js';

/** Where the managers are. */
export interface Place {
  /** Addresses other than the environment's. */
  readonly userPaths?: NonNullable<BusOptions['paths']>;
  readonly systemPaths?: NonNullable<BusOptions['paths']>;
  /** Folders of `units-directory.ts`. */
  readonly unitsDirectories: Readonly<Record<UnitScope, string>>;
}

export class SystemdBackend implements Actor<SystemdCommand>, ScopeListener {
  readonly #watched: readonly Watched[];
  readonly #publish: Publisher;
  readonly #bulletin: Bulletin;
  readonly #user: { readonly scope: Scope<UserBus>; readonly commands: UnitCommands } | undefined;
  readonly #system: Scope<SystemBus> | undefined;
  readonly #internal: readonly string[];
  /** What was last logged of each scope: never the same again. */
  readonly #logged = new Map<UnitScope, string>();

  constructor(settings: SystemdSettings, place: Place, publish: Publisher, clock: Clock) {
    this.#watched = watchedUnits(settings);
    this.#internal = settings.internal;
    this.#publish = publish;
    this.#bulletin = new Bulletin(publish, clock, this.#watched, {
      textOf: (unit) => this.#textOf(unit),
      held: (unit) => this.#scopeOf(unit)?.muted ?? false,
    });
    const { userPaths, systemPaths, unitsDirectories } = place;
    const plan = (scope: UnitScope) => ({
      scope,
      watched: this.#of(scope),
      unitsDirectory: unitsDirectories[scope],
      clock,
    });
    const options = (paths: BusOptions['paths']): BusOptions => ({
      backoffMs: (attempt) => backoffMs(attempt, clock.random()),
      ...(paths && { paths }),
    });
    // A scope without units needs no bus, and waits for none.
    const scopes = (['system', 'user'] as const).filter((scope) => this.#of(scope).length > 0);
    this.#bulletin.begin(scopes);
    if (scopes.includes('system')) {
      const makeBus = (owner: ConstructorParameters<typeof SystemBus>[1]) =>
        new SystemBus(options(systemPaths), owner);
      this.#system = new Scope(plan('system'), this, makeBus);
    }
    if (scopes.includes('user')) {
      const makeBus = (owner: ConstructorParameters<typeof UserBus>[1]) =>
        new UserBus(options(userPaths), owner);
      const scope = new Scope(plan('user'), this, makeBus);
      this.#user = { scope, commands: new UnitCommands(scope, clock) };
    }
  }

  async handle(command: SystemdCommand): Promise<Answer> {
    const target = targetOf(this.#watched, command);
    if (!target.ok) return target;
    const { unit } = target;
    if (this.#user === undefined) return noSuchUnit(unit.scope, unit.name);
    const { scope, commands } = this.#user;
    if (this.#isInternal(scope.table.row(unit.key))) return noSuchUnit(unit.scope, unit.name);
    if (scope.absence !== undefined) {
      return { ok: false, fault: 'unavailable', detail: `The user's systemd is away: ${scope.absence}` };
    }
    const answer = await commands.run(command.do, unit);
    this.#bulletin.flush(unit);
    return answer;
  }

  async stop(): Promise<void> {
    this.#bulletin.stop();
    this.#user?.scope.stop();
    this.#system?.stop();
  }

  whole(scope: UnitScope, detail: string | undefined): void {
    if (detail === undefined) this.#log('info', 'systemd is watched', { scope });
    else this.#log('warn', 'systemd is watched without signals', { scope, detail });
    this.#bulletin.scopeIs(scope, { kind: 'whole', detail });
  }

  away(scope: UnitScope, reason: string): void {
    this.#log('warn', 'systemd is away', { scope, detail: reason });
    this.#bulletin.scopeIs(scope, { kind: 'away', detail: reason });
  }

  touched(rows: readonly Row[]): void {
    for (const { watched } of rows) this.#bulletin.touched(watched);
  }

  certain(rows: readonly Row[]): void {
    for (const { watched } of rows) this.#bulletin.flush(watched);
  }

  /** One line per change, never one per attempt. */
  #log(
    level: LogLevel,
    message: string,
    fields: { readonly scope: UnitScope; readonly detail?: string },
  ): void {
    if (this.#logged.get(fields.scope) === message) return;
    this.#logged.set(fields.scope, message);
    this.#publish.log(level, message, fields);
  }

  #of(scope: UnitScope): readonly Watched[] {
    return this.#watched.filter((each) => each.scope === scope);
  }

  #scopeOf({ scope }: Watched): Scope<ReadingBus> | undefined {
    return scope === 'user' ? this.#user?.scope : this.#system;
  }

  #textOf(unit: Watched): string | undefined {
    const scope = this.#scopeOf(unit);
    const row = scope?.table.row(unit.key);
    if (this.#isInternal(row)) return undefined;
    const record = row && scope?.record(row);
    return record && JSON.stringify(record);
  }

  /** An internal unit is hidden by any of its names. */
  #isInternal(row: Row | undefined): boolean {
    return row?.facts.names.some((name) => this.#internal.includes(name)) ?? false;
  }
}
