// Decides what is published of units, and when (docs/http-api.md, "Service"), and whether the backend is up.
// A record is encoded only when it is published.

import { type Clock, Timers } from '../../host/clock.js';
import { clipped } from '../../printable.js';
import type { UnitScope } from '../../protocol/actor/commands.js';
import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';
import { isAtRest, type UnitFacts } from '../units/facts.js';

/** Changes of a unit within this time become one event. 200 changes in 100 ms make two or three events. */
const GATHER_MS = 50;
/** In UTF-16 units. systemd accepts a description of 1 MiB. */
const DESCRIPTION_MAX_UNITS = 1024;

/** A configured unit. Its record has the configured name, even if systemd has another name for the unit. */
export interface WatchedUnit {
  /** Key in the collection: scope, slash, configured name. */
  readonly key: string;
  readonly scope: UnitScope;
  readonly name: string;
  readonly url?: string;
}

/** systemd's states of a unit that clients may get. */
const ACTIVE_STATES = [
  'active',
  'reloading',
  'inactive',
  'failed',
  'activating',
  'deactivating',
  'maintenance',
] as const;

/** `fileState` is the unit file state; undefined without a unit file, or if the state is unknown. */
export function serviceRecord(
  { name, scope, url }: WatchedUnit,
  facts: UnitFacts,
  fileState: string | undefined,
): ServiceRecord {
  const { activeState, subState, description } = facts;
  // A new unit file counts at once, although `loadState` stays `not-found` until systemd reloads.
  const isFound = fileState !== undefined || facts.loadState !== 'not-found';
  // A unit without a file may still run.
  const exists = isFound || !isAtRest(facts);
  // `refreshing` (since systemd 254) is a reload, too: of mounts or extensions, while the unit stays active.
  const publishedState = activeState === 'refreshing' ? 'reloading' : activeState;
  const state = exists ? ACTIVE_STATES.find((candidate) => candidate === publishedState) : undefined;
  return {
    name,
    scope,
    ...(state !== undefined && { active_state: state }),
    ...(state !== undefined && subState !== '' && { sub_state: subState }),
    running: activeState === 'active' && subState === 'running',
    enabled: fileState === 'enabled',
    ...(fileState !== undefined && { unit_file_state: fileState }),
    exists,
    ...(exists && description !== '' && { description: clipped(description, DESCRIPTION_MAX_UNITS) }),
    ...(url !== undefined && { url }),
  };
}

const NOT_CONNECTED_YET = 'not connected yet';

export class ServicePublisher {
  readonly #publish: Publisher;
  /** A timer for each unit key, while the changes of the unit are gathered. */
  readonly #timers: Timers<string>;
  readonly #watchedUnits: readonly WatchedUnit[];
  /** The newest record of each unit; undefined for a unit that is unknown, or that backend.ts hides. */
  readonly #records = new Map<WatchedUnit, ServiceRecord | undefined>();
  /** Why each scope's manager (its systemd) is away; undefined while the manager is reached. */
  readonly #absences: Map<UnitScope, string | undefined>;
  /**
   * The last problem with each unit's files, by unit key; undefined if there is none any more. A problem that
   * stays is logged only once.
   */
  readonly #loggedProblems = new Map<string, string | undefined>();
  /** The last published status: `up`, or the detail of `connecting`. Undefined before the first status. */
  #publishedStatus: string | undefined;

  constructor(publish: Publisher, clock: Clock, watchedUnits: readonly WatchedUnit[]) {
    this.#publish = publish;
    this.#timers = new Timers(clock);
    this.#watchedUnits = watchedUnits;
    this.#absences = new Map(watchedUnits.map(({ scope }) => [scope, NOT_CONNECTED_YET]));
    // Without units nobody calls `setAbsence`, and the backend is up at once.
    if (watchedUnits.length === 0) this.#publishStatus();
  }

  /**
   * The reason why the scope's manager is away; undefined while the manager is reached. Until the first
   * attempt to reach it has ended, the reason is NOT_CONNECTED_YET.
   */
  absenceOf(scope: UnitScope): string | undefined {
    return this.#absences.get(scope);
  }

  /**
   * `absence` is what `absenceOf` returns from now on. If it is undefined, the backend may become `up`, and
   * all units are then published. So `changed` must be called before, for each unit of the scope.
   */
  setAbsence(scope: UnitScope, absence: string | undefined): void {
    this.#absences.set(scope, absence);
    this.#publishStatus();
  }

  /** `unit` is one of the watched units. `record` is undefined for a unit that is unknown or hidden. */
  changed(unit: WatchedUnit, record: ServiceRecord | undefined): void {
    this.#records.set(unit, record);
    if (!this.#timers.has(unit.key)) this.#timers.set(unit.key, GATHER_MS, () => this.publishNow(unit));
  }

  /**
   * Publishes the unit at once, for a change that must precede an answer. The record need not have changed,
   * because the gateway ignores a text that it has already.
   */
  publishNow(unit: WatchedUnit): void {
    this.#timers.cancel(unit.key);
    const record = this.#records.get(unit);
    if (record === undefined) this.#publish.drop('systemd.services', unit.key);
    else {
      const rank = this.#watchedUnits.indexOf(unit);
      this.#publish.put('systemd.services', unit.key, JSON.stringify(record), rank);
    }
  }

  /** Logs why the unit's file state is unknown. `problem` is undefined if there is no such reason. */
  noteFileProblem({ key, scope, name: unit }: WatchedUnit, problem: string | undefined): void {
    if (problem === this.#loggedProblems.get(key)) return;
    this.#loggedProblems.set(key, problem);
    if (problem !== undefined)
      this.#publish.log('warn', 'systemd cannot read the files of a unit', { scope, unit, detail: problem });
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  #publishStatus(): void {
    const absences = [...this.#absences].filter(([, reason]) => reason !== undefined);
    const hasFailed = absences.some(([, reason]) => reason !== NOT_CONNECTED_YET);
    const detail = absences.map(([scope, reason]) => `${scope} scope: ${reason}`).join('; ');
    const isUp = absences.length === 0;
    const status = isUp ? 'up' : detail;
    // The first status waits until all scopes are reached, or until the attempt to reach one has failed.
    const isTooEarly = this.#publishedStatus === undefined && !isUp && !hasFailed;
    if (isTooEarly) return;
    if (status === this.#publishedStatus) return;
    this.#publishedStatus = status;
    // At `up` clients must find each unit as it is now, even if its changes are still being gathered.
    if (isUp) for (const unit of this.#watchedUnits) this.publishNow(unit);
    if (isUp) this.#publish.status('up');
    else this.#publish.status('connecting', detail);
  }
}
