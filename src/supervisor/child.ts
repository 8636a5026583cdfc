// One child: passes every event to its lifecycle and carries out the effects, delivers its thread's messages, and answers commands.
// The decisions are in lifecycle.ts and incarnation.ts.

import { fileURLToPath } from 'node:url';
import { type Clock, within } from '../clock.js';
import type { BackendHealth, BackendState, ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection, LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type {
  ActorItem,
  Change,
  ChangeBatch,
  ChildListener,
  FromActor,
  LogFields,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';
import type { ChildSpec } from './children.js';
import { type HeartbeatPolicy, Incarnation } from './incarnation.js';
import {
  healthAfter,
  type Lifecycle,
  type LifeEffect,
  type LifeSignal,
  nextLife,
  type RestartPolicy,
  UNBORN,
} from './lifecycle.js';
import type { Logger } from './log.js';
import { type Death, RETURNED, type Threads } from './threads.js';

export interface ChildContext {
  readonly root: URL;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listener: ChildListener;
  readonly restarts: RestartPolicy;
  readonly askWithinMs: number;
  /** True while a client watches the meters. */
  readonly areLevelsWatched: () => boolean;
  /** Called when the child has sent its first message or a pong, or has ended. */
  readonly onSign: () => void;
}

/** Commands of one child that wait for its answers. */
const WAITING_MAX = 256;

/** A thread's messages other than changes. */
type OtherItem = Exclude<ActorItem, Change>;
type Handlers<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: (message: Extract<U, { readonly kind: K }>) => void;
};

const LEVELS: { readonly [S in BackendState]: LogLevel } = {
  connecting: 'info',
  up: 'info',
  restarting: 'warn',
  failed: 'error',
};

/** The detail of the fault for commands to a child without a thread. A child that was never started is `connecting`, as in `/health`. */
function absent(name: ChildName, life: Lifecycle): string {
  const { phase, detail } = life;
  const state = life === UNBORN ? 'connecting' : phase;
  return `The ${name} backend is ${state}${detail === undefined ? '' : `: ${detail}`}`;
}

export class Child {
  readonly name: ChildName;
  readonly #spec: ChildSpec;
  readonly #settings: ChildSettings[ChildName];
  readonly #context: ChildContext;
  /** The waiting commands, oldest first, each by its id and with what takes its answer. */
  readonly #asks = new Map<number, (answer: Answer) => void>();
  #lastAsk = 0;
  #life: Lifecycle = UNBORN;
  #health: BackendHealth | undefined;
  #incarnation: Incarnation | undefined;
  #cancelTimer: (() => void) | undefined;
  #late = false;
  /** True after the first message. */
  #hasSpoken = false;
  #staysDown = false;
  #onStopped: (() => void) | undefined;

  constructor(spec: ChildSpec, settings: ChildSettings[ChildName], context: ChildContext) {
    this.name = spec.name;
    this.#spec = spec;
    this.#settings = settings;
    this.#context = context;
  }

  start(): void {
    this.#signal({ kind: 'start' });
  }

  /** Resolves when the child has stopped: true if it stopped by itself, false if it had to be killed. */
  stop(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onStopped = () => resolve(!this.#late);
      this.#signal({ kind: 'stop' });
      if (this.#life.phase === 'stopped') this.#onStopped();
    });
  }

  /** Prevents restarts: a child without a thread stays stopped, one with a thread runs until that ends. */
  stayDown(): void {
    this.#staysDown = true;
    if (this.#incarnation === undefined) this.#signal({ kind: 'stop' });
  }

  async ask(command: Command): Promise<Answer> {
    const incarnation = this.#incarnation;
    if (incarnation === undefined || this.#life.phase === 'stopping')
      return failure('unavailable', absent(this.name, this.#life));
    if (this.#asks.size >= WAITING_MAX)
      return failure('unavailable', `${WAITING_MAX} commands wait for this backend already`);
    this.#lastAsk += 1;
    const id = this.#lastAsk;
    const asked = new Promise<Answer>((resolve) => this.#asks.set(id, resolve));
    incarnation.send({ kind: 'command', id, command });
    const { clock, askWithinMs } = this.#context;
    const answer = await within(clock, askWithinMs, asked);
    this.#asks.delete(id);
    const late = `The ${this.name} backend gave no answer within ${askWithinMs / 1000} s`;
    return answer ?? failure('timeout', late);
  }

  sendChanges(batch: ChangeBatch): void {
    this.#incarnation?.send({ kind: 'changes', ...batch });
  }

  /** Call when `areLevelsWatched` may have changed; later threads get the value when they are spawned. */
  watchLevels(): void {
    this.#incarnation?.send({ kind: 'watch levels', isWatched: this.#context.areLevelsWatched() });
  }

  ping(policy: HeartbeatPolicy): boolean {
    return this.#incarnation?.ping(this.#context.clock.monotonic(), policy) ?? false;
  }

  get isPongDue(): boolean {
    return this.#incarnation?.isPongDue ?? false;
  }

  /** True if the child was given more time. */
  checkPong(policy: HeartbeatPolicy): boolean {
    return this.#incarnation?.checkPong(policy) ?? false;
  }

  #ended(incarnation: Incarnation, death: Death): void {
    for (const items of incarnation.close()) this.#deliver(items);
    this.#incarnation = undefined;
    if (this.#life.phase === 'stopping' && death !== RETURNED) {
      this.#log('warn', 'backend did not stop cleanly', { detail: death.reason });
    }
    this.#signal({ kind: 'ended', how: death.reason, at: this.#context.clock.monotonic() }, death.stack);
    // After the change of health, so that a client that gets the fault and then reads `/health` finds the reason.
    const fault = failure('unavailable', absent(this.name, this.#life));
    for (const settle of this.#asks.values()) settle(fault);
    this.#context.onSign();
    if (this.#staysDown) this.#signal({ kind: 'stop' });
  }

  /** Keeps the order: the listener gets changes before an answer or status that was sent after them. */
  readonly #deliver = (items: FromActor): void => {
    const { listener } = this.#context;
    const changes: Change[] = [];
    for (const item of items) {
      if (!('kind' in item)) {
        const [collection, key, json, rank] = item;
        changes.push({
          kind: 'put',
          collection: COLLECTION_NAMES[collection] as Collection,
          key,
          json,
          rank,
        });
      } else if (item.kind === 'drop') changes.push(item);
      else {
        if (changes.length > 0) listener.changes(changes.splice(0));
        this.#take(item);
      }
    }
    if (changes.length > 0) listener.changes(changes);
    if (!this.#hasSpoken) this.#context.onSign();
    this.#hasSpoken = true;
  };

  #take<K extends OtherItem['kind']>(
    item: Extract<OtherItem, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#utterances[item.kind](item);
  }

  readonly #utterances: Handlers<OtherItem> = {
    level: ({ json }) => this.#context.listener.level(json),
    // An answer may arrive after its deadline: nobody waits for it then.
    answer: ({ id, answer }) => this.#asks.get(id)?.(answer),
    status: (status) => this.#signal(status),
    log: ({ level, message, fields }) => this.#log(level, message, fields),
    pong: ({ id }) => {
      this.#incarnation?.pong(id);
      this.#context.onSign();
    },
    pull: ({ isFirst }) => this.#context.listener.pulled(this.name, isFirst),
    ask: (asked) => this.#askFor(asked),
  };

  /** The reply goes only to the thread that asked, not to a later one. */
  #askFor({ id, ...request }: Extract<OtherItem, { readonly kind: 'ask' }>): void {
    const asking = this.#incarnation;
    this.#context.listener
      .asked(this.name, request)
      .then((reply) => asking?.send({ kind: 'reply', id, ...reply }));
  }

  #signal(signal: LifeSignal, stack?: string): void {
    const before = this.#life.phase;
    const { next, effects } = nextLife(this.#life, signal, {
      restarts: this.#context.restarts,
      stopWithinMs: this.#spec.stopWithinMs,
    });
    this.#life = next;
    if (next.phase !== before) this.#cancelTimer?.();
    for (const effect of effects) this.#carryOut(effect);
    this.#report(stack);
    if (next.phase === 'stopped' && before !== 'stopped') this.#onStopped?.();
  }

  #carryOut<K extends LifeEffect['kind']>(
    effect: Extract<LifeEffect, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#effects[effect.kind](effect);
  }

  readonly #effects: Handlers<LifeEffect> = {
    spawn: () => this.#spawn(),
    'set timer': ({ ms }) => {
      this.#cancelTimer = this.#context.clock.after(ms, () => this.#signal({ kind: 'due' }));
    },
    'ask to stop': () => this.#incarnation?.send({ kind: 'stop' }),
    kill: () => {
      this.#late = true;
      this.#incarnation?.kill(`did not stop within ${this.#spec.stopWithinMs} ms`);
    },
  };

  #spawn(): void {
    const { threads, root, clock } = this.#context;
    const incarnation = new Incarnation({
      ...{ threads, clock },
      entry: fileURLToPath(new URL(this.#spec.entry, root)),
      settings: this.#settings,
      onBatch: this.#deliver,
      onEnded: (death) => this.#ended(incarnation, death),
    });
    this.#incarnation = incarnation;
    if (this.name === LEVEL_BACKEND && this.#context.areLevelsWatched()) this.watchLevels();
  }

  #report(stack: string | undefined): void {
    const before = this.#health;
    const health = healthAfter(before, this.#life, this.#context.clock.date());
    if (health === undefined || health === before) return;
    this.#health = health;
    if (health.state !== before?.state) {
      const { state, detail } = health;
      const facts = { ...(detail !== undefined && { detail }), ...(stack !== undefined && { stack }) };
      this.#log(LEVELS[state], `backend is ${state}`, facts);
    }
    this.#context.listener.health(this.name, health);
  }

  #log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#context.logger.log(level, message, { backend: this.name, ...fields });
  }
}
