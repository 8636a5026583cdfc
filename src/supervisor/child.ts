// Decides when a child's thread starts, starts again and stops, and what becomes of commands while there is
// no thread (docs/http-api.md, "Backends that are away"). incarnation.ts decides whether a thread hangs.

import { fileURLToPath } from 'node:url';
import type { Clock } from '../host/clock.js';
import { type ChildName, stateWithReason } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection, LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type { ActorItem, Change, ChildListener, FromActor, Log } from '../protocol/actor/messages.js';
import type { ChildSettings } from '../protocol/actor/settings.js';
import { ChildHealth } from './child-health.js';
import { Incarnation } from './incarnation.js';
import { Milestone } from './milestone.js';
import { PendingCommands, type PostCommand } from './pending-commands.js';
import { type ChildSpec, IDLE_MAX_MS, type RestartPolicy, restartAfterDeath } from './policy.js';
import { type Death, RETURNED, type Threads } from './threads.js';

export interface ChildContext {
  readonly root: URL;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly log: Log;
  readonly listener: ChildListener;
  readonly restartPolicy: RestartPolicy;
  readonly askWithinMs: number;
  /** Returns true while a client watches the meters. */
  readonly areLevelsWatched: () => boolean;
  /** Called when a pong has arrived, and when the thread has ended, because then no pong can arrive. */
  readonly onPong: () => void;
}

/**
 * A child on demand is `resting` until a command comes, `starting` until its thread has reported a state,
 * then `running`, and `ending` after IDLE_MAX_MS without commands. If its thread dies, the child keeps its
 * phase until the next thread starts. A child that is not on demand is always `running`. Only a `running`
 * child posts commands.
 */
type ThreadPhase = 'resting' | 'starting' | 'running' | 'ending';

/** Every kind of `ActorItem` except changes. */
type OtherItem = Exclude<ActorItem, Change>;
/** One function for each kind: `level` has a function that takes the item of kind `level`. */
type Handlers<Item extends { readonly kind: string }> = {
  readonly [Kind in Item['kind']]: (item: Extract<Item, { readonly kind: Kind }>) => void;
};

export class Child {
  readonly name: ChildName;
  readonly spec: ChildSpec;
  readonly #settings: ChildSettings[ChildName];
  readonly #context: ChildContext;
  readonly #commands: PendingCommands;
  #phase: ThreadPhase = 'running';
  readonly #health: ChildHealth;
  /**
   * While this is defined, no thread starts, no command is posted, and the states that a thread reports have
   * no effect. The child becomes `stopped` when it has no thread any more.
   */
  #stopState: 'stopping' | 'stopped' | undefined;
  /**
   * Times of recent deaths, oldest first. After too many of them the child's state is `failed`. Even then it
   * gets another thread, after a longer wait.
   */
  #deaths: readonly number[] = [];
  /**
   * The present thread; undefined if there is none. A callback that answers a thread copies this member
   * beforehand, so that the answer never goes to a later thread.
   */
  #incarnation: Incarnation | undefined;
  #cancelTimer: () => void = () => undefined;
  /** Reached when the child is `stopped`. */
  readonly #stopped = new Milestone();
  readonly #firstMessage = new Milestone();

  constructor(spec: ChildSpec, settings: ChildSettings[ChildName], context: ChildContext) {
    this.name = spec.name;
    this.spec = spec;
    this.#settings = settings;
    this.#context = context;
    this.#health = new ChildHealth(spec.name, context);
    this.#commands = new PendingCommands(spec.name, context.clock, context.askWithinMs);
  }

  /**
   * Resolves when the first thread has sent a message or has ended, or when no thread will start. For a child
   * on demand the promise resolves when the child is `resting`.
   */
  get firstMessage(): Promise<void> {
    return this.#firstMessage.reached;
  }

  /**
   * To be called once. A child on demand has no thread before its first command. After `preventStart` this
   * does nothing.
   */
  start(): void {
    if (this.#stopState !== undefined) return;
    if (this.spec.isOnDemand) this.#rest();
    else this.#startThread();
  }

  readonly #startThread = (): void => {
    const { threads, root, clock } = this.#context;
    const incarnation = new Incarnation({
      threads,
      clock,
      actorFile: fileURLToPath(new URL(this.spec.actorFile, root)),
      settings: this.#settings,
      onBatch: this.#deliver,
      onEnded: (death) => this.#threadEnded(incarnation, death),
    });
    this.#incarnation = incarnation;
    if (this.spec.isOnDemand) this.#phase = 'starting';
    if (this.name === LEVEL_BACKEND && this.#context.areLevelsWatched()) this.watchLevels();
    const { state, restarts = 0, detail } = this.#health.last ?? {};
    // A child on demand that is `up` stays `up` during the start, because commands wait for the thread.
    if (state === 'up') return;
    this.#health.report({ state: restarts === 0 ? 'connecting' : 'restarting', restarts, detail });
  };

  /** The next command starts a thread. */
  #rest(): void {
    this.#phase = 'resting';
    this.#health.report({ state: 'up', restarts: this.#health.restarts, detail: 'started on demand' });
    this.#firstMessage.reach();
  }

  /**
   * To be called when the thread of a child on demand has reported its first state. Before this, `ask` only
   * queues the commands.
   */
  #startCommands(): void {
    this.#phase = 'running';
    this.#commands.postQueued(this.#post);
    this.#stopThreadWhenIdle();
  }

  /** Stops the thread after a minute without a command. The minute begins anew with each call. */
  #stopThreadWhenIdle(): void {
    this.#after(IDLE_MAX_MS, () => {
      // A thread that is not `up` must stay, because only it can report the return of its peer.
      const isIdle = this.#commands.isEmpty && this.#health.last?.state === 'up';
      if (!isIdle) return this.#stopThreadWhenIdle();
      this.#phase = 'ending';
      this.#stopThread(this.spec.stopWithinMs);
    });
  }

  /** Commands may have come while the thread was stopping. They need another thread. */
  #restOrStartAgain(): void {
    this.#cancelTimer();
    if (this.#commands.isEmpty) this.#rest();
    else this.#startThread();
  }

  /** To be called before `stop`. No further thread starts. A present thread runs until `stop`. */
  preventStart(): void {
    this.#stopState ??= 'stopping';
    if (this.#incarnation === undefined) this.#finishStop();
  }

  /**
   * To be called after `preventStart`. Resolves when the thread has ended. A thread that has not ended after
   * `withinMs` is killed. If the daemon ends while a reload is stopping the child, this is called twice, and
   * the second `withinMs` counts.
   */
  stop(withinMs = this.spec.stopWithinMs): Promise<void> {
    if (this.#incarnation === undefined) this.#finishStop();
    else this.#stopThread(withinMs);
    return this.#stopped.reached;
  }

  #stopThread(withinMs: number): void {
    this.#incarnation?.send({ kind: 'stop' });
    this.#after(withinMs, () => this.#incarnation?.kill(`did not stop within ${withinMs} ms`));
  }

  #finishStop(): void {
    this.#cancelTimer();
    this.#stopState = 'stopped';
    this.#stopped.reach();
    this.#firstMessage.reach();
  }

  /** Cancels an earlier action that still waits: a restart, the stop of an idle thread, or a kill. */
  #after(ms: number, action: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#context.clock.after(ms, action);
  }

  async ask(command: Command): Promise<Answer> {
    if (this.#phase === 'resting' && this.#stopState === undefined) this.#startThread();
    if (this.#incarnation === undefined || this.#stopState !== undefined) return this.#unavailable();
    const isRunning = this.#phase === 'running';
    const postNow = isRunning ? this.#post : undefined;
    const answer = this.#commands.add(command, postNow);
    if (isRunning && this.spec.isOnDemand) this.#stopThreadWhenIdle();
    return answer;
  }

  readonly #post: PostCommand = (message) => this.#incarnation?.send(message);

  /**
   * To be called when `areLevelsWatched` has changed, and for each new watcher of the meters. A later thread
   * gets the value at its start.
   */
  watchLevels(): void {
    this.#incarnation?.send({ kind: 'watch levels', isWatched: this.#context.areLevelsWatched() });
  }

  /** The present thread, for heartbeats and reports; undefined if there is none. */
  get incarnation(): Incarnation | undefined {
    return this.#incarnation;
  }

  #unavailable(): Answer {
    const { last } = this.#health;
    // A child without health has not been started yet. The last detail does not explain a stop.
    const state = last === undefined ? 'connecting' : (this.#stopState ?? last.state);
    const reason = this.#stopState === undefined ? last?.detail : undefined;
    return failure('unavailable', `The ${this.name} backend is ${stateWithReason(state, reason)}`);
  }

  /**
   * There are three cases:
   * - The child is being stopped. Its commands are answered with a fault.
   * - The child was `ending`. Its commands came too late for this thread, and wait for the next one.
   * - The thread has died. Its commands are answered with a fault, but only after `#died` has changed the
   *   health, so that a client that gets the fault finds the reason in `/health`.
   */
  #threadEnded(incarnation: Incarnation, death: Death): void {
    for (const items of incarnation.close()) this.#deliver(items);
    this.#incarnation = undefined;
    this.#context.onPong();
    const wasEndExpected = this.#stopState !== undefined || this.#phase === 'ending';
    if (!wasEndExpected) this.#died(death);
    else if (death !== RETURNED)
      this.#health.log('warn', 'backend did not stop cleanly', { detail: death.reason });
    if (this.#stopState !== undefined) this.#finishStop();
    else if (this.#phase === 'ending') {
      this.#restOrStartAgain();
      return;
    }
    this.#commands.settleAll(this.#unavailable());
    this.#firstMessage.reach();
  }

  #died({ reason, stack }: Death): void {
    const { clock, restartPolicy: policy } = this.#context;
    const { verdict: state, waitMs, deaths } = restartAfterDeath(this.#deaths, clock.monotonic(), policy);
    this.#deaths = deaths;
    const suffix = state === 'failed' ? `; ${deaths.length} deaths in ${policy.windowMs / 1000} s` : '';
    const restarts = this.#health.restarts + 1;
    this.#after(waitMs, this.#startThread);
    this.#health.report({ state, restarts, detail: `thread ended: ${reason}${suffix}` }, stack);
  }

  /** Items are passed on in the order of sending: a change that was sent before an answer goes first. */
  readonly #deliver = (items: FromActor): void => {
    const { listener } = this.#context;
    const changes: Change[] = [];
    for (const item of items) {
      if (!('kind' in item)) {
        // A put is posted as an array without a kind, because an array is cloned faster (messages.ts).
        const [collectionNumber, key, json, rank] = item;
        const collection = COLLECTION_NAMES[collectionNumber] as Collection;
        changes.push({ kind: 'put', collection, key, json, rank });
      } else if (item.kind === 'drop') changes.push(item);
      else {
        if (changes.length > 0) listener.changes(changes.splice(0));
        this.#handle(item);
      }
    }
    if (changes.length > 0) listener.changes(changes);
    // A further call of `reach` would do nothing, but would cost time for every batch.
    if (!this.#firstMessage.isReached) this.#firstMessage.reach();
  };

  /**
   * `K` is the one kind that the item and its handler have in common. Without `K` the compiler would refuse
   * the call, because no handler takes items of all kinds. The parameter's type ends with `kind: K`, because
   * the compiler does not conclude from `Extract` that `item.kind` is `K`.
   */
  #handle<K extends OtherItem['kind']>(
    item: Extract<OtherItem, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#handlers[item.kind](item);
  }

  readonly #handlers: Handlers<OtherItem> = {
    level: ({ json }) => this.#context.listener.level(json),
    answer: ({ id, answer }) => this.#commands.settle(id, answer),
    status: ({ state, detail }) => {
      if (this.#stopState !== undefined) return;
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
    ask: (childRequest) => this.#forwardRequest(childRequest),
  };

  /** Passes on a request of the thread. The reply goes to this thread, and never to a later one. */
  #forwardRequest({ id, ...request }: Extract<OtherItem, { readonly kind: 'ask' }>): void {
    const incarnation = this.#incarnation;
    this.#context.listener
      .childRequest(this.name, request)
      .then((reply) => incarnation?.send({ kind: 'reply', id, ...reply }));
  }
}
