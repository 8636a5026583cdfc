// Decides about the life of one child: when its thread starts, starts again and stops, where the thread's
// messages go, and what happens to commands while there is no thread. A child on demand has a thread only
// while commands come. Clients see the child's health as docs/http-api.md, "Backends that are away",
// describes it. incarnation.ts decides whether a thread is dead.

import { fileURLToPath } from 'node:url';
import type { Clock } from '../host/clock.js';
import type { ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection, LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { ActorItem, Change, ChildListener, FromActor, Log } from '../protocol/actor/messages.js';
import type { ChildSettings } from '../protocol/actor/settings.js';
import { ChildHealth } from './child-health.js';
import { Incarnation } from './incarnation.js';
import { PendingCommands, type PostCommand } from './pending-commands.js';
import { afterDeath, type ChildSpec, IDLE_MS_MAX, type RestartPolicy } from './policy.js';
import { type Death, RETURNED, type Threads } from './threads.js';

export interface ChildContext {
  readonly root: URL;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly log: Log;
  readonly listener: ChildListener;
  readonly restarts: RestartPolicy;
  readonly askWithinMs: number;
  /** Returns true while a client watches the meters. */
  readonly areLevelsWatched: () => boolean;
  /** Called when a pong has arrived, and when the thread has ended, after which no pong can arrive. */
  readonly onPong: () => void;
}

/**
 * The state of the thread. It gets commands only while it is `running`. A child on demand is `resting`
 * without a thread, `starting` until its thread has reported a state, then `running`, and `ending` after a
 * minute without commands. Every other child is always `running`.
 */
type Phase = 'resting' | 'starting' | 'running' | 'ending';

/** A thread's messages other than changes. */
type OtherItem = Exclude<ActorItem, Change>;
type Handlers<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: (message: Extract<U, { readonly kind: K }>) => void;
};

export class Child {
  readonly name: ChildName;
  readonly spec: ChildSpec;
  readonly #settings: ChildSettings[ChildName];
  readonly #context: ChildContext;
  readonly #commands: PendingCommands;
  #phase: Phase = 'running';
  readonly #health: ChildHealth;
  /** `stopping`: no further thread will start. `stopped`: the last thread has ended. */
  #end: 'stopping' | 'stopped' | undefined;
  /** Times of recent deaths, oldest first. */
  #deaths: readonly number[] = [];
  /** The present thread; undefined while the child waits for its next start, and when it has stopped. */
  #incarnation: Incarnation | undefined;
  #cancelTimer: () => void = () => undefined;
  #onStopped: () => void = () => undefined;
  #resolveFirstMessage: (() => void) | undefined;
  /** Resolves when the first thread has sent a message or has ended, or when a child on demand rests. */
  readonly firstMessage = new Promise<void>((resolve) => {
    this.#resolveFirstMessage = () => {
      // Node reports each further call of `resolve` to a handler.
      this.#resolveFirstMessage = undefined;
      resolve();
    };
  });

  constructor(spec: ChildSpec, settings: ChildSettings[ChildName], context: ChildContext) {
    this.name = spec.name;
    this.spec = spec;
    this.#settings = settings;
    this.#context = context;
    this.#health = new ChildHealth(spec.name, context);
    this.#commands = new PendingCommands(spec.name, context.clock, context.askWithinMs);
  }

  /** Call it once. A child on demand has no thread before its first command. */
  start(): void {
    if (this.spec.isOnDemand) this.#rest();
    else this.#startThread();
  }

  /** Also called by a timer, after the wait that follows a death. */
  readonly #startThread = (): void => {
    const { threads, root, clock } = this.#context;
    const incarnation = new Incarnation({
      threads,
      clock,
      entry: fileURLToPath(new URL(this.spec.entry, root)),
      settings: this.#settings,
      onBatch: this.#deliver,
      onEnded: (death) => this.#ended(incarnation, death),
    });
    this.#incarnation = incarnation;
    if (this.spec.isOnDemand) this.#phase = 'starting';
    if (this.name === LEVEL_BACKEND && this.#context.areLevelsWatched()) this.watchLevels();
    const { state, restarts = 0, detail } = this.#health.last ?? {};
    // A child that rested stays `up` for clients, because their commands wait for the thread.
    if (state === 'up') return;
    this.#health.report({ state: restarts === 0 ? 'connecting' : 'restarting', restarts, detail });
  };

  /** Call it when there is no thread. The next command starts one. */
  #rest(): void {
    this.#phase = 'resting';
    this.#health.report({ state: 'up', restarts: this.#health.restarts, detail: 'started on demand' });
    this.#resolveFirstMessage?.();
  }

  /** Call it when the thread of a child on demand has reported its first state. */
  #startCommands(): void {
    this.#phase = 'running';
    this.#commands.postQueued(this.#post);
    this.#endWhenIdle();
  }

  /** Ends the thread after a minute without a command. Each call begins that minute anew. */
  #endWhenIdle(): void {
    this.#after(IDLE_MS_MAX, () => {
      // A thread that is not `up` must stay, because only it can report the return of its peer.
      const isIdle = this.#commands.isEmpty && this.#health.last?.state === 'up';
      if (!isIdle) return this.#endWhenIdle();
      this.#phase = 'ending';
      this.#endThread(this.spec.stopWithinMs);
    });
  }

  /** Call it when the idle thread of a child on demand has ended. Commands may have come meanwhile. */
  #endedIdle(): void {
    this.#cancelTimer();
    if (this.#commands.isEmpty) this.#rest();
    else this.#startThread();
  }

  /** Call it before `stop`. No further thread starts. A present thread runs until `stop` or its own end. */
  stayDown(): void {
    this.#end = 'stopping';
    if (this.#incarnation === undefined) this.#halt();
  }

  /** Ends the thread, by force after `withinMs`. Resolves when the thread has ended. Call it once. */
  stop(withinMs = this.spec.stopWithinMs): Promise<void> {
    return new Promise((resolve) => {
      this.#onStopped = resolve;
      if (this.#incarnation === undefined) return this.#halt();
      this.#endThread(withinMs);
    });
  }

  #endThread(stopWithinMs: number): void {
    this.#incarnation?.send({ kind: 'stop' });
    this.#after(stopWithinMs, () => this.#incarnation?.kill(`did not stop within ${stopWithinMs} ms`));
  }

  #halt(): void {
    this.#cancelTimer();
    this.#end = 'stopped';
    this.#onStopped();
  }

  /** Does `action` after `ms`, in place of the action that was waiting. */
  #after(ms: number, action: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.clock.after(ms, action);
  }

  async ask(command: Command): Promise<Answer> {
    if (this.#phase === 'resting' && this.#end === undefined) this.#startThread();
    if (this.#incarnation === undefined || this.#end !== undefined) return this.#unavailable();
    const isRunning = this.#phase === 'running';
    const answer = this.#commands.add(command, isRunning ? this.#post : undefined);
    if (isRunning && this.spec.isOnDemand) this.#endWhenIdle();
    return answer;
  }

  readonly #post: PostCommand = (id, command) => this.#incarnation?.send({ kind: 'command', id, command });

  /** Call it when `areLevelsWatched` may have changed. A later thread gets the value when it starts. */
  watchLevels(): void {
    this.#incarnation?.send({ kind: 'watch levels', isWatched: this.#context.areLevelsWatched() });
  }

  /** The present thread, for the heartbeat; undefined if there is none. */
  get incarnation(): Incarnation | undefined {
    return this.#incarnation;
  }

  /** The fault of a command to a child without a thread, or with a thread that has to stop. */
  #unavailable(): Answer {
    const { last } = this.#health;
    // A child without a report was never started.
    const state = last === undefined ? 'connecting' : (this.#end ?? last.state);
    const reason = last?.detail === undefined ? '' : `: ${last.detail}`;
    return failure('unavailable', `The ${this.name} backend is ${state}${reason}`);
  }

  #ended(incarnation: Incarnation, death: Death): void {
    for (const items of incarnation.close()) this.#deliver(items);
    this.#incarnation = undefined;
    this.#context.onPong();
    const wasEndExpected = this.#end !== undefined || this.#phase === 'ending';
    if (!wasEndExpected) this.#died(death);
    else if (death !== RETURNED)
      this.#health.log('warn', 'backend did not stop cleanly', { detail: death.reason });
    if (this.#end !== undefined) this.#halt();
    else if (this.#phase === 'ending') {
      this.#endedIdle();
      return;
    }
    // The health has changed already, so a client that gets the fault finds the reason in `/health`.
    this.#commands.settleAll(this.#unavailable());
    this.#resolveFirstMessage?.();
  }

  #died({ reason, stack }: Death): void {
    const { clock, restarts: policy } = this.#context;
    const { verdict, waitMs, deaths } = afterDeath(this.#deaths, clock.monotonic(), policy);
    this.#deaths = deaths;
    const count = verdict === 'failed' ? `; ${deaths.length} deaths in ${policy.windowMs / 1000} s` : '';
    const restarts = this.#health.restarts + 1;
    this.#after(waitMs, this.#startThread);
    this.#health.report({ state: verdict, restarts, detail: `thread ended: ${reason}${count}` }, stack);
  }

  /** Keeps the order of sending: the listener gets changes before an answer or a status that follows them. */
  readonly #deliver = (items: FromActor): void => {
    const { listener } = this.#context;
    const changes: Change[] = [];
    for (const item of items) {
      if (!('kind' in item)) {
        const [number, key, json, rank] = item;
        changes.push({ kind: 'put', collection: COLLECTION_NAMES[number] as Collection, key, json, rank });
      } else if (item.kind === 'drop') changes.push(item);
      else {
        if (changes.length > 0) listener.changes(changes.splice(0));
        this.#handle(item);
      }
    }
    if (changes.length > 0) listener.changes(changes);
    this.#resolveFirstMessage?.();
  };

  #handle<K extends OtherItem['kind']>(
    item: Extract<OtherItem, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#handlers[item.kind](item);
  }

  readonly #handlers: Handlers<OtherItem> = {
    level: ({ json }) => this.#context.listener.level(json),
    answer: ({ id, answer }) => this.#commands.settle(id, answer),
    status: ({ state, detail }) => {
      if (this.#end !== undefined) return;
      this.#health.report({ state, restarts: this.#health.restarts, detail });
      if (this.#phase === 'starting') this.#startCommands();
    },
    log: ({ level, message, fields }) => this.#health.log(level, message, fields),
    pong: ({ id, thread }) => {
      this.#incarnation?.pong(id, thread);
      this.#context.onPong();
    },
    pull: ({ isFirst }) => {
      const incarnation = this.#incarnation;
      this.#context.listener.feedRequest(this.name, isFirst, (batch) =>
        incarnation?.send({ kind: 'changes', ...batch }),
      );
    },
    ask: (bridgeRequest) => this.#forwardRequest(bridgeRequest),
  };

  /** The reply goes to the thread that sent the request, and never to a later one. */
  #forwardRequest({ id, ...request }: Extract<OtherItem, { readonly kind: 'ask' }>): void {
    const incarnation = this.#incarnation;
    this.#context.listener
      .bridgeRequest(this.name, request)
      .then((reply) => incarnation?.send({ kind: 'reply', id, ...reply }));
  }
}
