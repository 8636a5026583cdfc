// The common part of all actors: answers pings, sends items in batches, stops on request. It passes commands to a backend and changes
// to a bridge. It knows no actor, and never catches what an actor throws outside a promise: that ends the thread.

import type { Backend, Bridge } from '../protocol/actor/backends.js';
import { COLLECTION_NAMES, type Collection } from '../protocol/actor/collections.js';
import type { Answer, Command } from '../protocol/actor/commands.js';
import { failure } from '../protocol/actor/faults.js';
import {
  type ActorTask,
  type BridgeReply,
  type BridgeRequest,
  type ChangeBatch,
  type FromActor,
  type LogFields,
  type Port,
  type PostedItem,
  type ToActor,
  type ToBridge,
  type ToChild,
  typedPort,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';

/** A larger batch is sent as several messages, so that the main thread never handles a huge one at once. */
const BATCH_ITEMS_MAX = 1024;

/** The sending side of an actor. Everything published in one turn of its event loop, its promises included, is sent as one batch, in order. */
interface StatusReporter {
  /** A backend sends `up` after the puts that complete its collections; `connecting` empties them without drops. */
  status(state: 'connecting' | 'up', detail?: string): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
}

export interface Publisher extends StatusReporter {
  /** Adds or replaces the record `key`; `json` is its whole text, in one line. `rank` lists it in another order than that of arrival. */
  put(collection: Collection, key: string, json: string, rank?: number): void;
  drop(collection: Collection, key: string): void;
  /** The newest reading of the meters; only while they are watched. */
  level(json: string): void;
}

/** A bridge's access to the rest of the node. */
export interface NodeLink extends StatusReporter {
  /** Has the same effects and refusals as over HTTP. Settles when the HTTP reply would be sent, and never rejects. */
  ask(request: BridgeRequest): Promise<BridgeReply>;
}

/** For a bridge that owns records, as a backend does. */
export type OwnerLink = NodeLink & Pick<Publisher, 'put' | 'drop'>;

export interface Actor<C> {
  /** A rejection becomes the fault `internal`; a synchronous throw ends the thread. */
  handle(command: C): Promise<Answer>;
  /** For backends with meters: true if anybody watches them. `true` again means that a new watcher needs every reading. */
  watchLevels?(isWatched: boolean): void;
  /** For backends that are subscribers: applies a batch of others' records. The next one is sent only after this has returned. */
  applyChanges?(batch: ChangeBatch): void;
  /** Called once. When it settles, the actor holds nothing open any more. */
  stop(): Promise<void>;
}

export interface BridgeActor {
  /** Applies a batch. The next one is sent only after this has returned; a throw ends the thread. */
  applyChanges(batch: ChangeBatch): void;
  /** Called once. When it settles, the bridge holds nothing open any more. It may still ask meanwhile. */
  stop(): Promise<void>;
}

class BatchPublisher implements Publisher {
  readonly #port: Port<FromActor, unknown>;
  #items: PostedItem[] = [];

  constructor(port: Port<FromActor, unknown>) {
    this.#port = port;
  }

  put(collection: Collection, key: string, json: string, rank?: number): void {
    this.add([COLLECTION_NAMES.indexOf(collection), key, json, rank]);
  }

  drop(collection: Collection, key: string): void {
    this.add({ kind: 'drop', collection, key });
  }

  level(json: string): void {
    this.add({ kind: 'level', json });
  }

  status(state: 'connecting' | 'up', detail?: string): void {
    this.add({ kind: 'status', state, ...(detail === undefined ? {} : { detail }) });
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    this.add({ kind: 'log', level, message, ...(fields === undefined ? {} : { fields }) });
  }

  add(item: PostedItem): void {
    this.#items.push(item);
    if (this.#items.length >= BATCH_ITEMS_MAX) this.flush();
    // Ticks come after the promises that this turn settles, such as the answer to a command, and before the loop goes on.
    else if (this.#items.length === 1) Promise.resolve().then(() => process.nextTick(this.flush));
  }

  /** Sends the collected items. After the port is closed they are lost, which is right for a timer of a stopped actor. */
  readonly flush = (): void => {
    if (this.#items.length === 0) return;
    const batch = this.#items;
    this.#items = [];
    this.#port.send(batch);
  };
}

/** A synchronous throw of `handle` ends the thread. The supervisor bounds the number of running commands. */
function handleCommand<C>(actor: Actor<C>, publisher: BatchPublisher, id: number, command: C): void {
  actor
    .handle(command)
    .catch((error: unknown): Answer => {
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      publisher.log('error', 'a command ended in an unexpected error', { stack });
      return failure('internal', 'The command ended in an unexpected error');
    })
    .then((answer) => publisher.add({ kind: 'answer', id, answer }));
}

/** A bridge's requests that have no reply yet. The gateway bounds their number by refusing more. */
class OpenRequests {
  readonly #publisher: BatchPublisher;
  readonly #open = new Map<number, (reply: BridgeReply) => void>();
  #lastId = 0;

  constructor(publisher: BatchPublisher) {
    this.#publisher = publisher;
  }

  ask(request: BridgeRequest): Promise<BridgeReply> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.#publisher.add({ kind: 'ask', id, ...request });
    return new Promise((resolve) => this.#open.set(id, resolve));
  }

  settle(id: number, reply: BridgeReply): void {
    this.#open.get(id)?.(reply);
    this.#open.delete(id);
  }
}

/** Serves the port until a `stop` message, or until the other end is closed. */
function serveUntilStop<In extends { readonly kind: string }>(
  port: Port<FromActor, In | ToChild>,
  publisher: BatchPublisher,
  take: (message: In) => void,
): Promise<void> {
  return new Promise((resolve) => {
    port.listen((message) => {
      if (isForAll(message)) {
        if (message.kind === 'ping') publisher.add({ kind: 'pong', id: message.id });
        else resolve();
      } else take(message);
    }, resolve);
  });
}

function isForAll(message: { readonly kind: string }): message is ToChild {
  return message.kind === 'ping' || message.kind === 'stop';
}

type StartActor<B extends Backend> = (settings: ChildSettings[B], publish: Publisher) => Actor<Command<B>>;

/**
 * A backend's whole life, to be returned by the default export of its `worker.ts`. Resolves when the actor has stopped on request;
 * rejects when `start` throws or `stop` rejects, which the supervisor treats as a death.
 */
export async function runActor<B extends Backend>(
  task: ActorTask<ChildSettings[B]>,
  start: StartActor<B>,
): Promise<void> {
  const port = typedPort<FromActor, ToActor<B>>(task.port);
  const publisher = new BatchPublisher(port);
  try {
    const actor = start(task.settings, publisher);
    if (actor.applyChanges !== undefined) publisher.add({ kind: 'pull', isFirst: true });
    await serveUntilStop<Exclude<ToActor<B>, ToChild>>(port, publisher, (message) => {
      if (message.kind === 'command') handleCommand(actor, publisher, message.id, message.command);
      else if (message.kind === 'watch levels') actor.watchLevels?.(message.isWatched);
      else {
        actor.applyChanges?.(message);
        publisher.add({ kind: 'pull', isFirst: false });
      }
    });
    await actor.stop();
  } finally {
    // The last items are sent even after a failure, because they contain its reason.
    publisher.flush();
    port.close();
  }
}

/** Like `runActor`, for a bridge. */
export async function runBridge<B extends Bridge>(
  task: ActorTask<ChildSettings[B]>,
  start: (settings: ChildSettings[B], node: OwnerLink) => BridgeActor,
): Promise<void> {
  const port = typedPort<FromActor, ToBridge>(task.port);
  const publisher = new BatchPublisher(port);
  const openRequests = new OpenRequests(publisher);
  try {
    const bridge = start(task.settings, {
      status: (state, detail) => publisher.status(state, detail),
      log: (level, message, fields) => publisher.log(level, message, fields),
      put: (collection, key, json) => publisher.put(collection, key, json),
      drop: (collection, key) => publisher.drop(collection, key),
      ask: (request) => openRequests.ask(request),
    });
    publisher.add({ kind: 'pull', isFirst: true });
    await serveUntilStop<Exclude<ToBridge, ToChild>>(port, publisher, (message) => {
      if (message.kind === 'reply') return openRequests.settle(message.id, message);
      bridge.applyChanges(message);
      publisher.add({ kind: 'pull', isFirst: false });
    });
    await bridge.stop();
  } finally {
    publisher.flush();
    port.close();
  }
}
