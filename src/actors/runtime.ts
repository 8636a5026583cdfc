// What every actor has in common: it answers pings, turns commands into answers, publishes in batches and stops when
// told. It knows no backend, and it never catches what an actor throws outside a promise: that ends the thread.

import type { Backend } from '../protocol/actor/backends.js';
import type { ActionEvent, Collection } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import {
  type ActorTask,
  type FromActor,
  type Item,
  type LogFields,
  type LogLevel,
  type Port,
  type ToActor,
  typedPort,
} from '../protocol/actor/messages.js';
import type { BackendSettings } from '../protocol/actor/settings.js';

/** A turn that says more leaves as several messages, so that the main thread never takes in a huge one at once. */
const BATCH_ITEMS_MAX = 1024;

/** How an actor speaks. Everything said in one turn of its event loop leaves as one batch, in the order in which it was said. */
export interface Publisher {
  /** Adds or replaces the record `key`; `json` is its whole text. `rank`: listed in another order than that of coming. */
  put(collection: Collection, key: string, json: string, rank?: number): void;
  drop(collection: Collection, key: string): void;
  event(type: ActionEvent, json: string): void;
  /** Say `up` behind the puts that make the collections whole; `connecting` empties them, no drops are needed. */
  status(state: 'connecting' | 'up', detail?: string): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

export interface Actor<C> {
  /** A rejection becomes the fault `internal`; a synchronous throw ends the thread. */
  handle(command: C): Promise<Answer>;
  /** Called once. When it settles the actor holds nothing open any more. */
  stop(): Promise<void>;
}

/** Collects what is said until the turn ends. */
class BatchPublisher implements Publisher {
  readonly #port: Port<FromActor, unknown>;
  #items: Item[] = [];
  #leaves: NodeJS.Immediate | undefined;

  constructor(port: Port<FromActor, unknown>) {
    this.#port = port;
  }

  put(collection: Collection, key: string, json: string, rank?: number): void {
    this.say({ kind: 'put', collection, key, json, ...(rank !== undefined && { rank }) });
  }

  drop(collection: Collection, key: string): void {
    this.say({ kind: 'drop', collection, key });
  }

  event(type: ActionEvent, json: string): void {
    this.say({ kind: 'event', type, json });
  }

  status(state: 'connecting' | 'up', detail?: string): void {
    this.say({ kind: 'status', state, ...(detail === undefined ? {} : { detail }) });
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    this.say({ kind: 'log', level, message, ...(fields === undefined ? {} : { fields }) });
  }

  say(item: Item): void {
    this.#items.push(item);
    if (this.#items.length >= BATCH_ITEMS_MAX) this.flush();
    else this.#leaves ??= setImmediate(() => this.flush());
  }

  /** Sends what was said so far. Once the port is closed this goes nowhere, which is right for a timer of a stopped actor. */
  flush(): void {
    clearImmediate(this.#leaves);
    this.#leaves = undefined;
    if (this.#items.length === 0) return;
    const batch = this.#items;
    this.#items = [];
    this.#port.send(batch);
  }
}

/** A synchronous throw of `handle` passes through here and ends the thread. The supervisor bounds how many are under way. */
function carryOut<C>(actor: Actor<C>, publisher: BatchPublisher, id: number, command: C): void {
  actor
    .handle(command)
    .catch((error: unknown): Answer => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      publisher.log('error', 'a command ended in an unexpected error', { stack });
      return { ok: false, fault: 'internal', detail: 'The command ended in an unexpected error' };
    })
    .then((answer) => publisher.say({ kind: 'answer', id, answer }));
}

/**
 * An actor's whole life, to be returned by the default export of its `worker.ts`. Resolves when the actor has stopped
 * as it was told; rejects when `start` throws or `stop` rejects, which the supervisor takes for a death.
 */
export async function runActor<B extends Backend>(
  task: ActorTask<BackendSettings[B]>,
  start: (settings: BackendSettings[B], publish: Publisher) => Actor<Command<B>>,
): Promise<void> {
  const port = typedPort<FromActor, ToActor<B>>(task.port);
  const publisher = new BatchPublisher(port);
  try {
    const actor = start(task.settings, publisher);
    // Until the actor is told to stop, or nobody holds the other end.
    await new Promise<void>((resolve) => {
      port.listen((message) => {
        if (message.kind === 'command') carryOut(actor, publisher, message.id, message.command);
        else if (message.kind === 'ping') publisher.say({ kind: 'pong', id: message.id });
        else resolve();
      }, resolve);
    });
    await actor.stop();
  } finally {
    // The last words leave also when it ends badly: they say why.
    publisher.flush();
    port.close();
  }
}
