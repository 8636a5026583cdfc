// The systemd backend: decides which units are watched and which of them a request may name; keeps one scope
// per list of units; and runs the commands, which only the user's scope has. The follower never gets records.

import { type Clock, systemClock } from '../../host/clock.js';
import type { Answer, SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import { type Failure, type Result, success } from '../../protocol/actor/result.js';
import type { SystemdSettings } from '../../protocol/actor/settings.js';
import { Bus, type BusOwner } from '../bus/bus.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import type { FollowedUnit } from '../units/facts.js';
import { UnitFollower } from '../units/follower.js';
import { UnitLogs } from '../units/unit-logs.js';
import type { Interest, ReadingBus } from '../units/unit-reader.js';
import { commandUnit } from './commands.js';
import { ServicePublisher, serviceRecord, type WatchedUnit } from './service-publisher.js';

/**
 * The watched units in whitelist order: system, then user, without internal units (docs/configuration.md,
 * "Upgrades").
 */
export function watchedUnits(settings: Omit<SystemdSettings, 'enabled'>): readonly WatchedUnit[] {
  const units = (['system', 'user'] as const).flatMap((scope) =>
    settings[scope].map((entry) => ({ ...entry, scope, key: `${scope}/${entry.name}` })),
  );
  return units.filter(({ name }) => !settings.internal.includes(name));
}

type UnitTarget = Result<WatchedUnit, Fault>;

/**
 * The unit of a command. An unlisted unit is answered as if it did not exist, whatever the scope; system
 * units are read-only.
 */
export function targetOf(watched: readonly WatchedUnit[], command: SystemdCommand): UnitTarget {
  const { scope, unit: name } = command;
  const unit = watched.find((each) => each.scope === scope && each.name === name);
  if (unit === undefined) return noSuchUnit(command);
  if (scope === 'user' || command.do === 'log') return success(unit);
  return failure('read-only-scope', `The unit ${name} is a system unit, which is read-only`);
}

function noSuchUnit({ scope, unit }: SystemdCommand): Failure<Fault> {
  return failure('no-such-unit', `No ${scope} unit ${JSON.stringify(unit)} is configured`);
}

/** Only the user's bus may change units. */
const BUSES = {
  system: (owner: BusOwner) => new Bus('none', {}, owner),
  user: (owner: BusOwner) => new Bus('units', {}, owner),
};

export class SystemdBackend implements Actor<SystemdCommand> {
  readonly #watched: readonly WatchedUnit[];
  /** Units that clients must not see, by any of their names. */
  readonly #internal: readonly string[];
  readonly #services: ServicePublisher;
  /** A scope without units needs no bus, and waits for none. */
  readonly #user: UnitFollower<Bus<'units'>> | undefined;
  readonly #system: UnitFollower<Bus<'none'>> | undefined;
  readonly #clock: Clock;
  readonly #logs: UnitLogs;

  constructor(settings: SystemdSettings, publish: Publisher, clock: Clock, buses = BUSES) {
    this.#watched = watchedUnits(settings);
    this.#internal = settings.internal;
    this.#logs = new UnitLogs(clock);
    this.#services = new ServicePublisher(publish, clock, this.#watched);
    this.#clock = clock;
    // For system units the state is enough; commands to user units also need the ends of runs and jobs.
    this.#system = this.#follow('system', 'state', buses.system);
    this.#user = this.#follow('user', 'runs', buses.user);
  }

  async handle(command: SystemdCommand): Promise<Answer> {
    const target = targetOf(this.#watched, command);
    if (!target.ok) return target;
    const { scope, unit: name } = command;
    const unit = (scope === 'user' ? this.#user : this.#system)?.table.unit(name);
    if (unit === undefined || this.#isHidden(unit)) return noSuchUnit(command);
    const absence = this.#services.absenceOf(scope);
    const away = `Not connected to the ${scope}'s systemd: ${absence || 'not connected yet'}`;
    if (absence !== undefined) return failure('unavailable', away);
    // A unit that is gone may still have a log.
    if (command.do === 'log') return this.#logs.read({ scope, unit: unit.facts.id, lines: command.lines });
    if (this.#user === undefined) return noSuchUnit(command);
    const answer = await commandUnit(this.#user, this.#clock, command.do, name);
    // Published at once, even while changes are being gathered, or a reload delays them.
    this.#changed(scope, [this.#user.table.unit(name) ?? unit]);
    this.#services.publishNow(target.value);
    return answer;
  }

  async stop(): Promise<void> {
    await this.#logs.stop();
    this.#services.stop();
    this.#user?.stop();
    this.#system?.stop();
  }

  #follow<B extends ReadingBus>(scope: UnitScope, interest: Interest, makeBus: (owner: BusOwner) => B) {
    const names = this.#watched.filter((each) => each.scope === scope).map(({ name }) => name);
    if (names.length === 0) return undefined;
    const changed = (units: readonly FollowedUnit[]) => this.#changed(scope, units);
    const up = () => {
      changed(follower.table.units());
      this.#services.scopeIs(scope, undefined);
    };
    const down = (reason: string) => this.#services.scopeIs(scope, reason);
    const plan = { names, interest, clock: this.#clock };
    const follower: UnitFollower<B> = new UnitFollower(plan, { up, down, changed }, makeBus);
    return follower;
  }

  #changed(scope: UnitScope, units: readonly FollowedUnit[]): void {
    for (const unit of units) {
      const { name, known, facts, file } = unit;
      const watched = this.#watched.find((each) => each.scope === scope && each.name === name);
      if (watched === undefined) continue;
      const isPublished = known && !this.#isHidden(unit);
      this.#services.changed(watched, isPublished ? serviceRecord(watched, facts, file.state) : undefined);
      this.#services.noteFileProblem(watched, file.problem);
    }
  }

  #isHidden({ facts }: FollowedUnit): boolean {
    return facts.names.some((name) => this.#internal.includes(name));
  }
}

export default actorThread<'systemd'>(
  (settings, publish) => new SystemdBackend(settings, publish, systemClock),
);
