// The systemd backend: a scope for each list of units, the publisher that they share, and the commands, which only the
// user's scope has.

import type { Clock } from '../../clock.js';
import type { Answer, SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { SystemdSettings } from '../../protocol/actor/settings.js';
import { SystemBus, UserBus } from '../bus/bus.js';
import type { Actor, Publisher } from '../runtime.js';
import { UnitCommands } from './commands.js';
import { Scope } from './scope.js';
import { ServicePublisher } from './service-publisher.js';
import { noSuchUnit, targetOf, type WatchedUnit, watchedUnits } from './services.js';

export class SystemdBackend implements Actor<SystemdCommand> {
  readonly #watched: readonly WatchedUnit[];
  readonly #services: ServicePublisher;
  /** A scope without units needs no bus, and waits for none. */
  readonly #user: Scope<UserBus> | undefined;
  readonly #system: Scope<SystemBus> | undefined;
  readonly #clock: Clock;

  /** `directories` are those of units-directory.ts. */
  constructor(
    settings: SystemdSettings,
    directories: Readonly<Record<UnitScope, string>>,
    publish: Publisher,
    clock: Clock,
  ) {
    this.#watched = watchedUnits(settings);
    this.#services = new ServicePublisher(publish, clock, this.#watched);
    this.#clock = clock;
    const { internal } = settings;
    const plan = (scope: UnitScope) => {
      const watched = this.#watched.filter((each) => each.scope === scope);
      return { scope, watched, internal, unitsDirectory: directories[scope], clock };
    };
    const [system, user] = [plan('system'), plan('user')];
    if (system.watched.length > 0) {
      this.#system = new Scope(system, this.#services, (owner) => new SystemBus({}, owner));
    }
    if (user.watched.length > 0) {
      this.#user = new Scope(user, this.#services, (owner) => new UserBus({}, owner));
    }
  }

  async handle(command: SystemdCommand): Promise<Answer> {
    const target = targetOf(this.#watched, command);
    if (!target.ok) return target;
    const { unit } = target;
    const scope = this.#user;
    if (scope === undefined || scope.isHidden(unit.name)) return noSuchUnit(unit.scope, unit.name);
    if (scope.absence !== undefined) {
      return failure('unavailable', `The user's systemd is away: ${scope.absence}`);
    }
    const answer = await new UnitCommands(scope.follower, this.#clock).run(command.do, unit.name);
    scope.tellNow(unit);
    return answer;
  }

  async stop(): Promise<void> {
    this.#services.stop();
    this.#user?.stop();
    this.#system?.stop();
  }
}
