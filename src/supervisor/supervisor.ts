// Starts the children one after another, pings their threads, and stops them in reverse order. child.ts
// decides about a single child.

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
 * The longest wait for a child's first message before the next child starts. Threads that load together are
 * all ready late: on two cores the first of four is ready after 163 ms, and after 125 ms if it loads alone
 * (bench/FIGURES.md, "The start"). With a tenth of a core the first child needs more than 300 ms for its
 * first message, so the wait must be longer than this. A long wait costs little, because the first HTTP
 * answer does not need the second child.
 */
const START_SPACING_MAX_MS = 1000;
/**
 * A command that has no answer after this time is answered with 504 (docs/http-api.md, "Limits"). Actors
 * have a somewhat shorter deadline for their own requests, because their fault is more exact, and should
 * come first.
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
  /** Created before the settings are read, so that the first thread boots meanwhile. */
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

  /** Starts the enabled children in order and reports to `listener`. Call it once. */
  start(listener: ChildListener): void {
    this.#listener = listener;
    this.startMissing();
    // Only the first child can take the preloaded thread, and `startMissing` returns after the start of this
    // child.
    void this.#options.threads.endPreloaded();
  }

  /**
   * Takes new settings, and stops the children whose own settings have changed, in reverse order. Returns
   * the names of these children. Some of them may not be enabled any more. Never rejects.
   */
  async stopChanged(settings: Settings): Promise<readonly ChildName[]> {
    const before = this.#settings;
    this.#settings = settings;
    const changed = [...this.#children.values()].filter(({ name }) =>
      haveSettingsChanged(name, before, settings),
    );
    for (const child of changed) child.preventStart();
    for (const child of changed.toReversed()) {
      // The daemon is ending: `#stopAll` stops all children that are left, and may give each less time.
      if (this.#stopping !== undefined) break;
      await child.stop();
      this.#children.delete(child.name);
    }
    return changed.map(({ name }) => name);
  }

  /** Makes and starts the enabled children that do not exist yet, in order. Returns their names. */
  startMissing(): readonly ChildName[] {
    const { children = CHILDREN } = this.#options;
    if (this.#stopping !== undefined) return [];
    const existing = new Map(this.#children);
    // The map is filled anew, because it must be in start order. No existing child is lost, because
    // `stopChanged` has removed those that are not enabled any more.
    this.#children.clear();
    const enabled = children.filter((spec) => spec.isEnabled(this.#settings));
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
      onPong: () => this.#cancelPongDeadline(),
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
   * Stops the children in reverse order. All have `withinMs` together, and those that do not stop in time are
   * killed. Afterwards no thread keeps the process alive. Never rejects, and does not resolve while a thread
   * is stuck.
   */
  stop(withinMs = Number.POSITIVE_INFINITY): Promise<void> {
    this.#stopping ??= this.#stopAll(withinMs);
    return this.#stopping;
  }

  async #stopAll(withinMs: number): Promise<void> {
    const deadline = this.#clock.monotonic() + withinMs;
    this.#timers.cancelAll();
    const children = [...this.#children.values()].reverse();
    // No child may restart while another child is stopping.
    for (const child of children) child.preventStart();
    const fullTimesMs = children.map(({ spec }) => spec.stopWithinMs);
    for (const [index, child] of children.entries()) {
      const leftMs = deadline - this.#clock.monotonic();
      const unstoppedTimesMs = fullTimesMs.slice(index);
      await child.stop(stopTimeMs(unstoppedTimesMs, leftMs));
    }
    await this.#options.threads.whenNoneIsStuck();
  }

  async #startAll(children: readonly Child[]): Promise<void> {
    for (const child of children) {
      if (this.#stopping !== undefined) return;
      // A reload may have stopped the child before its turn came.
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
    // A second round of pings would postpone the deadline of the first one.
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
      let isPongStillDue = false;
      for (const { incarnation } of this.#children.values()) {
        if (incarnation?.checkPong(policy)) isPongStillDue = true;
      }
      if (isPongStillDue) this.#armPongDeadline();
    });
  }

  /** Cancels the deadline once no pong is awaited any more. This saves a wake-up at each beat. */
  #cancelPongDeadline(): void {
    const children = [...this.#children.values()];
    if (!children.some(({ incarnation }) => incarnation?.isPongAwaited)) this.#timers.cancel('pongs');
  }
}
