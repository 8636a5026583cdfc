// One scope: what its follower tells of units, and its units directory where there are no signals, becomes records for the
// publisher. Nothing calls back: from signals to records there is one direction.

import { type Clock, Timers } from '../../clock.js';
import type { UnitScope } from '../../protocol/actor/commands.js';
import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import type { BusOwner } from '../bus/bus.js';
import { type FollowerOwner, UnitFollower } from '../units/follower.js';
import type { ReadingBus } from '../units/reader.js';
import type { FollowedUnit } from '../units/table.js';
import type { ServicePublisher } from './service-publisher.js';
import { type FactSource, serviceRecord, type WatchedUnit } from './services.js';
import { UnitsDirectory } from './units-directory.js';

/** Without signals, a state that is about to change is looked at again. */
const PASSING_AGAIN_MS = 500;
const PASSING: readonly string[] = ['activating', 'deactivating', 'reloading', 'refreshing'];

export interface ScopePlan {
  readonly scope: UnitScope;
  readonly watched: readonly WatchedUnit[];
  /** Units that clients may not know of, by any of their names. */
  readonly internal: readonly string[];
  /** Where this scope's manager keeps its links (units-directory.ts). */
  readonly unitsDirectory: string;
  readonly clock: Clock;
}

export class Scope<B extends ReadingBus> implements FollowerOwner {
  readonly follower: UnitFollower<B>;
  readonly #plan: ScopePlan;
  readonly #services: ServicePublisher;
  readonly #directory: UnitsDirectory;
  readonly #timers: Timers<'passing'>;
  #absence: string | undefined = 'not connected yet';

  constructor(plan: ScopePlan, services: ServicePublisher, makeBus: (owner: BusOwner) => B) {
    this.#plan = plan;
    this.#services = services;
    this.#timers = new Timers(plan.clock);
    this.#directory = new UnitsDirectory(plan.unitsDirectory, plan.clock, (unit) => this.#linkChanged(unit));
    const names = plan.watched.map(({ name }) => name);
    // Of system units the state is enough; of user units commands also need how runs and jobs end.
    const interest = plan.scope === 'user' ? 'runs' : 'state';
    this.follower = new UnitFollower({ names, interest, clock: plan.clock }, this, makeBus);
  }

  /** Why no command can be carried out now; undefined when one can. */
  get absence(): string | undefined {
    return this.#absence;
  }

  /** An internal unit is hidden by any of its names. */
  isHidden(name: string): boolean {
    const names = this.follower.table.unit(name)?.facts.names ?? [name];
    return names.some((each) => this.#plan.internal.includes(each));
  }

  /** Tells what is known of a unit now, whatever may still be gathered or held back. */
  tellNow(watched: WatchedUnit): void {
    const unit = this.follower.table.unit(watched.name);
    this.#services.changedNow(watched, unit && this.#record(watched, unit));
  }

  stop(): void {
    this.#absence = 'stopped';
    this.#timers.cancelAll();
    this.#directory.close();
    this.follower.stop();
  }

  // What the follower says.

  up(noSignals: string | undefined): void {
    this.#absence = undefined;
    if (noSignals !== undefined) this.#directory.open();
    else {
      this.#directory.close();
      this.#timers.cancelAll();
    }
    this.changed(this.follower.table.units());
    this.#services.scopeUp(
      this.#plan.scope,
      noSignals && `no signals (${noSignals}), ${this.#directory.described}`,
    );
  }

  down(reason: string): void {
    this.#timers.cancelAll();
    this.#absence = reason;
    this.#directory.open();
    this.changed(this.follower.table.units());
    this.#services.scopeDown(this.#plan.scope, `${reason}, ${this.#directory.described}`);
  }

  changed(units: readonly FollowedUnit[]): void {
    for (const unit of units) {
      const watched = this.#plan.watched.find(({ name }) => name === unit.name);
      if (watched !== undefined) this.#services.changed(watched, this.#record(watched, unit));
    }
  }

  // What the directory says.

  /** `id` is a primary name; undefined when any unit may have changed. */
  #linkChanged(id: string | undefined): void {
    const { table } = this.follower;
    const units = id === undefined ? table.units() : table.unitsOf(id);
    if (this.#absence === undefined) void this.#reread(units);
    else this.changed(units);
  }

  /** Reads units, and those that are on their way to another state again and again. */
  async #reread(units: readonly FollowedUnit[]): Promise<void> {
    await this.follower.refresh(units.map(({ name }) => name));
    if (this.follower.hasSignals || this.#absence !== undefined || this.#timers.has('passing')) return;
    const passing = () =>
      this.follower.table.units().filter(({ facts }) => PASSING.includes(facts.activeState));
    if (passing().length > 0)
      this.#timers.set('passing', PASSING_AGAIN_MS, () => void this.#reread(passing()));
  }

  #record(watched: WatchedUnit, unit: FollowedUnit): ServiceRecord | undefined {
    if (!unit.known || this.isHidden(unit.name)) return undefined;
    return serviceRecord(watched, unit.facts, unit.fileState, this.#source(unit));
  }

  #source({ facts }: FollowedUnit): FactSource {
    const atRest = this.#absence === undefined ? undefined : this.#directory.atRest(facts.id);
    return atRest === undefined ? { kind: 'manager' } : { kind: 'directory', atRest };
  }
}
