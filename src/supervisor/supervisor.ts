// The supervisor: one loop over one closed set of inputs. It starts the children, keeps them alive, carries questions and
// answers, and stops them. It knows no backend's business.

import type { Backend } from '../protocol/actor/backends.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import type { BackendListener, Backends } from '../protocol/actor/messages.js';
import type { Settings } from '../protocol/actor/settings.js';
import { ASK_DEADLINE_MS, fault } from './asks.js';
import { Child } from './child.js';
import { CHILDREN, type ChildSpec } from './children.js';
import { type Clock, systemClock } from './clock.js';
import { HEARTBEAT, type HeartbeatPolicy } from './heartbeat.js';
import type { Input, StopReport } from './inputs.js';
import type { Logger } from './log.js';
import { RESTARTS, type RestartPolicy } from './restarts.js';
import type { Threads } from './threads.js';

/**
 * Children start one after another: four threads that load at once on a slow core are all ready late. Measured on two cores,
 * the first one is ready after 125 ms instead of 163. One that says nothing keeps the next one waiting no longer than this.
 */
const START_SPACING_MS_MAX = 300;

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

type Handlers = { readonly [K in Input['kind']]: (input: Extract<Input, { readonly kind: K }>) => void };

export class Supervisor implements Backends {
  readonly #options: SupervisorOptions;
  readonly #specs: readonly ChildSpec[];
  readonly #clock: Clock;
  readonly #heartbeat: HeartbeatPolicy;
  readonly #threads: Threads;
  readonly #children = new Map<Backend, Child>();
  /** Those that have not been started yet, in order. */
  #unstarted: Backend[] = [];
  #starting: Backend | undefined;
  #cancelNext: (() => void) | undefined;
  #cancelBeat: (() => void) | undefined;
  #cancelPongDue: (() => void) | undefined;
  #stopped: Promise<StopReport> | undefined;

  constructor(options: SupervisorOptions) {
    const { settings, children = CHILDREN } = options;
    this.#options = options;
    this.#specs = children.filter(({ enabled }) => enabled(settings));
    this.#clock = options.clock ?? systemClock;
    this.#heartbeat = options.heartbeat ?? HEARTBEAT;
    this.#threads = options.threads;
  }

  /** Starts the enabled children in order; `listener` hears of each as it starts. To be called once. */
  start(listener: BackendListener): void {
    const { settings, root, logger, restarts = RESTARTS, askWithinMs = ASK_DEADLINE_MS } = this.#options;
    const around = {
      root,
      threads: this.#threads,
      clock: this.#clock,
      logger,
      listener,
      restarts,
      askWithinMs,
      take: (input: Input) => this.#take(input),
    };
    for (const spec of this.#specs) {
      this.#children.set(spec.backend, new Child(spec, settings[spec.backend], around));
    }
    this.#take({ kind: 'start' });
    // The first child has taken it, or it is nobody's.
    void this.#threads.endSpare();
  }

  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer> {
    return new Promise((settle) => this.#take({ kind: 'ask', backend, command, settle }));
  }

  /** Stops the children in reverse order. Afterwards nothing of the supervisor keeps the process alive. Never rejects. */
  stop(): Promise<StopReport> {
    this.#stopped ??= new Promise((report) => this.#take({ kind: 'stop', report }));
    return this.#stopped;
  }

  #take<K extends Input['kind']>(input: Extract<Input, { readonly kind: K }> & { readonly kind: K }): void {
    this.#handlers[input.kind](input);
  }

  readonly #handlers: Handlers = {
    start: () => {
      this.#unstarted = [...this.#children.keys()];
      this.#startNext();
      if (this.#children.size > 0) this.#armBeat();
    },
    next: ({ after }) => {
      if (this.#starting === after) this.#startNext();
    },
    batch: ({ backend, incarnation, items }) => {
      this.#children.get(backend)?.receive(incarnation, items);
      this.#disarmPongDue();
      this.#take({ kind: 'next', after: backend });
    },
    ended: ({ backend, incarnation, death }) => {
      const child = this.#children.get(backend);
      child?.ended(incarnation, death);
      this.#take({ kind: 'next', after: backend });
      if (this.#stopped !== undefined) child?.stayDown();
    },
    due: ({ backend }) => this.#children.get(backend)?.due(),
    ask: ({ backend, command, settle }) => {
      const child = this.#children.get(backend);
      if (child !== undefined) child.ask(command, settle);
      else settle(fault('unavailable', `The ${backend} backend is not running`));
    },
    'ask due': ({ backend, id }) => this.#children.get(backend)?.askDue(id),
    beat: () => {
      this.#armBeat();
      // One round at a time: a second one would put off the deadline of the first.
      if (this.#cancelPongDue !== undefined) return;
      const pinged = [...this.#children.values()].filter((child) => child.ping(this.#heartbeat));
      if (pinged.length > 0) this.#armPongDue();
    },
    'pong due': () => {
      this.#cancelPongDue = undefined;
      const waiting = [...this.#children.values()].filter((child) => child.judge(this.#heartbeat));
      if (waiting.length > 0) this.#armPongDue();
    },
    stop: ({ report }) => {
      this.#unstarted = [];
      this.#cancelNext?.();
      this.#cancelBeat?.();
      this.#cancelPongDue?.();
      this.#stopAll().then(report);
    },
  };

  #startNext(): void {
    this.#cancelNext?.();
    this.#starting = this.#unstarted.shift();
    const after = this.#starting;
    if (after === undefined) return;
    if (this.#unstarted.length > 0) {
      this.#cancelNext = this.#clock.after(START_SPACING_MS_MAX, () => this.#take({ kind: 'next', after }));
    }
    this.#children.get(after)?.start();
  }

  async #stopAll(): Promise<StopReport> {
    const late: Backend[] = [];
    const children = [...this.#children.values()].reverse();
    // First: while one is waited for, no other may come back to life.
    for (const child of children) child.stayDown();
    for (const child of children) {
      if (!(await child.stop())) late.push(child.backend);
    }
    return { late };
  }

  #armBeat(): void {
    this.#cancelBeat = this.#clock.after(this.#heartbeat.everyMs, () => this.#take({ kind: 'beat' }));
  }

  #armPongDue(): void {
    this.#cancelPongDue = this.#clock.after(this.#heartbeat.pongWithinMs, () =>
      this.#take({ kind: 'pong due' }),
    );
  }

  /** All pongs are in: the deadline is not waited for, which saves a wake-up per beat. */
  #disarmPongDue(): void {
    if (this.#cancelPongDue === undefined) return;
    for (const child of this.#children.values()) if (child.owesPong) return;
    this.#cancelPongDue();
    this.#cancelPongDue = undefined;
  }
}
