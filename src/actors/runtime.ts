// What every actor has in common: it answers pings, speaks in batches and stops when told; a backend's turns commands into answers, a
// bridge's takes in what it is told and asks. It knows none of them, and it never catches what an actor throws outside a promise:
// that ends the thread.

import type { Backend, Bridge } from '../protocol/actor/backends.js';
import type { Collection } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import {
  type ActorTask,
  type BridgeReply,
  type BridgeRequest,
  type ChangeBatch,
  type FromActor,
  type Item,
  type LogFields,
  type Port,
  type ToActor,
  type ToBridge,
  type ToChild,
  typedPort,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';

/** A turn that says more leaves as several messages, so that the main thread never takes in a huge one at once. */
const BATCH_ITEMS_MAX = 1024;

/** How an actor speaks. Everything said in one turn of its event loop leaves as one batch, in the order in which it was said. */
interface Speaker {
  /** A backend says `up` behind the puts that make its collections whole; `connecting` empties them, no drops are needed. */
  status(state: 'connecting' | 'up', detail?: string): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

export interface Publisher extends Speaker {
  /** Adds or replaces the record `key`; `json` is its whole text. `rank`: listed in another order than that of coming. */
  put(collection: Collection, key: string, json: string, rank?: number): void;
  drop(collection: Collection, key: string): void;
  /** The newest reading of the meters, while they are watched only. */
  level(json: string): void;
}

/** How a bridge speaks to the rest of the node. */
export interface NodeLink extends Speaker {
  /** As over HTTP, with the same effects and refusals. Settles when that would, and never rejects. */
  ask(request: BridgeRequest): Promise<BridgeReply>;
}

export interface Actor<C> {
  /** A rejection becomes the fault `internal`; a synchronous throw ends the thread. */
  handle(command: C): Promise<Answer>;
  /** Where it has meters: whether anybody watches them. `true` again: somebody new, who is to get every reading. */
  watchLevels?(isWatched: boolean): void;
  /** Called once. When it settles the actor holds nothing open any more. */
  stop(): Promise<void>;
}

export interface BridgeActor {
  /** Takes in what it is told. It is told no more before this has returned; a throw ends the thread. */
  hear(batch: ChangeBatch): void;
  /** Called once. When it settles the bridge holds nothing open any more. It may still ask meanwhile. */
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

  level(json: string): void {
    this.say({ kind: 'level', json });
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
function handleCommand<C>(actor: Actor<C>, publisher: BatchPublisher, id: number, command: C): void {
  actor
    .handle(command)
    .catch((error: unknown): Answer => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      publisher.log('error', 'a command ended in an unexpected error', { stack });
      return failure('internal', 'The command ended in an unexpected error');
    })
    .then((answer) => publisher.say({ kind: 'answer', id, answer }));
}

/** What a bridge has asked and has no reply to. Bounded by the gateway, which refuses those that are too many. */
class Questions {
  readonly #publisher: BatchPublisher;
  readonly #open = new Map<number, (reply: BridgeReply) => void>();
  #lastId = 0;

  constructor(publisher: BatchPublisher) {
    this.#publisher = publisher;
  }

  ask(request: BridgeRequest): Promise<BridgeReply> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#publisher.say({ kind: 'ask', id, ...request });
    return new Promise((resolve) => this.#open.set(id, resolve));
  }

  settle(id: number, reply: BridgeReply): void {
    this.#open.get(id)?.(reply);
    this.#open.delete(id);
  }
}

/** Serves the port until the actor is told to stop, or until nobody holds the other end. */
function served<In extends { readonly kind: string }>(
  port: Port<FromActor, In | ToChild>,
  publisher: BatchPublisher,
  take: (message: In) => void,
): Promise<void> {
  return new Promise((resolve) => {
    port.listen((message) => {
      if (isForAll(message)) {
        if (message.kind === 'ping') publisher.say({ kind: 'pong', id: message.id });
        else resolve();
      } else take(message);
    }, resolve);
  });
}

function isForAll(message: { readonly kind: string }): message is ToChild {
  return message.kind === 'ping' || message.kind === 'stop';
}

/**
 * A backend's whole life, to be returned by the default export of its `worker.ts`. Resolves when the actor has stopped
 * as it was told; rejects when `start` throws or `stop` rejects, which the supervisor takes for a death.
 */
export async function runActor<B extends Backend>(
  task: ActorTask<ChildSettings[B]>,
  start: (settings: ChildSettings[B], publish: Publisher) => Actor<Command<B>>,
): Promise<void> {
  const port = typedPort<FromActor, ToActor<B>>(task.port);
  const publisher = new BatchPublisher(port);
  try {
    const actor = start(task.settings, publisher);
    await served<Exclude<ToActor<B>, ToChild>>(port, publisher, (message) => {
      if (message.kind === 'command') handleCommand(actor, publisher, message.id, message.command);
      else actor.watchLevels?.(message.isWatched);
    });
    await actor.stop();
  } finally {
    // The last words leave also when it ends badly: they say why.
    publisher.flush();
    port.close();
  }
}

/** As `runActor`, for a bridge. */
export async function runBridge<B extends Bridge>(
  task: ActorTask<ChildSettings[B]>,
  start: (settings: ChildSettings[B], node: NodeLink) => BridgeActor,
): Promise<void> {
  const port = typedPort<FromActor, ToBridge>(task.port);
  const publisher = new BatchPublisher(port);
  const questions = new Questions(publisher);
  try {
    const bridge = start(task.settings, {
      status: (state, detail) => publisher.status(state, detail),
      log: (level, message, fields) => publisher.log(level, message, fields),
      ask: (request) => questions.ask(request),
    });
    publisher.say({ kind: 'pull', isFirst: true });
    await served<Exclude<ToBridge, ToChild>>(port, publisher, (message) => {
      if (message.kind === 'reply') return questions.settle(message.id, message);
      bridge.hear(message);
      publisher.say({ kind: 'pull', isFirst: false });
    });
    await bridge.stop();
  } finally {
    publisher.flush();
    port.close();
  }
}
