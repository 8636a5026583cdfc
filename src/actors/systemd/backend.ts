// The systemd backend: decides which units are watched, and which of them a command may name. Commands change
// only units of the user.

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
 * The watched units: first those of the system, then those of the user, each in the order of the
 * configuration. The internal units are left out. They are the units of the upgrade backend
 * (docs/configuration.md, "Upgrades").
 */
export function watchedUnits(settings: Omit<SystemdSettings, 'enabled'>): readonly WatchedUnit[] {
  const units = (['system', 'user'] as const).flatMap((scope) =>
    settings[scope].map((entry) => ({ ...entry, scope, key: `${scope}/${entry.name}` })),
  );
  return units.filter(({ name }) => !settings.internal.includes(name));
}

type UnitTarget = Result<WatchedUnit, Fault>;

/**
 * The unit of a command, or why the command is refused. The answer for a unit that is not watched is always
 * the same, so that clients cannot find out whether the unit exists. Units of the system are read-only.
 */
export function commandTarget(units: readonly WatchedUnit[], command: SystemdCommand): UnitTarget {
  const { scope, unit: name } = command;
  const unit = units.find((candidate) => candidate.scope === scope && candidate.name === name);
  if (unit === undefined) return noSuchUnit(command);
  if (scope === 'user' || command.do === 'log') return success(unit);
  return failure('read-only-scope', `The unit ${name} is a system unit, which is read-only`);
}

function noSuchUnit({ scope, unit }: SystemdCommand): Failure<Fault> {
  return failure('no-such-unit', `No ${scope} unit ${JSON.stringify(unit)} is configured`);
}

const NO_OPTIONS = {};
/** The first argument of `Bus` names what calls on this bus may change. */
const BUSES = {
  system: (owner: BusOwner) => new Bus('none', NO_OPTIONS, owner),
  user: (owner: BusOwner) => new Bus('units', NO_OPTIONS, owner),
};

export class SystemdBackend implements Actor<SystemdCommand> {
  readonly #watchedUnits: readonly WatchedUnit[];
  /** The names of units that clients must not see. */
  readonly #internalNames: readonly string[];
  readonly #services: ServicePublisher;
  /** Undefined if no units of the user are watched: no bus is needed then. */
  readonly #userFollower: UnitFollower<Bus<'units'>> | undefined;
  /** Undefined if no units of the system are watched. */
  readonly #systemFollower: UnitFollower<Bus<'none'>> | undefined;
  readonly #clock: Clock;
  readonly #logs: UnitLogs;

  constructor(settings: SystemdSettings, publish: Publisher, clock: Clock, buses = BUSES) {
    this.#watchedUnits = watchedUnits(settings);
    this.#internalNames = settings.internal;
    this.#logs = new UnitLogs(clock);
    this.#services = new ServicePublisher(publish, clock, this.#watchedUnits);
    this.#clock = clock;
    // The interest `state` is enough for the records of units. The commands that change a unit need `runs`,
    // for the ends of runs and jobs. These commands are only for units of the user.
    this.#systemFollower = this.#follow('system', 'state', buses.system);
    this.#userFollower = this.#follow('user', 'runs', buses.user);
  }

  async handle(command: SystemdCommand): Promise<Answer> {
    const target = commandTarget(this.#watchedUnits, command);
    if (!target.ok) return target;
    const { scope, unit: name } = command;
    const follower = scope === 'user' ? this.#userFollower : this.#systemFollower;
    // The configured name may be an alias of an internal unit. Only systemd's facts show this.
    const unit = follower?.table.unit(name);
    if (unit === undefined || this.#isHidden(unit)) return noSuchUnit(command);
    const absence = this.#services.absenceOf(scope);
    if (absence !== undefined)
      return failure('unavailable', `Not connected to the ${scope}'s systemd: ${absence}`);
    // A log is read even if its unit no longer exists, because the log may still be there.
    if (command.do === 'log') return this.#logs.read({ scope, unit: unit.facts.id, lines: command.lines });
    // All other commands are for units of the user, which have a follower. This check is for the compiler.
    if (this.#userFollower === undefined) return noSuchUnit(command);
    const answer = await commandUnit(this.#userFollower, this.#clock, command.do, name);
    // The command's change must be published before the answer. The follower reports no changes during a
    // reload, so `#unitsChanged` is called here. The publisher gathers changes, so `publishNow` is called,
    // too. The table always has the unit, so `?? unit` is only for the compiler.
    this.#unitsChanged(scope, [this.#userFollower.table.unit(name) ?? unit]);
    this.#services.publishNow(target.value);
    return answer;
  }

  async stop(): Promise<void> {
    await this.#logs.stop();
    this.#services.stop();
    this.#userFollower?.stop();
    this.#systemFollower?.stop();
  }

  #follow<B extends ReadingBus>(scope: UnitScope, interest: Interest, makeBus: (owner: BusOwner) => B) {
    const names = this.#watchedUnits.filter((unit) => unit.scope === scope).map(({ name }) => name);
    if (names.length === 0) return undefined;
    const changed = (units: readonly FollowedUnit[]) => this.#unitsChanged(scope, units);
    const up = () => {
      // `follower` exists by now, because the bus never calls a follower that is still being constructed.
      this.#unitsChanged(scope, follower.table.units());
      this.#services.setAbsence(scope, undefined);
    };
    const down = (reason: string) => this.#services.setAbsence(scope, reason);
    const plan = { names, interest, clock: this.#clock };
    const follower: UnitFollower<B> = new UnitFollower(plan, { up, down, changed }, makeBus);
    return follower;
  }

  #unitsChanged(scope: UnitScope, units: readonly FollowedUnit[]): void {
    for (const unit of units) {
      const { name, isKnown, facts, file } = unit;
      const watchedUnit = this.#watchedUnits.find(
        (candidate) => candidate.scope === scope && candidate.name === name,
      );
      if (watchedUnit === undefined) continue;
      const isPublished = isKnown && !this.#isHidden(unit);
      const record = isPublished ? serviceRecord(watchedUnit, facts, file.state) : undefined;
      this.#services.changed(watchedUnit, record);
      this.#services.noteFileProblem(watchedUnit, file.problem);
    }
  }

  /** True if one of the unit's names is the name of an internal unit. */
  #isHidden({ facts }: FollowedUnit): boolean {
    return facts.names.some((name) => this.#internalNames.includes(name));
  }
}

export default actorThread<'systemd'>(
  (settings, publish) => new SystemdBackend(settings, publish, systemClock),
);
