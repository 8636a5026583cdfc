// The supervisor: starts the children one after another, listens for the heartbeat of all, and stops them in reverse order.
// What becomes of one child is its own loop (child.ts); it knows no backend's business.

import { type Clock, systemClock, Timers } from '../clock.js';
import type { Backend, Bridge, ChildName } from '../protocol/actor/backends.js';
import { LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { Backends, Bridges, ChangeBatch, ChildListener } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { ASK_DEADLINE_MS } from './asks.js';
import { Child } from './child.js';
import { CHILDREN, type ChildSpec } from './children.js';
import { HEARTBEAT, type HeartbeatPolicy } from './incarnation.js';
import { RESTARTS, type RestartPolicy } from './lifecycle.js';
import type { Logger } from './log.js';
import type { Threads } from './threads.js';

/**
 * Children start one after another: four threads that load at once on a slow core are all ready late. Measured on two cores,
 * the first one is ready after 125 ms instead of 163. One that says nothing keeps the next one waiting no longer than this: with a
 * tenth of a core the first one has not said a word after 300 ms, and the second one is not what the first answer waits for.
 */
const START_SPACING_MS_MAX = 1000;

export interface SupervisorOptions {
  readonly settings: Settings;
  /** The directory, with a trailing slash, that the entries of the children are relative to. */
  readonly root: URL;
  readonly logger: Logger;
  readonly children?: readonly ChildSpec[];
  readonly restarts?: RestartPolicy;
  readonly heartbeat?: HeartbeatPolicy;
  readonly askWithinMs?: number;
  /** Made before there are settings, so that the first thread has booted by then. */
  readonly threads: Threads;
  readonly clock?: Clock;
}

export interface StopReport {
  /** Those that did not stop within their deadline and were killed, in the order of stopping. */
  readonly late: readonly ChildName[];
}

export class Supervisor implements Backends, Bridges {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #timers: Timers<'next' | 'beat' | 'pongs'>;
  readonly #heartbeat: HeartbeatPolicy;
  /** In start order. */
  readonly #children = new Map<ChildName, Child>();
  #areLevelsWatched = false;
  #unstarted: Child[] = [];
  #starting: Child | undefined;
  #stopped: Promise<StopReport> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#timers = new Timers(this.#clock);
    this.#heartbeat = options.heartbeat ?? HEARTBEAT;
  }

  /** Starts the enabled children in order; `listener` hears of each as it starts. To be called once. */
  start(listener: ChildListener): void {
    const { settings, root, threads, logger, restarts = RESTARTS } = this.#options;
    const { children = CHILDREN, askWithinMs = ASK_DEADLINE_MS } = this.#options;
    for (const spec of children.filter(({ enabled }) => enabled(settings))) {
      const child = new Child(spec, settings[spec.name], {
        ...{ root, threads, clock: this.#clock, logger, listener, restarts, askWithinMs },
        areLevelsWatched: () => this.#areLevelsWatched,
        onSign: () => this.#onSign(child),
      });
      this.#children.set(spec.name, child);
    }
    this.#unstarted = [...this.#children.values()];
    this.#startNext();
    if (this.#children.size > 0) this.#armBeat();
    // The first child has taken it, or it is nobody's.
    void threads.endPreloaded();
  }

  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    const child = this.#children.get(backend);
    if (child !== undefined) return child.ask(command);
    return Promise.resolve(failure('unavailable', `The ${backend} backend is not running`));
  }

  tell(bridge: Bridge, batch: ChangeBatch): void {
    this.#children.get(bridge)?.tell(batch);
  }

  watchLevels(isWatched: boolean): void {
    this.#areLevelsWatched = isWatched;
    this.#children.get(LEVEL_BACKEND)?.watchLevels();
  }

  /**
   * Stops the children in reverse order. Afterwards nothing of the supervisor keeps the process alive: also a thread that is late has
   * gone. Never rejects, and never fulfils while one is stuck.
   */
  stop(): Promise<StopReport> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  async #stopAll(): Promise<StopReport> {
    this.#unstarted = [];
    this.#timers.cancelAll();
    const late: ChildName[] = [];
    const children = [...this.#children.values()].reverse();
    // First: while one is waited for, no other may come back to life.
    for (const child of children) child.stayDown();
    for (const child of children) {
      if (!(await child.stop())) late.push(child.name);
    }
    await this.#options.threads.unstuck();
    return { late };
  }

  #startNext(): void {
    this.#timers.cancel('next');
    this.#starting = this.#unstarted.shift();
    if (this.#starting === undefined) return;
    if (this.#unstarted.length > 0) {
      this.#timers.set('next', START_SPACING_MS_MAX, () => this.#startNext());
    }
    this.#starting.start();
  }

  /** A child has said something, or has ended. */
  #onSign(child: Child): void {
    this.#disarmPongDue();
    if (this.#starting === child) this.#startNext();
  }

  #armBeat(): void {
    this.#timers.set('beat', this.#heartbeat.everyMs, () => this.#beat());
  }

  #beat(): void {
    this.#armBeat();
    // One round at a time: a second one would put off the deadline of the first.
    if (this.#timers.has('pongs')) return;
    const pinged = [...this.#children.values()].filter((child) => child.ping(this.#heartbeat));
    if (pinged.length > 0) this.#armPongDue();
  }

  #armPongDue(): void {
    this.#timers.set('pongs', this.#heartbeat.pongWithinMs, () => {
      const waiting = [...this.#children.values()].filter((child) => child.checkPong(this.#heartbeat));
      if (waiting.length > 0) this.#armPongDue();
    });
  }

  /** All pongs are in: the deadline is not waited for, which saves a wake-up per beat. */
  #disarmPongDue(): void {
    if (!this.#timers.has('pongs')) return;
    for (const child of this.#children.values()) if (child.owesPong) return;
    this.#timers.cancel('pongs');
  }
}
