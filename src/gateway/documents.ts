// Makes the responses to `GET` of backends from texts of the journal, which are joined once and cached until
// one of them changes. It also has the health of each enabled child. No text is parsed. A response waits for
// a thread only while a backend starts, until its first health report.

import type { Clock } from '../host/clock.js';
import type { BackendHealth, ChildName } from '../protocol/actor/backends.js';
import type { Collection } from '../protocol/actor/collections.js';
import { RESOURCES, type Resource, type ResourceSpec } from '../protocol/actor/collections.js';
import { failed, type Result, success } from '../protocol/actor/result.js';
import type { Journal, JournalEntry, LastChange } from './journal.js';
import { type Problem, problem } from './problem.js';
import type { CachedResponse, ResponseMaker } from './reply.js';

/**
 * The longest wait for a backend's first health report, so that a client that comes back while the service
 * starts finds the records (docs/http-api.md, "Answers").
 */
const FIRST_HEALTH_MS = 2000;

export class Documents {
  readonly #journal: Journal;
  readonly #maker: ResponseMaker;
  readonly #clock: Clock;
  #health = new Map<ChildName, BackendHealth>();
  /**
   * When each backend came up last. Records that have not changed since have this as their time of change.
   */
  readonly #upSince = new Map<ChildName, LastChange>();
  /** Each response has the last change that its records had when it was made. */
  readonly #cached = new Map<Resource, LastChange & { readonly response: CachedResponse }>();
  /** A response is cached as long as the journal has the entry of the tracklist. */
  readonly #tracklists = new WeakMap<JournalEntry, CachedResponse>();
  /** Requests that wait for a child's first health report. The report removes the child. */
  readonly #waiting = new Map<ChildName, Set<() => void>>();

  constructor(enabled: readonly ChildName[], journal: Journal, maker: ResponseMaker, clock: Clock) {
    this.#journal = journal;
    this.#maker = maker;
    this.#clock = clock;
    this.follow(enabled, []);
  }

  /** The children of `enabled` are `connecting`, except those of `unchanged`, which keep their health. */
  follow(enabled: readonly ChildName[], unchanged: readonly ChildName[]): void {
    const before = this.#health;
    const starting: BackendHealth = { state: 'connecting', since: this.#clock.date(), restarts: 0 };
    const isUnchanged = (child: ChildName): boolean => unchanged.includes(child);
    this.#health = new Map(
      enabled.map((child) => [child, (isUnchanged(child) ? before.get(child) : undefined) ?? starting]),
    );
    for (const child of before.keys()) if (!isUnchanged(child)) this.#settle(child);
    for (const child of enabled) if (!isUnchanged(child)) this.#waiting.set(child, new Set());
  }

  setHealth(child: ChildName, health: BackendHealth): void {
    const before = this.#health.get(child);
    this.#health.set(child, health);
    if (health.state === 'up' && before?.state !== 'up')
      this.#upSince.set(child, { order: this.#journal.order, at: this.#clock.date() });
    // A backend that starts is `connecting` without a reason, and this is no report yet.
    if (health.state === 'connecting' && health.detail === undefined) return;
    this.#settle(child);
  }

  /** Resumes the requests that wait for the child's first health report. */
  #settle(child: ChildName): void {
    for (const settle of this.#waiting.get(child) ?? []) settle();
    this.#waiting.delete(child);
  }

  /** All enabled children, in start order. */
  allHealth(): ReadonlyMap<ChildName, BackendHealth> {
    return this.#health;
  }

  /** Undefined if there is nothing to wait for. Never rejects; resolves at the latest after `withinMs`. */
  firstHealth(child: ChildName, withinMs = FIRST_HEALTH_MS): Promise<void> | undefined {
    const waiting = this.#waiting.get(child);
    if (waiting === undefined) return undefined;
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        waiting.delete(settle);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, settle);
      waiting.add(settle);
    });
  }

  read(resource: Resource): Result<CachedResponse, Problem> {
    const spec: ResourceSpec = RESOURCES[resource];
    const health = this.#health.get(spec.backend);
    const text = health?.state === 'up' ? this.#joined(resource, spec) : undefined;
    if (text !== undefined) return success(text);
    const reason = health?.detail === undefined ? '' : `: ${health.detail}`;
    const state = health?.state ?? 'not enabled';
    return failed(problem('unavailable', `Backend ${spec.backend} is ${state}${reason}`));
  }

  tracklist(player: string): Result<CachedResponse, Problem> {
    const players = this.read('players');
    if (!players.ok) return players;
    if (this.#journal.record('players', player) === undefined)
      return failed(problem('no-such-player', `There is no player ${JSON.stringify(player)}`));
    const entry = this.#journal.record('players.tracklist', player);
    if (entry === undefined) return failed(problem('no-tracklist', `${player} has no tracklist`));
    const made = this.#tracklists.get(entry) ?? this.#maker.make(entry.json, entry.at);
    this.#tracklists.set(entry, made);
    return success(made);
  }

  #joined(resource: Resource, { backend, collections, join }: ResourceSpec): CachedResponse | undefined {
    let newest = this.#upSince.get(backend) ?? { order: 0, at: this.#clock.date() };
    for (const collection of collections) {
      const change = this.#journal.lastChange(collection);
      if (change.order > newest.order) newest = change;
    }
    const cached = this.#cached.get(resource);
    const { order, at } = newest;
    if (cached?.order === order && cached.at === at) return cached.response;
    const text = join((collection) => this.#texts(collection));
    if (text === undefined) return undefined;
    const response = this.#maker.make(text, at);
    this.#cached.set(resource, { order, at, response });
    return response;
  }

  #texts(collection: Collection): readonly string[] {
    return [...this.#journal.records(collection)]
      .sort((a, b) => {
        // Records without a rank have an infinite one, and two infinities have no difference.
        return a.rank === b.rank ? 0 : a.rank - b.rank;
      })
      .map(({ json }) => json);
  }
}
