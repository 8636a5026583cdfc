// Starts the children one after another, pings their threads, and stops the children in reverse order.
// child.ts decides about a single child.

import { type Clock, systemClock, Timers, within } from '../host/clock.js';
import { IdleHeap } from '../host/idle-heap.js';
import type { Backend, ChildName } from '../protocol/actor/backends.js';
import { LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { Backends, ChildListener, Log, ThreadReport } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { Child } from './child.js';
import { HEARTBEAT, type HeartbeatPolicy } from './incarnation.js';
import { CHILDREN, type ChildSpec, RESTARTS, type RestartPolicy, stopTimeMs } from './policy.js';
import type { Threads } from './threads.js';

/**
 * The next child starts after the first message of the child before it, or at the latest after this time.
 * Threads that load at the same time delay each other: on two cores the first of four is ready after 163 ms,
 * but after 125 ms if it loads alone (bench/FIGURES.md, "The start"). With a tenth of a core the first child
 * needs more than 300 ms for its first message, so this time must be longer than 300 ms. A long wait costs
 * little, because the first HTTP answer does not need the second child.
 */
const START_SPACING_MAX_MS = 1000;
/**
 * A command that has no answer after this time is answered with 504 (docs/http-api.md, "Limits"). An actor's
 * own deadlines for a command are shorter, because the actor's fault is more exact and should come first.
 */
const COMMAND_DEADLINE_MS = 10_000;

function haveSettingsChanged(name: ChildName, before: Settings, after: Settings): boolean {
  return JSON.stringify(before[name]) !== JSON.stringify(after[name]);
}

export interface SupervisorOptions {
  readonly settings: Settings;
  /** The directory of main.js. It ends with a slash. */
  readonly root: URL;
  readonly log: Log;
  readonly children?: readonly ChildSpec[];
  readonly restarts?: RestartPolicy;
  readonly heartbeat?: HeartbeatPolicy;
  readonly askWithinMs?: number;
  /** Created before the settings are read, so that the first thread boots during the reading. */
  readonly threads: Threads;
  readonly clock?: Clock;
}

export class Supervisor implements Backends {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #heap = new IdleHeap();
  readonly #timers: Timers<'beat' | 'pongs'>;
  readonly #heartbeat: HeartbeatPolicy;
  /** In start order. */
  readonly #children = new Map<ChildName, Child>();
  #settings: Settings;
  #listener: ChildListener | undefined;
  #areLevelsWatched = false;
  #stopping: Promise<void> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#clock = options.clock ?? systemClock;
    this.#timers = new Timers(this.#clock);
    this.#heartbeat = options.heartbeat ?? HEARTBEAT;
  }

  /** Starts the enabled children in order. They report to `listener`. To be called once. */
  start(listener: ChildListener): void {
    this.#listener = listener;
    this.startMissing();
    // Only the first child can take the preloaded thread, and `startMissing` has already started this child.
    void this.#options.threads.endPreloaded();
  }

  /**
   * Takes new settings. Stops the children whose own settings have changed, in reverse order, and returns
   * their names. Some of these children may be disabled now. Never rejects.
   */
  async stopChanged(settings: Settings): Promise<readonly ChildName[]> {
    const before = this.#settings;
    this.#settings = settings;
    const changed = [...this.#children.values()].filter(({ name }) =>
      haveSettingsChanged(name, before, settings),
    );
    for (const child of changed) child.preventStart();
    for (const child of changed.toReversed()) {
      // If the daemon is ending, `#stopAll` stops the remaining children, and may give each one less time.
      if (this.#stopping !== undefined) break;
      await child.stop();
      this.#children.delete(child.name);
    }
    return changed.map(({ name }) => name);
  }

  /** Makes the enabled children that do not exist yet, and starts them in order. Returns their names. */
  startMissing(): readonly ChildName[] {
    const { children: specs = CHILDREN } = this.#options;
    if (this.#stopping !== undefined) return [];
    const existing = new Map(this.#children);
    // The map is filled anew, because it must be in start order. No existing child is lost, because
    // `stopChanged` has removed the children that are not enabled any more.
    this.#children.clear();
    const enabled = specs.filter((spec) => spec.isEnabled(this.#settings));
    for (const spec of enabled)
      this.#children.set(spec.name, existing.get(spec.name) ?? this.#newChild(spec));
    const missing = [...this.#children.values()].filter(({ name }) => !existing.has(name));
    void this.#startAll(missing);
    if (this.#children.size > 0 && !this.#timers.has('beat')) this.#armBeat();
    return missing.map(({ name }) => name);
  }

  #newChild(spec: ChildSpec): Child {
    const { root, threads, log, restarts = RESTARTS, askWithinMs = COMMAND_DEADLINE_MS } = this.#options;
    const listener = this.#listener;
    if (listener === undefined) throw new Error('The supervisor has not been started');
    return new Child(spec, this.#settings[spec.name], {
      root,
      threads,
      clock: this.#clock,
      log,
      listener,
      restartPolicy: restarts,
      askWithinMs,
      areLevelsWatched: () => this.#areLevelsWatched,
      onPong: () => this.#cancelPongDeadlineIfUnneeded(),
    });
  }

  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    const child = this.#children.get(backend);
    if (child !== undefined) return child.ask(command);
    return Promise.resolve(failure('unavailable', `The ${backend} backend is not running`));
  }

  watchLevels(isWatched: boolean): void {
    this.#areLevelsWatched = isWatched;
    this.#children.get(LEVEL_BACKEND)?.watchLevels();
  }

  threads(): ReadonlyMap<ChildName, ThreadReport> {
    const reports = new Map<ChildName, ThreadReport>();
    for (const [name, { incarnation }] of this.#children) {
      const report = incarnation?.requestReport();
      if (report !== undefined) reports.set(name, report);
    }
    return reports;
  }

  /**
   * Stops the children in reverse order. All children together have `withinMs`, and those that do not stop in
   * time are killed. Never rejects. Does not resolve while a thread is stuck, because this thread keeps the
   * process alive.
   */
  stop(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.#stopping ??= this.#stopAll(withinMs);
    return this.#stopping;
  }

  async #stopAll(withinMs: number): Promise<void> {
    const deadline = this.#clock.monotonic() + withinMs;
    this.#timers.cancelAll();
    const childrenInStopOrder = [...this.#children.values()].reverse();
    // No child may restart while another child is stopping.
    for (const child of childrenInStopOrder) child.preventStart();
    const fullTimesMs = childrenInStopOrder.map(({ spec }) => spec.stopWithinMs);
    for (const [index, child] of childrenInStopOrder.entries()) {
      const leftMs = deadline - this.#clock.monotonic();
      await child.stop(stopTimeMs(fullTimesMs.slice(index), leftMs));
    }
    await this.#options.threads.whenNoneIsStuck();
  }

  async #startAll(newChildren: readonly Child[]): Promise<void> {
    for (const child of newChildren) {
      if (this.#stopping !== undefined) return;
      // A reload may have stopped the child before this loop came to it.
      if (this.#children.get(child.name) !== child) continue;
      child.start();
      await within(this.#clock, START_SPACING_MAX_MS, child.firstMessage);
    }
  }

  #armBeat(): void {
    this.#timers.set('beat', this.#heartbeat.everyMs, () => this.#beat());
  }

  #beat(): void {
    this.#armBeat();
    this.#heap.shrink();
    // New pings would postpone the deadline of the earlier pings.
    if (this.#timers.has('pongs')) return;
    const now = this.#clock.monotonic();
    const policy = this.#heartbeat;
    let hasPinged = false;
    for (const { incarnation } of this.#children.values()) {
      if (incarnation?.ping(now, policy)) hasPinged = true;
    }
    if (hasPinged) this.#armPongDeadline();
  }

  #armPongDeadline(): void {
    const policy = this.#heartbeat;
    this.#timers.set('pongs', policy.pongWithinMs, () => {
      let isPongStillAwaited = false;
      for (const { incarnation } of this.#children.values()) {
        if (incarnation?.checkPong(policy)) isPongStillAwaited = true;
      }
      if (isPongStillAwaited) this.#armPongDeadline();
    });
  }

  /** Without an awaited pong, the deadline would only wake the main thread. */
  #cancelPongDeadlineIfUnneeded(): void {
    const children = [...this.#children.values()];
    if (!children.some(({ incarnation }) => incarnation?.isPongAwaited)) this.#timers.cancel('pongs');
  }
}
