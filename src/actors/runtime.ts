// Runs an actor in its thread: passes messages to the actor, and sends in batches what the actor publishes.
// An error that the actor throws outside of a promise is not caught, and ends the thread.

import { monotonic } from '../host/clock.js';
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
  type ChangeBatch,
  type ChildReply,
  type ChildRequest,
  type CommandMessage,
  type FromActor,
  type LogFields,
  type Port,
  type PostedItem,
  type PostedPut,
  type ToActor,
  type ToBridge,
  typedPort,
} from '../protocol/actor/messages.js';
import type { ChildSettings, LogLevel } from '../protocol/actor/settings.js';

/** A batch is sent as soon as it has this number of items, so the main thread never gets a huge batch. */
const BATCH_ITEMS_MAX = 1024;

/**
 * While no command runs, a batch has all that the actor publishes in one synchronous step. While a command
 * runs, a batch has all that the actor publishes in a whole turn, because the command's answer must be sent
 * together with the changes that the command has caused in this turn.
 */
export interface Publisher {
  /**
   * A backend sends `up` after it has put all its records. A backend that sends `connecting` need not drop
   * its records, because the journal decides by itself which of them it drops. The journal keeps units, for
   * example (`dropsWhenAway` in gateway/journal.ts).
   */
  status(state: 'connecting' | 'up', detail?: string): void;
  log(level: LogLevel, message: string, fields?: LogFields): void;
  /**
   * Adds or replaces the record `key`. `json` is its whole text, in one line. The lists that clients get
   * are sorted by `rank`, lowest first. Records without a rank come last, in the order of their arrival.
   */
  put(collection: Collection, key: string, json: string, rank?: number): void;
  drop(collection: Collection, key: string): void;
  /** Sends the newest reading of the meters. To be called only while somebody watches the meters. */
  level(json: string): void;
}

/** A backend that needs operations of other backends has this link to the rest of the node. */
export interface BackendLink extends Publisher {
  /**
   * Requests an operation, which has the same effects and refusals as over HTTP. Settles when the HTTP reply
   * would be sent, and never rejects.
   */
  ask(request: ChildRequest): Promise<ChildReply>;
}

/** A bridge that owns records has this link to the rest of the node. */
export type OwnerLink = Omit<BackendLink, 'level'>;

/** A bridge without records has this link to the rest of the node. */
export type NodeLink = Omit<OwnerLink, 'put' | 'drop'>;

export interface BridgeActor {
  /**
   * Applies a batch of changes to records that the actor does not own. The next batch comes only after this
   * call has returned. An error that this call throws ends the thread.
   */
  applyChanges(batch: ChangeBatch): void;
  /**
   * This method is called once. Its promise settles when the actor has closed everything. Until then a
   * bridge may ask for operations.
   */
  stop(): Promise<void>;
}

/** The actor of a backend. */
export interface Actor<C> extends Pick<BridgeActor, 'stop'> {
  /** Only a subscriber has this method. */
  applyChanges?: BridgeActor['applyChanges'];
  /** A rejection becomes the fault `internal`. A synchronous throw ends the thread. */
  handle(command: C): Promise<Answer>;
  /**
   * Only backends with meters have this method. A repeated call with `true` means that there is a new
   * watcher, which has no reading yet.
   */
  watchLevels?(isWatched: boolean): void;
}

class BatchPublisher implements BackendLink {
  readonly #port: Port<FromActor, unknown>;
  #items: PostedItem[] = [];
  /** How many commands have no answer yet. */
  runningCommands = 0;
  /**
   * The requests that have no reply yet. The key is the request's id. The function resolves the promise that
   * `ask` has returned. Each actor bounds the number of its own requests.
   */
  readonly #pendingRequests = new Map<number, (reply: ChildReply) => void>();
  #lastRequestId = 0;

  constructor(port: Port<FromActor, unknown>) {
    this.#port = port;
  }

  put(collection: Collection, key: string, json: string, rank?: number): void {
    // A put is sent as an array, which costs less than an object (`PostedPut` in messages.ts).
    const collectionIndex = COLLECTION_NAMES.indexOf(collection);
    const put: PostedPut = [collectionIndex, key, json, rank];
    this.add(put);
  }

  drop(collection: Collection, key: string): void {
    this.add({ kind: 'drop', collection, key });
  }

  level(json: string): void {
    this.add({ kind: 'level', json });
  }

  /**
   * The detail is made printable, because it may quote a broker, a service on the network or another
   * program.
   */
  status(state: 'connecting' | 'up', detail?: string): void {
    const status = { kind: 'status', state } as const;
    this.add(detail === undefined ? status : { ...status, detail: printable(detail) });
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    const line = { kind: 'log', level, message } as const;
    this.add(fields === undefined ? line : { ...line, fields });
  }

  ask(request: ChildRequest): Promise<ChildReply> {
    this.#lastRequestId += 1;
    const id = this.#lastRequestId;
    this.add({ kind: 'ask', id, ...request });
    return new Promise((resolve) => this.#pendingRequests.set(id, resolve));
  }

  settleRequest(id: number, reply: ChildReply): void {
    this.#pendingRequests.get(id)?.(reply);
    this.#pendingRequests.delete(id);
  }

  add(item: PostedItem): void {
    this.#items.push(item);
    const isFirstOfBatch = this.#items.length === 1;
    if (this.#items.length >= BATCH_ITEMS_MAX) this.flush();
    else if (isFirstOfBatch) Promise.resolve().then(this.#flushAfterAnswers);
  }

  /**
   * While a command runs, its answer may come later in this turn, from another promise. `nextTick` calls
   * `flush` only after all promises of the turn, so the batch has this answer, too. Without a command the
   * batch leaves at once, because `nextTick` has a cost.
   */
  readonly #flushAfterAnswers = (): void => {
    if (this.runningCommands > 0) process.nextTick(this.flush);
    else this.flush();
  };

  /**
   * Sends the collected items. If the port is closed, they are lost, but nobody needs them, because only a
   * timer of a stopped actor still publishes items then.
   */
  readonly flush = (): void => {
    if (this.#items.length === 0) return;
    const batch = this.#items;
    this.#items = [];
    this.#port.send(batch);
  };
}

/**
 * A `ToActor` may have a command of any backend. Here the command has the type `C`, such as `SystemdCommand`.
 */
type MessageToActor<C> = CommandMessage<C> | Exclude<ToActor | ToBridge, { readonly kind: 'command' }>;

/** Both have `stop`. All other methods may be missing: a bridge, for example, has no `handle`. */
type BackendOrBridge<C> = Pick<Actor<C>, 'stop'> & Partial<Actor<C>>;

/**
 * Runs one actor until a `stop` message or the end of the port, then stops the actor, and resolves. Rejects
 * when `start` throws or the actor's `stop` rejects. The supervisor counts a rejection as the death of the
 * thread.
 */
async function run<S, C>(
  task: ActorTask<S>,
  start: (settings: S, publisher: BatchPublisher) => BackendOrBridge<C>,
): Promise<void> {
  const port = typedPort<FromActor, MessageToActor<C>>(task.port);
  const publisher = new BatchPublisher(port);
  const heap = new IdleHeap();
  logWarnings((level, message, fields) => publisher.log(level, message, fields));
  try {
    const actor = start(task.settings, publisher);
    // A subscriber gets a batch of changes only when it asks for one. `isFirst` is true here, because a new
    // thread has no records yet.
    if (actor.applyChanges !== undefined) publisher.add({ kind: 'pull', isFirst: true });
    await new Promise<void>((endWork) => {
      port.listen((message) => {
        const { kind } = message;
        if (kind === 'command') {
          // The client of a late command has got 504 already, so the command must not take effect now.
          if (monotonic() >= message.deadline) publisher.log('debug', 'a command came after its deadline');
          else publishAnswer(publisher, message.id, actor.handle?.(message.command));
        } else if (kind === 'ping') {
          publisher.add({ kind: 'pong', id: message.id, thread: threadReport() });
          // Unused memory is released at pings, because they also reach an idle thread (host/idle-heap.ts).
          heap.shrink();
        } else if (kind === 'stop') endWork();
        else if (kind === 'watch levels') actor.watchLevels?.(message.isWatched);
        else if (kind === 'reply') publisher.settleRequest(message.id, message);
        else {
          // The only kind that is left is `changes`.
          actor.applyChanges?.(message);
          publisher.add({ kind: 'pull', isFirst: false });
        }
      }, endWork);
    });
    await actor.stop();
  } finally {
    // The last items are sent even after a failure, because a log line among them may give the reason.
    publisher.flush();
    port.close();
  }
}

/**
 * Publishes the answer to the command `id`. `pendingAnswer` is undefined for a bridge, which takes no
 * commands. The supervisor bounds the number of running commands.
 */
function publishAnswer(publisher: BatchPublisher, id: number, pendingAnswer?: Promise<Answer>): void {
  if (pendingAnswer === undefined) return;
  publisher.runningCommands += 1;
  pendingAnswer
    .catch((error: unknown): Answer => {
      const stack = error instanceof Error ? error.stack : undefined;
      const fields = { stack: stack ?? errorText(error) };
      publisher.log('error', 'a command ended in an unexpected error', fields);
      return failure('internal', 'The command ended in an unexpected error');
    })
    .then((answer) => {
      publisher.runningCommands -= 1;
      publisher.add({ kind: 'answer', id, answer });
    });
}

/** Makes the default export of a backend's `backend.ts`: the function that runs its thread. */
export const actorThread =
  <B extends Backend>(start: (settings: ChildSettings[B], link: BackendLink) => Actor<Command<B>>) =>
  (task: ActorTask<ChildSettings[B]>): Promise<void> =>
    run(task, start);

/** Makes the default export of a bridge's `bridge.ts`: the function that runs its thread. */
export const bridgeThread =
  <B extends Bridge>(start: (settings: ChildSettings[B], node: OwnerLink) => BridgeActor) =>
  (task: ActorTask<ChildSettings[B]>): Promise<void> =>
    run(task, start);
