// The systemd backend: decides which units are watched and which of them a request may name; keeps one scope per list of units; and runs
// the commands, which only the user's scope has. Records never flow back into the follower.

import type { Clock } from '../../clock.js';
import type { Answer, SystemdCommand, UnitScope } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { SystemdSettings, UnitEntry } from '../../protocol/actor/settings.js';
import { Bus, type BusOwner } from '../bus/bus.js';
import type { Actor, Publisher } from '../runtime.js';
import type { FollowedUnit } from '../units/facts.js';
import { type FollowerOwner, UnitFollower } from '../units/follower.js';
import { UnitLogs } from '../units/unit-logs.js';
import type { ReadingBus } from '../units/unit-reader.js';
import { UnitCommand } from './commands.js';
import { ServicePublisher, serviceRecord, type WatchedUnit } from './service-publisher.js';

/** The watched units in whitelist order: system, then user, without internal units (docs/configuration.md, "Upgrades"). */
export function watchedUnits(
  settings: Pick<SystemdSettings, 'system' | 'user' | 'internal'>,
): readonly WatchedUnit[] {
  const of = (scope: UnitScope, entries: readonly UnitEntry[]): WatchedUnit[] =>
    entries
      .filter(({ name }) => !settings.internal.includes(name))
      .map((entry) => ({ ...entry, scope, key: `${scope}/${entry.name}` }));
  return [...of('system', settings.system), ...of('user', settings.user)];
}

type UnitTarget = { readonly ok: true; readonly unit: WatchedUnit } | ({ readonly ok: false } & Fault);

/** The unit of a command. An unlisted unit is answered as if it did not exist, whatever the scope; system units are read-only. */
export function targetOf(watched: readonly WatchedUnit[], command: SystemdCommand): UnitTarget {
  const { scope, unit: name } = command;
  const unit = watched.find((each) => each.scope === scope && each.name === name);
  if (unit === undefined) return noSuchUnit(command);
  if (scope === 'user' || command.do === 'log') return { ok: true, unit };
  return failure('read-only-scope', `The unit ${name} is a system unit, which is read-only`);
}

function noSuchUnit({ scope, unit }: SystemdCommand): UnitTarget & { readonly ok: false } {
  return failure('no-such-unit', `No ${scope} unit ${JSON.stringify(unit)} is configured`);
}

interface ScopePlan {
  readonly scope: UnitScope;
  readonly watched: readonly WatchedUnit[];
  /** Units that clients must not see, by any of their names. */
  readonly internal: readonly string[];
  readonly clock: Clock;
}

/** Turns the follower's units into records for the publisher. */
export class Scope<B extends ReadingBus> implements FollowerOwner {
  readonly follower: UnitFollower<B>;
  readonly #plan: ScopePlan;
  readonly #services: ServicePublisher;

  constructor(plan: ScopePlan, services: ServicePublisher, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.#services = services;
    const names = plan.watched.map(({ name }) => name);
    // For system units the state is enough; commands to user units also need the ends of runs and jobs.
    const interest = plan.scope === 'user' ? 'runs' : 'state';
    this.follower = new UnitFollower({ names, interest, clock: plan.clock }, this, makeBus);
  }

  /** An internal unit is hidden under each of its names. */
  isHidden(name: string): boolean {
    const names = this.follower.table.unit(name)?.facts.names ?? [name];
    return names.some((each) => this.#plan.internal.includes(each));
  }

  /** Publishes a unit's present record at once, even if changes are being gathered or held back. */
  publishNow(watched: WatchedUnit): void {
    const unit = this.follower.table.unit(watched.name);
    if (unit !== undefined) this.changed([unit]);
    this.#services.publishNow(watched);
  }

  stop(): void {
    this.follower.stop();
  }

  // Calls from the follower.

  up(): void {
    this.changed(this.follower.table.units());
    this.#services.scopeUp(this.#plan.scope);
  }

  down(reason: string): void {
    this.#services.scopeDown(this.#plan.scope, reason);
  }

  changed(units: readonly FollowedUnit[]): void {
    for (const { name, known, facts, file } of units) {
      const watched = this.#plan.watched.find((each) => each.name === name);
      if (watched === undefined) continue;
      const isShown = known && !this.isHidden(name);
      this.#services.changed(watched, isShown ? serviceRecord(watched, facts, file.state) : undefined);
      this.#services.fileTrouble(watched, file.trouble);
    }
  }
}

export class SystemdBackend implements Actor<SystemdCommand> {
  readonly #watched: readonly WatchedUnit[];
  readonly #services: ServicePublisher;
  /** A scope without units needs no bus, and waits for none. */
  readonly #user: Scope<Bus<'units'>> | undefined;
  readonly #system: Scope<Bus<'none'>> | undefined;
  readonly #clock: Clock;
  readonly #logs: UnitLogs;

  constructor(settings: SystemdSettings, publish: Publisher, clock: Clock) {
    this.#watched = watchedUnits(settings);
    this.#logs = new UnitLogs(clock);
    this.#services = new ServicePublisher(publish, clock, this.#watched);
    this.#clock = clock;
    const open = <B extends ReadingBus>(scope: UnitScope, makeBus: (owner: BusOwner) => B) => {
      const watched = this.#watched.filter((each) => each.scope === scope);
      const plan = { scope, watched, internal: settings.internal, clock };
      return watched.length === 0 ? undefined : new Scope(plan, this.#services, makeBus);
    };
    this.#system = open('system', (owner) => new Bus('none', {}, owner));
    this.#user = open('user', (owner) => new Bus('units', {}, owner));
  }

  async handle(command: SystemdCommand): Promise<Answer> {
    const target = targetOf(this.#watched, command);
    if (!target.ok) return target;
    const { scope: of, unit: name } = command;
    const scope = of === 'user' ? this.#user : this.#system;
    if (scope === undefined || scope.isHidden(name)) return noSuchUnit(command);
    const absence = this.#services.absenceOf(of);
    if (absence !== undefined)
      return failure(
        'unavailable',
        `Not connected to the ${of}'s systemd: ${absence || 'not connected yet'}`,
      );
    if (command.do === 'log') {
      // A unit that is gone may still have a log.
      const unit = scope.follower.table.unit(name)?.facts.id ?? name;
      return this.#logs.read({ scope: of, unit, lines: command.lines });
    }
    if (this.#user === undefined) return noSuchUnit(command);
    const answer = await new UnitCommand(this.#user.follower, this.#clock, command.do, name).run();
    this.#user.publishNow(target.unit);
    return answer;
  }

  async stop(): Promise<void> {
    await this.#logs.stop();
    this.#services.stop();
    this.#user?.stop();
    this.#system?.stop();
  }
}
