// Responses to `GET` of backends: texts of the journal, joined once and cached until one changes; and the health of each enabled child.
// It parses no text, and waits for a thread only for a backend's first verdict while the service starts.

import type { Clock } from '../clock.js';
import { type BackendHealth, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection } from '../protocol/actor/collections.js';
import { RESOURCES, type Resource, type ResourceSpec } from '../protocol/actor/resources.js';
import type { Journal, JournalEntry } from './journal.js';
import { type Problem, problem } from './problem.js';
import type { CachedResponse, ResponseMaker } from './reply.js';

/** docs/http-api.md, "Answers": a client that returns when the service starts should find the records. */
const FIRST_VERDICT_MS = 2000;

const RESOURCE_NAMES = Object.keys(RESOURCES) as readonly Resource[];
/** The resources that each collection is part of; used at every change. */
const RESOURCES_OF = new Map(
  COLLECTION_NAMES.map((name) => [name, resourcesWhere((spec) => spec.collections.includes(name))] as const),
);

function resourcesWhere(isMeant: (spec: ResourceSpec) => boolean): readonly Resource[] {
  return RESOURCE_NAMES.filter((resource) => isMeant(RESOURCES[resource]));
}

export class Documents {
  readonly #journal: Journal;
  readonly #maker: ResponseMaker;
  readonly #clock: Clock;
  readonly #health: Map<ChildName, BackendHealth>;
  readonly #cached = new Map<Resource, CachedResponse>();
  readonly #changedAt = new Map<Resource, number>();
  /** Each as long as the journal has its entry. */
  readonly #tracklists = new WeakMap<JournalEntry, CachedResponse>();
  /** Requests that wait for a child's first verdict; the child is removed then. */
  readonly #waiting: Map<ChildName, Set<() => void>>;

  constructor(enabled: readonly ChildName[], journal: Journal, maker: ResponseMaker, clock: Clock) {
    this.#journal = journal;
    this.#maker = maker;
    this.#clock = clock;
    const children = CHILD_NAMES.filter((child) => enabled.includes(child));
    this.#waiting = new Map(children.map((child) => [child, new Set()]));
    this.#health = new Map(
      children.map((child) => [child, { state: 'connecting', since: clock.date(), restarts: 0 }]),
    );
  }

  /** Call after the entries were added to the journal. */
  changed(entries: readonly JournalEntry[]): void {
    for (const entry of entries) {
      this.#renew(RESOURCES_OF.get(entry.collection) ?? []);
      if (entry.collection === 'players.tracklist')
        this.#tracklists.set(entry, this.#maker.make(entry.json, this.#clock.date()));
    }
  }

  health(child: ChildName, health: BackendHealth): void {
    const before = this.#health.get(child);
    this.#health.set(child, health);
    // If no record has changed since, a resource's time of change is when its backend came up.
    if (health.state === 'up' && before?.state !== 'up')
      this.#renew(resourcesWhere((spec) => spec.backend === child));
    // A starting backend is `connecting` without a reason, which is not a verdict.
    if (health.state === 'connecting' && health.detail === undefined) return;
    for (const settle of this.#waiting.get(child) ?? []) settle();
    this.#waiting.delete(child);
  }

  /** All enabled children, in start order. */
  allHealth(): ReadonlyMap<ChildName, BackendHealth> {
    return this.#health;
  }

  /** Undefined if there is nothing to wait for. Never rejects; resolves at the latest after `FIRST_VERDICT_MS`. */
  firstVerdict(child: ChildName): Promise<void> | undefined {
    const waiting = this.#waiting.get(child);
    if (waiting === undefined) return undefined;
    return new Promise((resolve) => {
      const settle = (): void => {
        cancel();
        waiting.delete(settle);
        resolve();
      };
      const cancel = this.#clock.after(FIRST_VERDICT_MS, settle);
      waiting.add(settle);
    });
  }

  read(resource: Resource): CachedResponse | Problem {
    const spec: ResourceSpec = RESOURCES[resource];
    const health = this.#health.get(spec.backend);
    const text = health?.state === 'up' ? (this.#cached.get(resource) ?? this.#join(resource)) : undefined;
    if (text !== undefined) return text;
    const reason = health?.detail === undefined ? '' : `: ${health.detail}`;
    return problem('unavailable', `Backend ${spec.backend} is ${health?.state ?? 'not enabled'}${reason}`);
  }

  tracklist(player: string): CachedResponse | Problem {
    const players = this.read('players');
    if ('fault' in players) return players;
    if (this.#journal.record('players', player) === undefined)
      return problem('no-such-player', `There is no player ${JSON.stringify(player)}`);
    const entry = this.#journal.record('players.tracklist', player);
    const made = entry && this.#tracklists.get(entry);
    return made ?? problem('no-tracklist', `${player} has no tracklist`);
  }

  #join(resource: Resource): CachedResponse | undefined {
    const spec: ResourceSpec = RESOURCES[resource];
    const text = spec.join((collection) => this.#texts(collection));
    if (text === undefined) return undefined;
    const made = this.#maker.make(text, this.#changedAt.get(resource) ?? this.#clock.date());
    this.#cached.set(resource, made);
    return made;
  }

  #renew(resources: readonly Resource[]): void {
    const date = this.#clock.date();
    for (const resource of resources) {
      this.#cached.delete(resource);
      this.#changedAt.set(resource, date);
    }
  }

  #texts(collection: Collection): readonly string[] {
    return [...this.#journal.records(collection)]
      .sort((a, b) => (a.rank === b.rank ? 0 : a.rank - b.rank))
      .map(({ json }) => json);
  }
}
