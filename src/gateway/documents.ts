// Makes the responses to `GET` requests for backends' records, and keeps the health of the enabled children.
// A response joins texts of the journal without parsing them. It is cached until one of these texts changes,
// or until the backend comes up again.

import type { Clock } from '../host/clock.js';
import { type BackendHealth, type ChildName, stateWithReason } from '../protocol/actor/backends.js';
import type { Collection } from '../protocol/actor/collections.js';
import { RESOURCES, type Resource, type ResourceSpec } from '../protocol/actor/collections.js';
import { failed, type Result, success } from '../protocol/actor/result.js';
import type { Journal, JournalEntry, LastChange } from './journal.js';
import { type Problem, problem } from './problem.js';
import type { CachedResponse, ResponseMaker } from './reply.js';

/**
 * The longest time that a request waits for a backend's first health report. A client may connect again while
 * the daemon starts, and must then get the records (docs/http-api.md, "Answers").
 */
const FIRST_HEALTH_MS = 2000;

export class Documents {
  readonly #journal: Journal;
  readonly #maker: ResponseMaker;
  readonly #clock: Clock;
  /** By enabled child, in start order. */
  #health = new Map<ChildName, BackendHealth>();
  /**
   * The moment at which each backend last came up. The backend's records count as changed at this moment, or
   * later if they changed later.
   */
  readonly #upSince = new Map<ChildName, LastChange>();
  /** Each response is stored with the number and time of the newest change that it contains. */
  readonly #cached = new Map<Resource, LastChange & { readonly response: CachedResponse }>();
  /** A response is cached while the journal has the entry of its tracklist. */
  readonly #tracklists = new WeakMap<JournalEntry, CachedResponse>();
  /**
   * The functions that resume the waiting requests, by child. These requests wait for the child's first
   * report. A child has no entry after this report, or while it is not enabled. `connecting` without a detail
   * is no report: the child has only started.
   */
  readonly #waitingRequests = new Map<ChildName, Set<() => void>>();

  constructor(enabled: readonly ChildName[], journal: Journal, maker: ResponseMaker, clock: Clock) {
    this.#journal = journal;
    this.#maker = maker;
    this.#clock = clock;
    this.setEnabled(enabled, []);
  }

  /** The children of `enabled` become `connecting`, but those of `unchanged` keep their health. */
  setEnabled(enabled: readonly ChildName[], unchanged: readonly ChildName[]): void {
    const before = this.#health;
    const connecting: BackendHealth = { state: 'connecting', since: this.#clock.date(), restarts: 0 };
    const isUnchanged = (child: ChildName): boolean => unchanged.includes(child);
    const healthOf = (child: ChildName): BackendHealth =>
      isUnchanged(child) ? (before.get(child) ?? connecting) : connecting;
    this.#health = new Map(enabled.map((child) => [child, healthOf(child)]));
    // A child that is not in `unchanged` is stopped. Its requests would wait for a report that never comes.
    for (const child of before.keys()) if (!isUnchanged(child)) this.#resumeRequests(child);
    for (const child of enabled) if (!isUnchanged(child)) this.#waitingRequests.set(child, new Set());
  }

  setHealth(child: ChildName, health: BackendHealth): void {
    const before = this.#health.get(child);
    this.#health.set(child, health);
    if (health.state === 'up' && before?.state !== 'up')
      this.#upSince.set(child, { changeNumber: this.#journal.changeCount, changedAt: this.#clock.date() });
    const hasReported = health.state !== 'connecting' || health.detail !== undefined;
    if (hasReported) this.#resumeRequests(child);
  }

  #resumeRequests(child: ChildName): void {
    for (const resume of this.#waitingRequests.get(child) ?? []) resume();
    this.#waitingRequests.delete(child);
  }

  /** The children are in start order. */
  allHealth(): ReadonlyMap<ChildName, BackendHealth> {
    return this.#health;
  }

  /**
   * Undefined if the child has reported, or is not enabled. The promise never rejects, and resolves after
   * `withinMs` at the latest.
   */
  waitForFirstHealth(child: ChildName, withinMs = FIRST_HEALTH_MS): Promise<void> | undefined {
    const waitingRequests = this.#waitingRequests.get(child);
    if (waitingRequests === undefined) return undefined;
    return new Promise((resolve) => {
      // `cancel` has its value when `resume` runs, because `after` never calls back at once.
      const resume = (): void => {
        cancel();
        waitingRequests.delete(resume);
        resolve();
      };
      const cancel = this.#clock.after(withinMs, resume);
      waitingRequests.add(resume);
    });
  }

  responseTo(resource: Resource): Result<CachedResponse, Problem> {
    const spec: ResourceSpec = RESOURCES[resource];
    const health = this.#health.get(spec.backend);
    const response = health?.state === 'up' ? this.#cachedOrMade(resource, spec) : undefined;
    if (response !== undefined) return success(response);
    const state = health === undefined ? 'not enabled' : stateWithReason(health.state, reasonOf(health));
    return failed(problem('unavailable', `Backend ${spec.backend} is ${state}`));
  }

  tracklist(player: string): Result<CachedResponse, Problem> {
    // Players and tracklists have the same backend. If this backend is not up, the problem is the same, too.
    const players = this.responseTo('players');
    if (!players.ok) return players;
    if (this.#journal.record('players', player) === undefined)
      return failed(problem('no-such-player', `There is no player ${JSON.stringify(player)}`));
    const entry = this.#journal.record('players.tracklist', player);
    if (entry === undefined) return failed(problem('no-tracklist', `${player} has no tracklist`));
    const response = this.#tracklists.get(entry) ?? this.#maker.make(entry.json, entry.changedAt);
    this.#tracklists.set(entry, response);
    return success(response);
  }

  #cachedOrMade(
    resource: Resource,
    { backend, collections, join }: ResourceSpec,
  ): CachedResponse | undefined {
    // The backend is up, so `#upSince` has it. The default is only for the type.
    let newest = this.#upSince.get(backend) ?? { changeNumber: 0, changedAt: this.#clock.date() };
    for (const collection of collections) {
      const change = this.#journal.lastChange(collection);
      if (change.changeNumber > newest.changeNumber) newest = change;
    }
    const cached = this.#cached.get(resource);
    const { changeNumber, changedAt } = newest;
    // `changeNumber` alone is not enough. If the journal does not change before the backend comes up again,
    // only `changedAt` differs.
    if (cached?.changeNumber === changeNumber && cached.changedAt === changedAt) return cached.response;
    const text = join((collection) => this.#texts(collection));
    if (text === undefined) return undefined;
    const response = this.#maker.make(text, changedAt);
    this.#cached.set(resource, { changeNumber, changedAt, response });
    return response;
  }

  #texts(collection: Collection): readonly string[] {
    return [...this.#journal.records(collection)]
      .sort((a, b) => {
        // Records without a rank have the rank Infinity, and Infinity - Infinity is no number.
        return a.rank === b.rank ? 0 : a.rank - b.rank;
      })
      .map(({ json }) => json);
  }
}

/**
 * The reason for a missing response; undefined if the backend reports no reason. If the backend is up, the
 * response needs a record that the backend has not published yet.
 */
function reasonOf({ state, detail }: BackendHealth): string | undefined {
  return state === 'up' ? 'it has not reported this yet' : detail;
}
