// Publishes units: turns facts into Service records (docs/http-api.md, "Service"), sends changed ones, throttled, and publishes whether the
// backend is up, which it is when every scope is. Records arrive in their present state and are encoded when they are sent.

import { type Clock, Timers } from '../../clock.js';
import type { UnitScope } from '../../protocol/actor/commands.js';
import type { ServiceRecord } from '../../protocol/actor/schemas.js';
import type { Publisher } from '../runtime.js';
import { clipped } from '../text.js';
import { isAtRest, type UnitFacts } from '../units/facts.js';

const COLLECTION = 'systemd.services';

/** With this, 200 changes in 100 ms cost two or three events. */
const SHORTEST_WINDOW_MS = 50;
const LONGEST_WINDOW_MS = 2_000;
/** In UTF-16 units: systemd accepts lines of 1 MiB. */
const DESCRIPTION_MAX = 1024;
/** Events before throttling begins: a start and a stop with the states in between, which someone may be watching. */
const FREE_EVENTS = 4;
/** Time after the last event until a unit counts as calm again. */
const CALM_AFTER_MS = 2_000;

/** A configured unit. The record keeps this name, whatever systemd calls the unit. */
export interface WatchedUnit {
  /** Key in the collection: scope, slash, configured name. */
  readonly key: string;
  readonly scope: UnitScope;
  readonly name: string;
  readonly url?: string;
}

type ActiveState = NonNullable<ServiceRecord['active_state']>;

/** systemd's states that clients know, and what newer states are mapped to. */
const ACTIVE_STATES: Readonly<Record<string, ActiveState>> = {
  active: 'active',
  reloading: 'reloading',
  inactive: 'inactive',
  failed: 'failed',
  activating: 'activating',
  deactivating: 'deactivating',
  maintenance: 'maintenance',
  // Since systemd 254: a reload of mounts or extensions while the unit stays active.
  refreshing: 'reloading',
};

/**
 * `fileState` is the unit file state, undefined without a unit file. `atRest` comes from the manager's directory when the manager cannot be
 * asked; undefined while it can.
 */
export function serviceRecord(
  { name, scope, url }: WatchedUnit,
  facts: UnitFacts,
  fileState: string | undefined,
  atRest?: boolean,
): ServiceRecord {
  const exists = fileState !== undefined || facts.loadState !== 'not-found' || !isAtRest(facts);
  // The directory shows only rest or not. If it contradicts the manager's last state, the detailed state is unknown.
  const agrees = atRest === undefined || atRest === isAtRest(facts);
  const state = agrees ? ACTIVE_STATES[facts.activeState] : undefined;
  const runs = facts.activeState === 'active' && facts.subState === 'running';
  return {
    name,
    scope,
    ...(exists && state !== undefined && { active_state: state }),
    ...(exists && state !== undefined && facts.subState !== '' && { sub_state: facts.subState }),
    // Without a manager this only means that the unit was started and has not ended.
    running: agrees ? runs : !atRest,
    enabled: fileState === 'enabled',
    ...(fileState !== undefined && { unit_file_state: fileState }),
    exists,
    ...(exists && facts.description !== '' && { description: clipped(facts.description, DESCRIPTION_MAX) }),
    ...(url !== undefined && { url }),
  };
}

/** A scope's manager. `detail` says what is wrong, or why it is away; undefined if it was not tried yet. */
interface ScopeState {
  readonly up: boolean;
  readonly detail: string | undefined;
}

/**
 * A throttle whose window grows: short at first, longer while a unit keeps changing, so that a crash loop costs one event every two seconds
 * and not fifty.
 */
class Throttle {
  #windowMs = 0;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #events = 0;

  /** How long to gather changes from now on, the first change of this window. */
  windowMs(now: number): number {
    if (this.#isCalm(now) || this.#events < FREE_EVENTS) return SHORTEST_WINDOW_MS;
    return Math.min(this.#windowMs * 2, LONGEST_WINDOW_MS);
  }

  /** Records that an event was sent, gathered over `windowMs`. */
  sent(windowMs: number, now: number): void {
    this.#events = this.#isCalm(now) ? 1 : this.#events + 1;
    this.#windowMs = windowMs;
    this.#publishedAt = now;
  }

  #isCalm(now: number): boolean {
    return now - this.#publishedAt > CALM_AFTER_MS + this.#windowMs;
  }
}

/** One unit's record: the present one, and the last published one. */
interface PublishedService {
  readonly rank: number;
  readonly throttle: Throttle;
  /** Undefined for a unit that is unknown or hidden. */
  record?: ServiceRecord | undefined;
  published?: string | undefined;
}

export class ServicePublisher {
  readonly #publish: Publisher;
  readonly #clock: Clock;
  /** By unit key; present while changes are gathered. */
  readonly #windows: Timers<string>;
  readonly #entries: ReadonlyMap<string, PublishedService>;
  readonly #scopes = new Map<UnitScope, ScopeState>();
  /** The last line logged for each scope and for each unit's files, so that it is not repeated. */
  readonly #logged = new Map<string, string>();
  #up = false;
  #publishedDetail: string | undefined;

  constructor(publish: Publisher, clock: Clock, watched: readonly WatchedUnit[]) {
    this.#publish = publish;
    this.#clock = clock;
    this.#windows = new Timers(clock);
    this.#entries = new Map(watched.map(({ key }, rank) => [key, { rank, throttle: new Throttle() }]));
    for (const { scope } of watched) this.#scopes.set(scope, { up: false, detail: undefined });
    if (watched.length === 0) this.#goUp(undefined);
  }

  /** To be called after `changed` for every unit of the scope. `detail` says what is wrong. */
  scopeUp(scope: UnitScope, detail: string | undefined): void {
    if (detail === undefined) this.#log('info', 'systemd is watched', scope);
    else this.#log('warn', 'systemd is watched without signals', scope, detail);
    this.#scopeIs(scope, { up: true, detail });
  }

  scopeDown(scope: UnitScope, detail: string): void {
    this.#log('warn', 'not connected to systemd', scope, detail);
    this.#scopeIs(scope, { up: false, detail });
  }

  changed({ key }: WatchedUnit, record: ServiceRecord | undefined): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.record = record;
    if (this.#windows.has(key)) return;
    const windowMs = entry.throttle.windowMs(this.#clock.monotonic());
    this.#windows.set(key, windowMs, () => {
      if (this.#publishEntry(key, entry)) entry.throttle.sent(windowMs, this.#clock.monotonic());
    });
  }

  /** Like `changed`, but published at once, before an answer that follows. */
  changedNow({ key }: WatchedUnit, record: ServiceRecord | undefined): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.record = record;
    this.#windows.cancel(key);
    this.#publishEntry(key, entry);
  }

  /** Logs why the unit's file state is unknown; `trouble` is undefined if it is known. */
  fileTrouble({ key, scope, name: unit }: WatchedUnit, trouble: string | undefined): void {
    if (trouble === this.#logged.get(key)) return;
    if (trouble === undefined) this.#logged.delete(key);
    else {
      this.#logged.set(key, trouble);
      this.#publish.log('warn', 'systemd cannot read the files of a unit', { scope, unit, detail: trouble });
    }
  }

  stop(): void {
    this.#windows.cancelAll();
  }

  #scopeIs(scope: UnitScope, state: ScopeState): void {
    this.#scopes.set(scope, state);
    const details = [...this.#scopes].filter(([, { detail }]) => detail !== undefined);
    const detail =
      details.map(([name, { detail: what }]) => `${name} scope: ${what}`).join('; ') || undefined;
    if ([...this.#scopes.values()].every(({ up }) => up)) this.#goUp(detail);
    else this.#goDown(detail);
  }

  #goUp(detail: string | undefined): void {
    if (!this.#up) {
      // The collection is empty while the backend is not up, so everything is published again.
      this.#windows.cancelAll();
      for (const [key, entry] of this.#entries) this.#publishEntry(key, entry, 'again');
    } else if (detail === this.#publishedDetail) return;
    this.#up = true;
    this.#publishedDetail = detail;
    this.#publish.status('up', detail);
  }

  #goDown(detail: string | undefined): void {
    if (!this.#up && detail === this.#publishedDetail) return;
    this.#up = false;
    this.#publishedDetail = detail;
    this.#publish.status('connecting', detail);
  }

  /** True if something was published. */
  #publishEntry(key: string, entry: PublishedService, again?: 'again'): boolean {
    const text = entry.record && JSON.stringify(entry.record);
    if (text === entry.published && (text === undefined || again === undefined)) return false;
    entry.published = text;
    if (text === undefined) this.#publish.drop(COLLECTION, key);
    else this.#publish.put(COLLECTION, key, text, entry.rank);
    return true;
  }

  /** One line per change, never one per attempt. */
  #log(level: 'info' | 'warn', message: string, scope: UnitScope, detail?: string): void {
    if (this.#logged.get(scope) === message) return;
    this.#logged.set(scope, message);
    this.#publish.log(level, message, { scope, ...(detail !== undefined && { detail }) });
  }
}
