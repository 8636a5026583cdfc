// Publishes units: turns facts into Service records (docs/http-api.md, "Service"), sends changed ones,
// gathered for a moment, and publishes whether the backend is up, which it is when every scope is. Records
// arrive in their present state and are encoded when they are sent.

import { type Clock, Timers } from '../../host/clock.js';
import type { UnitScope } from '../../protocol/actor/commands.js';
import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';
import { clipped } from '../text.js';
import { isAtRest, type UnitFacts } from '../units/facts.js';

/** With this, 200 changes in 100 ms cost two or three events. */
const GATHER_MS = 50;
/** In UTF-16 units: systemd accepts lines of 1 MiB. */
const DESCRIPTION_MAX = 1024;

/** A configured unit. The record keeps this name, whatever systemd calls the unit. */
export interface WatchedUnit {
  /** Key in the collection: scope, slash, configured name. */
  readonly key: string;
  readonly scope: UnitScope;
  readonly name: string;
  readonly url?: string;
}

/** systemd's states that clients know. */
const ACTIVE_STATES = [
  'active',
  'reloading',
  'inactive',
  'failed',
  'activating',
  'deactivating',
  'maintenance',
] as const;

/** `fileState` is the unit file state; undefined without a unit file. */
export function serviceRecord(
  { name, scope, url }: WatchedUnit,
  facts: UnitFacts,
  fileState: string | undefined,
): ServiceRecord {
  const { activeState, subState, description } = facts;
  const exists = fileState !== undefined || facts.loadState !== 'not-found' || !isAtRest(facts);
  // Since systemd 254: a reload of mounts or extensions while the unit stays active.
  const known = activeState === 'refreshing' ? 'reloading' : activeState;
  const state = exists ? ACTIVE_STATES.find((each) => each === known) : undefined;
  return {
    name,
    scope,
    ...(state !== undefined && { active_state: state }),
    ...(state !== undefined && subState !== '' && { sub_state: subState }),
    running: activeState === 'active' && subState === 'running',
    enabled: fileState === 'enabled',
    ...(fileState !== undefined && { unit_file_state: fileState }),
    exists,
    ...(exists && description !== '' && { description: clipped(description, DESCRIPTION_MAX) }),
    ...(url !== undefined && { url }),
  };
}

export class ServicePublisher {
  readonly #publish: Publisher;
  /** By unit key; present while changes are gathered. */
  readonly #windows: Timers<string>;
  readonly #watched: readonly WatchedUnit[];
  /** Undefined for a unit that is unknown or hidden. */
  readonly #records = new Map<WatchedUnit, ServiceRecord | undefined>();
  /** See `absenceOf`. */
  readonly #absences: Map<UnitScope, string | undefined>;
  /** The last line logged for each unit's files, so that it is not repeated. */
  readonly #logged = new Map<string, string | undefined>();
  #status = '';

  constructor(publish: Publisher, clock: Clock, watched: readonly WatchedUnit[]) {
    this.#publish = publish;
    this.#windows = new Timers(clock);
    this.#watched = watched;
    this.#absences = new Map(watched.map(({ scope }) => [scope, '']));
    if (watched.length === 0) this.#publishStatus();
  }

  /** Why the scope's manager is away: '' until it was tried, undefined while it is there. */
  absenceOf(scope: UnitScope): string | undefined {
    return this.#absences.get(scope);
  }

  /**
   * `absence` as in `absenceOf`. For one that is there now, to be called after `changed` for every unit of
   * the scope.
   */
  scopeIs(scope: UnitScope, absence: string | undefined): void {
    this.#absences.set(scope, absence);
    this.#publishStatus();
  }

  /** `unit` is one of the watched ones. */
  changed(unit: WatchedUnit, record: ServiceRecord | undefined): void {
    this.#records.set(unit, record);
    if (!this.#windows.has(unit.key)) this.#windows.set(unit.key, GATHER_MS, () => this.publishNow(unit));
  }

  /** Publishes at once, so that the change precedes the answer. The gateway ignores a text that is equal. */
  publishNow(unit: WatchedUnit): void {
    this.#windows.cancel(unit.key);
    const record = this.#records.get(unit);
    if (record === undefined) this.#publish.drop('systemd.services', unit.key);
    else this.#publish.put('systemd.services', unit.key, JSON.stringify(record), this.#watched.indexOf(unit));
  }

  /** Logs why the unit's file state is unknown; `problem` is undefined if it is known. */
  noteFileProblem({ key, scope, name: unit }: WatchedUnit, problem: string | undefined): void {
    if (problem === this.#logged.get(key)) return;
    this.#logged.set(key, problem);
    if (problem !== undefined)
      this.#publish.log('warn', 'systemd cannot read the files of a unit', { scope, unit, detail: problem });
  }

  stop(): void {
    this.#windows.cancelAll();
  }

  #publishStatus(): void {
    const away = [...this.#absences].filter(([, reason]) => reason);
    const detail = away.map(([scope, reason]) => `${scope} scope: ${reason}`).join('; ');
    const isUp = [...this.#absences.values()].every((reason) => reason === undefined);
    const status = isUp ? 'up' : detail;
    if (status === this.#status) return;
    this.#status = status;
    // Clients that see `up` must find each unit as it is now, also one whose changes are still being
    // gathered.
    if (isUp) for (const unit of this.#watched) this.publishNow(unit);
    this.#publish.status(isUp ? 'up' : 'connecting', detail || undefined);
  }
}
