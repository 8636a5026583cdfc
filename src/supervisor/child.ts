// One child: starts its thread, again after each death, and stops it; delivers the thread's messages, and answers commands. The health that
// clients see is docs/http-api.md, "Backends that are away". Whether a thread is dead is decided in incarnation.ts.

import { fileURLToPath } from 'node:url';
import { type Clock, within } from '../clock.js';
import type { BackendHealth, ChildName } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection, LEVEL_BACKEND } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import type {
  ActorItem,
  Change,
  ChangeBatch,
  ChildListener,
  FromActor,
  Log,
  LogFields,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';
import { Incarnation } from './incarnation.js';
import { afterDeath, type ChildSpec, type RestartPolicy } from './policy.js';
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

/** Commands of one child that wait for its answers. */
const WAITING_MAX = 256;

/** A thread's messages other than changes. */
type OtherItem = Exclude<ActorItem, Change>;
type Handlers<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: (message: Extract<U, { readonly kind: K }>) => void;
};

/** A report's content besides the time. */
type ReportedHealth = Omit<BackendHealth, 'since' | 'detail'> & { readonly detail: string | undefined };

const LEVELS = { connecting: 'info', up: 'info', restarting: 'warn', failed: 'error' } as const;

export class Child {
  readonly name: ChildName;
  readonly #spec: ChildSpec;
  readonly #settings: ChildSettings[ChildName];
  readonly #context: ChildContext;
  /** The waiting commands, oldest first, each by its id and with what takes its answer. */
  readonly #asks = new Map<number, (answer: Answer) => void>();
  #lastAsk = 0;
  /** The last report; undefined until the child is started. */
  #health: BackendHealth | undefined;
  /** Set when there will be no further thread, and when the last one has ended. */
  #end: 'stopping' | 'stopped' | undefined;
  /** Times of recent deaths, oldest first. */
  #deaths: readonly number[] = [];
  /** The present thread; undefined while the child waits for its next start, and when it has stopped. */
  #incarnation: Incarnation | undefined;
  #cancelTimer: () => void = () => undefined;
  #onStopped: () => void = () => undefined;
  #onSign: (() => void) | undefined;
  /** Resolves when the child has sent its first message, or has ended. Node reports each further call of `resolve` to a handler. */
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
  }

  /** Starts a thread: the first one, and the next one when its time has come. */
  readonly start = (): void => {
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
    const { restarts = 0, detail } = this.#health ?? {};
    // After a death, a new thread is `restarting` until its first report.
    this.#report({ state: restarts === 0 ? 'connecting' : 'restarting', restarts, detail });
  };

  /** Call it before `stop`. A child without a thread has stopped then; one with a thread runs until `stop`, or until that ends. */
  stayDown(): void {
    this.#end = 'stopping';
    if (this.#incarnation === undefined) this.#halt();
  }

  /** Resolves when the child has stopped, by itself or because it was killed in the end. Call it once. */
  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStopped = resolve;
      if (this.#incarnation === undefined) return this.#halt();
      this.#incarnation.send({ kind: 'stop' });
      const { stopWithinMs } = this.#spec;
      this.#after(stopWithinMs, () => this.#incarnation?.kill(`did not stop within ${stopWithinMs} ms`));
    });
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
    const incarnation = this.#incarnation;
    if (incarnation === undefined || this.#end !== undefined) return this.#absent();
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

  /** For the heartbeat. */
  get incarnation(): Incarnation | undefined {
    return this.#incarnation;
  }

  /** The fault of a command to a child without a thread. A child that was never started is `connecting`, as in `/health`. */
  #absent(): Answer {
    const { detail } = this.#health ?? {};
    const state = this.#health === undefined ? 'connecting' : (this.#end ?? this.#health.state);
    const reason = detail === undefined ? '' : `: ${detail}`;
    return failure('unavailable', `The ${this.name} backend is ${state}${reason}`);
  }

  #ended(incarnation: Incarnation, death: Death): void {
    for (const items of incarnation.close()) this.#deliver(items);
    this.#incarnation = undefined;
    if (this.#end === undefined) this.#died(death);
    else {
      if (death !== RETURNED) this.#log('warn', 'backend did not stop cleanly', { detail: death.reason });
      this.#halt();
    }
    // After the change of health, so that a client that gets the fault and then reads `/health` finds the reason.
    const fault = this.#absent();
    for (const settle of this.#asks.values()) settle(fault);
    this.#onSign?.();
    this.#context.onPong();
  }

  #died({ reason, stack }: Death): void {
    const { clock, restarts: policy } = this.#context;
    const { verdict, waitMs, deaths } = afterDeath(this.#deaths, clock.monotonic(), policy);
    this.#deaths = deaths;
    const often = verdict === 'failed' ? `; ${deaths.length} deaths in ${policy.windowMs / 1000} s` : '';
    const restarts = (this.#health?.restarts ?? 0) + 1;
    this.#after(waitMs, this.start);
    this.#report({ state: verdict, restarts, detail: `thread ended: ${reason}${often}` }, stack);
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
    this.#utterances[item.kind](item);
  }

  readonly #utterances: Handlers<OtherItem> = {
    level: ({ json }) => this.#context.listener.level(json),
    // An answer may arrive after its deadline: nobody waits for it then.
    answer: ({ id, answer }) => this.#asks.get(id)?.(answer),
    status: ({ state, detail }) => {
      if (this.#end === undefined) this.#report({ state, restarts: this.#health?.restarts ?? 0, detail });
    },
    log: ({ level, message, fields }) => this.#log(level, message, fields),
    pong: ({ id }) => {
      this.#incarnation?.pong(id);
      this.#context.onPong();
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

  #report({ state, restarts, detail }: ReportedHealth, stack?: string): void {
    const before = this.#health;
    const isSameState = before?.state === state;
    if (isSameState && before.restarts === restarts && before.detail === detail) return;
    const since = isSameState ? before.since : this.#context.clock.date();
    const told = detail === undefined ? {} : { detail };
    this.#health = { state, since, restarts, ...told };
    // Another reason for being away is news as well; what an actor says while it is up, it logs itself.
    if (!isSameState || (state !== 'up' && detail !== undefined && detail !== before.detail)) {
      const facts = { ...told, ...(stack !== undefined && { stack }) };
      const level = state === 'connecting' && detail !== undefined ? 'warn' : LEVELS[state];
      this.#log(level, `backend is ${state}`, facts);
    }
    this.#context.listener.health(this.name, this.#health);
  }

  #log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#context.log(level, message, { backend: this.name, ...fields });
  }
}
