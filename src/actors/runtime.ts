// The common part of all actors: answers pings, sends items in batches, stops on request. It passes commands
// to a backend and changes to a subscriber. It knows no actor, and never catches what an actor throws outside
// a promise: that ends the thread.

import { IdleHeap } from '../host/idle-heap.js';
import { logWarnings } from '../host/node-warnings.js';
import { threadReport } from '../host/process-facts.js';
import { errorText, printable } from '../printable.js';
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
  typedPort,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';

/** A larger batch is sent as several messages, so that the main thread never handles a huge one at once. */
const BATCH_ITEMS_MAX = 1024;

/**
 * Sends what is published in one go as one batch. While a command runs the batch is the whole turn's: the
 * answer comes with its change.
 */
export interface Publisher {
  /**
   * A backend sends `up` after the puts that complete its collections; `connecting` empties them without
   * drops.
   */
  status(state: 'connecting' | 'up', detail?: string): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
  /**
   * Adds or replaces the record `key`; `json` is its whole text, in one line. `rank` lists it in another
   * order than that of arrival.
   */
  put(collection: Collection, key: string, json: string, rank?: number): void;
  drop(collection: Collection, key: string): void;
  /** The newest reading of the meters; only while they are watched. */
  level(json: string): void;
}

/** A backend's access to the rest of the node, where it needs an operation of another one. */
export interface BackendLink extends Publisher {
  /**
   * Has the same effects and refusals as over HTTP. Settles when the HTTP reply would be sent, and never
   * rejects.
   */
  ask(request: BridgeRequest): Promise<BridgeReply>;
}

/** For a bridge that owns records, as a backend does. */
export type OwnerLink = Omit<BackendLink, 'level'>;

/** A bridge's access to the rest of the node. */
export type NodeLink = Omit<OwnerLink, 'put' | 'drop'>;

export interface BridgeActor {
  /**
   * Applies a batch of others' records. The next one is sent only after this has returned; a throw ends the
   * thread.
   */
  applyChanges(batch: ChangeBatch): void;
  /**
   * Called once. When it settles, the actor holds nothing open any more. A bridge may still ask meanwhile.
   */
  stop(): Promise<void>;
}

/** A backend; one that is a subscriber has `applyChanges`. */
export interface Actor<C> extends Pick<BridgeActor, 'stop'>, Partial<Pick<BridgeActor, 'applyChanges'>> {
  /** A rejection becomes the fault `internal`; a synchronous throw ends the thread. */
  handle(command: C): Promise<Answer>;
  /**
   * For backends with meters: true if anybody watches them. `true` again means that a new watcher needs every
   * reading.
   */
  watchLevels?(isWatched: boolean): void;
}

class BatchPublisher implements BackendLink {
  readonly #port: Port<FromActor, unknown>;
  #items: PostedItem[] = [];
  /** Commands without an answer. */
  running = 0;
  /** Requests that have no reply yet. The gateway bounds their number by refusing more. */
  readonly #pendingRequests = new Map<number, (reply: BridgeReply) => void>();
  #lastId = 0;

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

  /** The detail may quote strangers: a broker, a service on the network, another program. */
  status(state: 'connecting' | 'up', detail?: string): void {
    this.add({ kind: 'status', state, ...(detail === undefined ? {} : { detail: printable(detail) }) });
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    this.add({ kind: 'log', level, message, ...(fields === undefined ? {} : { fields }) });
  }

  ask(request: BridgeRequest): Promise<BridgeReply> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.add({ kind: 'ask', id, ...request });
    return new Promise((resolve) => this.#pendingRequests.set(id, resolve));
  }

  replied(id: number, reply: BridgeReply): void {
    this.#pendingRequests.get(id)?.(reply);
    this.#pendingRequests.delete(id);
  }

  add(item: PostedItem): void {
    this.#items.push(item);
    if (this.#items.length >= BATCH_ITEMS_MAX) this.flush();
    else if (this.#items.length === 1) Promise.resolve().then(this.#endTurn);
  }

  /**
   * While a command runs, the batch waits for the next tick, which comes after all promises of this turn: so
   * the answer leaves together with its change. Without a command there is no answer to wait for, and the
   * call of `nextTick` is saved.
   */
  readonly #endTurn = (): void => {
    if (this.running > 0) process.nextTick(this.flush);
    else this.flush();
  };

  /**
   * Sends the collected items. After the port is closed they are lost. Only a timer of a stopped actor can
   * publish then, and its items are not needed.
   */
  readonly flush = (): void => {
    if (this.#items.length === 0) return;
    const batch = this.#items;
    this.#items = [];
    this.#port.send(batch);
  };
}

type In<C> =
  | { readonly kind: 'command'; readonly id: number; readonly command: C }
  | Exclude<ToActor | ToBridge, { readonly kind: 'command' }>;

/**
 * Resolves after a `stop` message or the end of the port; rejects when `start` throws or `stop` rejects,
 * which counts as a death.
 */
async function run<S, C>(
  task: ActorTask<S>,
  start: (settings: S, publisher: BatchPublisher) => Pick<Actor<C>, 'stop'> & Partial<Actor<C>>,
): Promise<void> {
  const port = typedPort<FromActor, In<C>>(task.port);
  const publisher = new BatchPublisher(port);
  const heap = new IdleHeap();
  logWarnings((level, message, fields) => publisher.log(level, message, fields));
  try {
    const actor = start(task.settings, publisher);
    if (actor.applyChanges !== undefined) publisher.add({ kind: 'pull', isFirst: true });
    await new Promise<void>((resolve) => {
      port.listen((message) => {
        const { kind } = message;
        if (kind === 'command') answer(publisher, message.id, actor.handle?.(message.command));
        else if (kind === 'ping') {
          publisher.add({ kind: 'pong', id: message.id, thread: threadReport() });
          heap.shrink();
        } else if (kind === 'stop') resolve();
        else if (kind === 'watch levels') actor.watchLevels?.(message.isWatched);
        else if (kind === 'reply') publisher.replied(message.id, message);
        else {
          actor.applyChanges?.(message);
          publisher.add({ kind: 'pull', isFirst: false });
        }
      }, resolve);
    });
    await actor.stop();
  } finally {
    // The last items are sent even after a failure, because they contain its reason.
    publisher.flush();
    port.close();
  }
}

/** The supervisor bounds the number of running commands. */
function answer(publisher: BatchPublisher, id: number, handled?: Promise<Answer>): void {
  if (handled === undefined) return;
  publisher.running += 1;
  handled
    .catch((error: unknown): Answer => {
      const stack = error instanceof Error ? (error.stack ?? errorText(error)) : errorText(error);
      publisher.log('error', 'a command ended in an unexpected error', { stack });
      return failure('internal', 'The command ended in an unexpected error');
    })
    .then((finalAnswer) => {
      publisher.running -= 1;
      publisher.add({ kind: 'answer', id, answer: finalAnswer });
    });
}

/** A thread, to be the default export of a backend's `backend.ts`. */
export const actorThread =
  <B extends Backend>(start: (settings: ChildSettings[B], link: BackendLink) => Actor<Command<B>>) =>
  (task: ActorTask<ChildSettings[B]>): Promise<void> =>
    run(task, start);

/** Likewise of a bridge's `bridge.ts`. */
export const bridgeThread =
  <B extends Bridge>(start: (settings: ChildSettings[B], node: OwnerLink) => BridgeActor) =>
  (task: ActorTask<ChildSettings[B]>): Promise<void> =>
    run(task, start);
