// One child: it carries out what its lifecycle says, delivers what its thread publishes, and keeps its promises to those
// who ask. Decisions are in lifecycle, health and heartbeat; this file is their hands.

import { fileURLToPath } from 'node:url';
import type { Backend, BackendHealth, BackendState } from '../protocol/actor/backends.js';
import type { Command } from '../protocol/actor/commands.js';
import type {
  BackendListener,
  Change,
  FromActor,
  Item,
  LogFields,
  LogLevel,
} from '../protocol/actor/messages.js';
import type { BackendSettings } from '../protocol/actor/settings.js';
import { Asks, fault, type Settle } from './asks.js';
import type { ChildSpec } from './children.js';
import type { Clock } from './clock.js';
import { type Death, RETURNED } from './death.js';
import { healthAfter } from './health.js';
import type { HeartbeatPolicy } from './heartbeat.js';
import { Incarnation } from './incarnation.js';
import type { Input } from './inputs.js';
import { type Effect, type Lifecycle, type Signal, step, UNBORN } from './lifecycle.js';
import type { Logger } from './log.js';
import type { RestartPolicy } from './restarts.js';
import type { Threads } from './threads.js';

/** What a child needs of the world. */
export interface Surroundings {
  readonly root: URL;
  readonly threads: Threads;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listener: BackendListener;
  readonly restarts: RestartPolicy;
  readonly askWithinMs: number;
  /** The supervisor's loop. */
  readonly take: (input: Input) => void;
}

/** What a thread says beside changes of state. */
type Utterance = Exclude<Item, Change>;
type Handlers<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: (message: Extract<U, { readonly kind: K }>) => void;
};

const LEVELS: { readonly [S in BackendState]: LogLevel } = {
  connecting: 'info',
  up: 'info',
  restarting: 'warn',
  failed: 'error',
};

/** What is said to those who ask a child without a thread. One that has not been started yet is what `/health` calls it. */
function absent(backend: Backend, life: Lifecycle): string {
  const { phase, detail } = life;
  const state = life === UNBORN ? 'connecting' : phase;
  return `The ${backend} backend is ${state}${detail === undefined ? '' : `: ${detail}`}`;
}

export class Child {
  readonly backend: Backend;
  readonly #spec: ChildSpec;
  readonly #settings: BackendSettings[Backend];
  readonly #around: Surroundings;
  readonly #asks: Asks;
  #life: Lifecycle = UNBORN;
  #health: BackendHealth | undefined;
  #incarnation: Incarnation | undefined;
  #incarnations = 0;
  #cancelTimer: (() => void) | undefined;
  #late = false;
  #onStopped: (() => void) | undefined;

  constructor(spec: ChildSpec, settings: BackendSettings[Backend], around: Surroundings) {
    this.backend = spec.backend;
    this.#spec = spec;
    this.#settings = settings;
    this.#around = around;
    const { clock, take, askWithinMs } = around;
    this.#asks = new Asks((id) =>
      clock.after(askWithinMs, () => take({ kind: 'ask due', backend: spec.backend, id })),
    );
  }

  start(): void {
    this.#signal({ kind: 'start' });
  }

  /** Fulfils when the child has stopped: true when it did so by itself, false when it had to be killed. */
  stop(): Promise<boolean> {
    return new Promise((resolve) => {
      this.#onStopped = () => resolve(!this.#late);
      this.#signal({ kind: 'stop' });
      if (this.#life.phase === 'stopped') this.#onStopped();
    });
  }

  /** A child without a thread is not started again; one with a thread goes on. */
  stayDown(): void {
    if (this.#incarnation === undefined) this.#signal({ kind: 'stop' });
  }

  /** The child's timer fired. */
  due(): void {
    this.#signal({ kind: 'due' });
  }

  ask(command: Command, settle: Settle): void {
    const incarnation = this.#incarnation;
    if (incarnation === undefined || this.#life.phase === 'stopping') {
      settle(fault('unavailable', absent(this.backend, this.#life)));
      return;
    }
    const id = this.#asks.open(settle);
    if (id !== undefined) incarnation.send({ kind: 'command', id, command });
  }

  askDue(id: number): void {
    const seconds = this.#around.askWithinMs / 1000;
    this.#asks.settle(id, fault('timeout', `The ${this.backend} backend gave no answer within ${seconds} s`));
  }

  ping(policy: HeartbeatPolicy): boolean {
    return this.#incarnation?.ping(this.#around.clock.monotonic(), policy) ?? false;
  }

  get owesPong(): boolean {
    return this.#incarnation?.owesPong ?? false;
  }

  /** True when the child was given more time. */
  judge(policy: HeartbeatPolicy): boolean {
    return this.#incarnation?.judge(policy) ?? false;
  }

  /** A batch of thread number `incarnation`. */
  receive(incarnation: number, items: FromActor): void {
    const current = this.#incarnation;
    if (current === undefined || incarnation !== this.#incarnations || current.killed) return;
    if (current.admits(items.length, this.#around.clock.monotonic())) this.#deliver(items);
    else current.kill('flooded the main thread with messages');
  }

  ended(incarnation: number, death: Death): void {
    const current = this.#incarnation;
    if (current === undefined || incarnation !== this.#incarnations) return;
    for (const items of current.close()) this.#deliver(items);
    this.#incarnation = undefined;
    if (this.#life.phase === 'stopping' && death !== RETURNED) {
      this.#log('warn', 'backend did not stop cleanly', { detail: death.reason });
    }
    this.#signal({ kind: 'ended', how: death.reason, at: this.#around.clock.monotonic() }, death.stack);
    // Behind the change of health: whoever hears of the fault and looks finds the reason.
    this.#asks.settleAll(fault('unavailable', absent(this.backend, this.#life)));
  }

  /** In the order in which it was said: changes are with the listener before the answer or the status behind them. */
  #deliver(items: FromActor): void {
    let changes: Change[] = [];
    const flush = (): void => {
      if (changes.length > 0) this.#around.listener.changes(this.backend, changes);
      changes = [];
    };
    for (const item of items) {
      if (item.kind === 'put' || item.kind === 'drop' || item.kind === 'event') {
        changes.push(item);
        continue;
      }
      flush();
      this.#hear(item);
    }
    flush();
  }

  #hear<K extends Utterance['kind']>(
    item: Extract<Utterance, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#utterances[item.kind](item);
  }

  readonly #utterances: Handlers<Utterance> = {
    answer: ({ id, answer }) => this.#asks.settle(id, answer),
    status: (status) => this.#signal(status),
    log: ({ level, message, fields }) => this.#log(level, message, fields),
    pong: ({ id }) => this.#incarnation?.pong(id),
  };

  #signal(signal: Signal, stack?: string): void {
    const before = this.#life.phase;
    const { next, effects } = step(this.#life, signal, {
      restarts: this.#around.restarts,
      stopWithinMs: this.#spec.stopWithinMs,
    });
    this.#life = next;
    if (next.phase !== before) this.#cancelTimer?.();
    for (const effect of effects) this.#carryOut(effect);
    this.#report(stack);
    if (next.phase === 'stopped' && before !== 'stopped') this.#onStopped?.();
  }

  #carryOut<K extends Effect['kind']>(
    effect: Extract<Effect, { readonly kind: K }> & { readonly kind: K },
  ): void {
    this.#effects[effect.kind](effect);
  }

  readonly #effects: Handlers<Effect> = {
    spawn: () => this.#spawn(),
    'set timer': ({ ms }) => {
      const { clock, take } = this.#around;
      this.#cancelTimer = clock.after(ms, () => take({ kind: 'due', backend: this.backend }));
    },
    'ask to stop': () => this.#incarnation?.send({ kind: 'stop' }),
    kill: () => {
      this.#late = true;
      this.#incarnation?.kill(`did not stop within ${this.#spec.stopWithinMs} ms`);
    },
  };

  #spawn(): void {
    const { threads, root, clock, take } = this.#around;
    const { backend } = this;
    this.#incarnations += 1;
    const incarnation = this.#incarnations;
    this.#incarnation = new Incarnation({
      threads,
      entry: fileURLToPath(new URL(this.#spec.entry, root)),
      settings: this.#settings,
      now: clock.monotonic(),
      onBatch: (items) => take({ kind: 'batch', backend, incarnation, items }),
      onEnded: (death) => take({ kind: 'ended', backend, incarnation, death }),
    });
  }

  #report(stack: string | undefined): void {
    const before = this.#health;
    const health = healthAfter(before, this.#life, this.#around.clock.date());
    if (health === undefined || health === before) return;
    this.#health = health;
    if (health.state !== before?.state) {
      const detail = health.detail === undefined ? {} : { detail: health.detail };
      this.#log(LEVELS[health.state], `backend is ${health.state}`, {
        ...detail,
        ...(stack === undefined ? {} : { stack }),
      });
    }
    this.#around.listener.health(this.backend, health);
  }

  #log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#around.logger.log(level, message, { backend: this.backend, ...fields });
  }
}
