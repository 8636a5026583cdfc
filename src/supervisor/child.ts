// One child: starts its thread, again after each death, and stops it; delivers the thread's messages, and
// answers commands. A child on demand has a thread only while commands come. The health that clients see is
// docs/http-api.md, "Backends that are away". Whether a thread is dead is decided in incarnation.ts.

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
  /** True while a client watches the meters. */
  readonly areLevelsWatched: () => boolean;
  /** Called when a pong has come, or never will. */
  readonly onPong: () => void;
}

/**
 * The state of the thread, as far as commands are concerned. A child on demand is `resting` until a command
 * comes, `starting` until its thread has reported a state, and `ending` when it has no commands any more.
 * Every other child is `running`.
 */
type Phase = 'resting' | 'starting' | 'running' | 'ending';

/** A thread's messages other than changes. */
type OtherItem = Exclude<ActorItem, Change>;
type Handlers<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: (message: Extract<U, { readonly kind: K }>) => void;
};

export class Child {
  readonly name: ChildName;
  readonly #spec: ChildSpec;
  readonly #settings: ChildSettings[ChildName];
  readonly #context: ChildContext;
  readonly #commands: PendingCommands;
  #phase: Phase = 'running';
  readonly #health: ChildHealth;
  /** Set when there will be no further thread, and when the last one has ended. */
  #end: 'stopping' | 'stopped' | undefined;
  /** Times of recent deaths, oldest first. */
  #deaths: readonly number[] = [];
  /** The present thread; undefined while the child waits for its next start, and when it has stopped. */
  #incarnation: Incarnation | undefined;
  #cancelTimer: () => void = () => undefined;
  #onStopped: () => void = () => undefined;
  #onSign: (() => void) | undefined;
  /**
   * Resolves when the child has sent its first message, or has ended. Node reports each further call of
   * `resolve` to a handler.
   */
  readonly firstSign = new Promise<void>((resolve) => {
    this.#onSign = () => {
      this.#onSign = undefined;
      resolve();
    };
  });

  constructor(spec: ChildSpec, settings: ChildSettings[ChildName], context: ChildContext) {
    this.name = spec.name;
    this.#spec = spec;
    this.#settings = settings;
    this.#context = context;
    this.#health = new ChildHealth(spec.name, context);
    this.#commands = new PendingCommands(spec.name, context.clock, context.askWithinMs);
  }

  /** Call it once. A child on demand has no thread before its first command. */
  start(): void {
    if (this.#spec.isOnDemand) this.#rest();
    else this.#startThread();
  }

  /** The first thread, and the next one when its time has come. */
  readonly #startThread = (): void => {
    const { threads, root, clock } = this.#context;
    const incarnation = new Incarnation({
      threads,
      clock,
      entry: fileURLToPath(new URL(this.#spec.entry, root)),
      settings: this.#settings,
      onBatch: this.#deliver,
      onEnded: (death) => this.#ended(incarnation, death),
    });
    this.#incarnation = incarnation;
    if (this.#spec.isOnDemand) this.#phase = 'starting';
    if (this.name === LEVEL_BACKEND && this.#context.areLevelsWatched()) this.watchLevels();
    const { state, restarts = 0, detail } = this.#health.last ?? {};
    // A child that was resting is `up` for its clients: their commands wait for the thread.
    if (state === 'up') return;
    // After a death, a new thread is `restarting` until its first report.
    this.#health.report({ state: restarts === 0 ? 'connecting' : 'restarting', restarts, detail });
  };

  /** Without a thread until the next command. */
  #rest(): void {
    this.#phase = 'resting';
    this.#health.report({ state: 'up', restarts: this.#health.restarts, detail: 'started on demand' });
    this.#onSign?.();
  }

  /** The thread of a child on demand has reported its first state. */
  #startCommands(): void {
    this.#phase = 'running';
    this.#commands.postQueued(this.#post);
    this.#endWhenIdle();
  }

  /** Begins the minute without a command anew. A thread whose peer is away goes on waiting for it. */
  #endWhenIdle(): void {
    this.#after(IDLE_MS_MAX, () => {
      if (!this.#commands.isEmpty || this.#health.last?.state !== 'up') return this.#endWhenIdle();
      this.#phase = 'ending';
      this.#endThread();
    });
  }

  /** The thread of a child on demand has ended as it should; commands may have come meanwhile. */
  #endedIdle(): void {
    this.#cancelTimer();
    if (this.#commands.isEmpty) this.#rest();
    else this.#startThread();
  }

  /**
   * Call it before `stop`. A child without a thread has stopped then; one with a thread runs until `stop`, or
   * until that ends.
   */
  stayDown(): void {
    this.#end = 'stopping';
    if (this.#incarnation === undefined) this.#halt();
  }

  /** Resolves when the child has stopped, by itself or because it was killed in the end. Call it once. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStopped = resolve;
      if (this.#incarnation === undefined) return this.#halt();
      this.#endThread();
    });
  }

  #endThread(): void {
    const { stopWithinMs } = this.#spec;
    this.#incarnation?.send({ kind: 'stop' });
    this.#after(stopWithinMs, () => this.#incarnation?.kill(`did not stop within ${stopWithinMs} ms`));
  }

  #halt(): void {
    this.#cancelTimer();
    this.#end = 'stopped';
    this.#onStopped();
  }

  /** Replaces the action that waits for its time. */
  #after(ms: number, action: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.clock.after(ms, action);
  }

  async ask(command: Command): Promise<Answer> {
    if (this.#phase === 'resting' && this.#end === undefined) this.#startThread();
    if (this.#incarnation === undefined || this.#end !== undefined) return this.#absent();
    const takesCommands = this.#phase === 'running';
    const answer = this.#commands.add(command, takesCommands ? this.#post : undefined);
    if (takesCommands && this.#spec.isOnDemand) this.#endWhenIdle();
    return answer;
  }

  readonly #post: PostCommand = (id, command) => this.#incarnation?.send({ kind: 'command', id, command });

  /** Call when `areLevelsWatched` may have changed; later threads get the value when they are spawned. */
  watchLevels(): void {
    this.#incarnation?.send({ kind: 'watch levels', isWatched: this.#context.areLevelsWatched() });
  }

  /** For the heartbeat. */
  get incarnation(): Incarnation | undefined {
    return this.#incarnation;
  }

  /**
   * The fault of a command to a child without a thread. A child that was never started is `connecting`, as in
   * `/health`.
   */
  #absent(): Answer {
    const { detail } = this.#health.last ?? {};
    const state = this.#health.last === undefined ? 'connecting' : (this.#end ?? this.#health.last.state);
    const reason = detail === undefined ? '' : `: ${detail}`;
    return failure('unavailable', `The ${this.name} backend is ${state}${reason}`);
  }

  #ended(incarnation: Incarnation, death: Death): void {
    for (const items of incarnation.close()) this.#deliver(items);
    this.#incarnation = undefined;
    this.#context.onPong();
    if (this.#end === undefined && this.#phase !== 'ending') this.#died(death);
    else if (death !== RETURNED)
      this.#health.log('warn', 'backend did not stop cleanly', { detail: death.reason });
    if (this.#end !== undefined) this.#halt();
    else if (this.#phase === 'ending') {
      this.#endedIdle();
      return;
    }
    // After the change of health, so that a client that gets the fault and then reads `/health` finds the
    // reason.
    this.#commands.settleAll(this.#absent());
    this.#onSign?.();
  }

  #died({ reason, stack }: Death): void {
    const { clock, restarts: policy } = this.#context;
    const { verdict, waitMs, deaths } = afterDeath(this.#deaths, clock.monotonic(), policy);
    this.#deaths = deaths;
    const often = verdict === 'failed' ? `; ${deaths.length} deaths in ${policy.windowMs / 1000} s` : '';
    const restarts = this.#health.restarts + 1;
    this.#after(waitMs, this.#startThread);
    this.#health.report({ state: verdict, restarts, detail: `thread ended: ${reason}${often}` }, stack);
  }

  /** Keeps the order: the listener gets changes before an answer or status that was sent after them. */
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
        this.#take(item);
      }
    }
    if (changes.length > 0) listener.changes(changes);
    this.#onSign?.();
  };

  #take<K extends OtherItem['kind']>(
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
      const pulling = this.#incarnation;
      this.#context.listener.feedRequest(this.name, isFirst, (batch) =>
        pulling?.send({ kind: 'changes', ...batch }),
      );
    },
    ask: (bridgeRequest) => this.#askFor(bridgeRequest),
  };

  /** The reply goes only to the thread that asked, not to a later one. */
  #askFor({ id, ...request }: Extract<OtherItem, { readonly kind: 'ask' }>): void {
    const incarnation = this.#incarnation;
    this.#context.listener
      .bridgeRequest(this.name, request)
      .then((reply) => incarnation?.send({ kind: 'reply', id, ...reply }));
  }
}
