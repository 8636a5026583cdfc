// Which messages threads send each other, and which calls supervisor and gateway make to each other.
// Node.js must be able to clone every message (structured clone).

import type { MessagePort } from 'node:worker_threads';
import type { Backend, BackendHealth, ChildName, Subscriber } from './backends.js';
import type { Collection } from './collections.js';
import type { Answer, Command } from './commands.js';
import type { OperationName } from './operations.js';
import type { LogLevel } from './settings.js';

/** Adds a record to its collection, or replaces the record that has the same key there. */
export interface Put {
  readonly kind: 'put';
  readonly collection: Collection;
  readonly key: string;
  /** The record. It is encoded once, in the actor's thread. */
  readonly json: string;
  /**
   * The record's place in lists, lowest first. Records without a rank come last, in the order in which they
   * were first put.
   */
  readonly rank?: number | undefined;
}

/** Removes a record. */
export type Drop = { readonly kind: 'drop'; readonly collection: Collection; readonly key: string };

/** A change of the published records. Changes are sent in order. */
export type Change = Put | Drop;

/**
 * A `Put` in the form in which it is posted to the main thread. `collection` is the index in
 * COLLECTION_NAMES. If a put were posted as an object, the names of its members would be posted, too. They
 * would cost the main thread a tenth more time per change of volume (bench/FIGURES.md, "A change of a
 * volume").
 */
export type PostedPut = readonly [collection: number, key: string, json: string, rank: number | undefined];

/** One item from an actor. An actor sends several items as one array, because each message costs time. */
export type ActorItem =
  | Change
  /** The newest reading of the meters, while somebody watches them. */
  | { readonly kind: 'level'; readonly json: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /**
   * An actor sends `up` after the puts that complete its collections. When it loses its peer, it sends
   * `connecting`, but need not send drops. The gateway then drops the actor's records, except those of some
   * collections, such as units (`dropsWhenAway` in gateway/journal.ts).
   */
  | { readonly kind: 'status'; readonly state: 'connecting' | 'up'; readonly detail?: string }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly fields?: LogFields }
  | { readonly kind: 'pong'; readonly id: number; readonly thread: ThreadReport }
  /**
   * A subscriber has applied all changes that it has received, and asks for newer changes. `isFirst` is true
   * for the first `pull` of a thread, which has no records yet.
   */
  | { readonly kind: 'pull'; readonly isFirst: boolean }
  /** From a bridge, or from a backend that needs an operation of another backend. */
  | ({ readonly kind: 'ask'; readonly id: number } & ChildRequest);

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** From an actor to the main thread: one batch (`Publisher` in actors/runtime.ts). */
export type FromActor = readonly PostedItem[];
export type PostedItem = PostedPut | Exclude<ActorItem, Put>;

/** From the main thread to every actor. */
export type ToChild = { readonly kind: 'ping'; readonly id: number } | { readonly kind: 'stop' };

export interface CommandMessage<C> {
  readonly kind: 'command';
  readonly id: number;
  readonly command: C;
  /** The time in ms on the monotonic clock at which the client gets 504, if there is no answer by then. */
  readonly deadline: number;
}

/** From the main thread to the actor of backend `B`. */
export type ToActor<B extends Backend = Backend> =
  | CommandMessage<Command<B>>
  /**
   * `isWatched` is true while anybody watches the meters. Another `true` means that there is a new watcher,
   * which has no reading yet.
   */
  | { readonly kind: 'watch levels'; readonly isWatched: boolean }
  /** Sent only to subscribers. */
  | ({ readonly kind: 'changes' } & ChangeBatch)
  | ToChild;

/**
 * From the main thread to a bridge. A backend that has sent an `ask` gets a `reply`, too, so the port of
 * each thread takes both `ToActor` and `ToBridge`.
 */
export type ToBridge =
  | ({ readonly kind: 'changes' } & ChangeBatch)
  | ({ readonly kind: 'reply'; readonly id: number } & ChildReply)
  | ToChild;

/** A record of the collection `backends`. */
export interface BackendRecord extends BackendHealth {
  readonly backend: ChildName;
}

/** The record of the collection `served`. `addresses` has the same addresses as `listening` in `/health`. */
export interface ServedRecord {
  readonly port: number;
  readonly addresses: readonly string[];
}

const UNNEEDED_BY_MQTT: readonly Collection[] = [
  'players.position',
  'players.tracklist',
  'nodes',
  'nodes.origins',
  'nodes.policy',
  'upgrade.info',
  'upgrade.run',
  'upgrade.check',
  'bluetooth.devices',
  'bluetooth.discovered',
  'bluetooth.outcome',
];

/**
 * By subscriber: a function that returns true for the collections that the subscriber needs. The gateway
 * sends only the records of these collections to the subscriber.
 */
export const IS_NEEDED: Readonly<Record<Subscriber, (collection: Collection) => boolean>> = {
  discovery: (collection) => collection === 'served',
  mqtt: (collection) => !UNNEEDED_BY_MQTT.includes(collection),
  bluetooth: (collection) => collection === 'audio.outputs',
};

/**
 * The changes since the last `ChangeBatch` to the same thread: the newest change of each record, and every
 * action that the journal still has. The subscriber applies the changes in their order. Until it has applied
 * the last one, its records may contradict each other. While a backend is not `up`, the records of this
 * backend may be outdated.
 */
export interface ChangeBatch {
  /**
   * True if `changes` has all records that the subscriber needs, as in the first batch to a thread. The
   * subscriber must then forget all earlier records.
   */
  readonly isWhole: boolean;
  readonly changes: readonly Change[];
}

/** An operation that a child asks for. */
export interface ChildRequest {
  /** Undefined if no operation has the requested name. */
  readonly operation: OperationName | undefined;
  /** The values of the path's parameters, by name. A value is undefined if its text could not be decoded. */
  readonly params?: Readonly<Record<string, string | undefined>>;
  /** Parsed JSON. */
  readonly body?: unknown;
  /** A text that is no valid body, in place of `body`. It is refused with the same words as over HTTP. */
  readonly invalidBody?: string;
}

/**
 * The status and body that a client would get over HTTP. The body is JSON or empty. The body of a refusal is
 * the problem document.
 */
export interface ChildReply {
  readonly status: number;
  readonly body: string;
}

/**
 * One end of the channel between the main thread and an actor's thread. It sends `Out` and receives `In`.
 * Received messages are not checked, because both ends are this program in the same version.
 */
export interface Port<Out, In> {
  send(message: Out): void;
  /** Call it once. Messages that arrive earlier wait in the port. */
  listen(onMessage: (message: In) => void, onClose: () => void): void;
  close(): void;
}

export function typedPort<Out, In>(port: MessagePort): Port<Out, In> {
  return {
    send: port.postMessage.bind(port),
    listen: (onMessage, onClose) => {
      port.on('message', onMessage);
      port.on('close', onClose);
    },
    close: () => port.close(),
  };
}

/** The argument of the function that runs an actor's thread. `port` is transferred to this thread. */
export interface ActorTask<S> {
  readonly port: MessagePort;
  readonly settings: S;
}

/** The supervisor's calls to the gateway. main.ts connects the two, because neither may import the other. */
export interface BackendListener {
  /** Changes of one batch, in order. */
  changes(changes: readonly Change[]): void;
  level(json: string): void;
  /**
   * Called with each new health of a child, after the changes that its thread sent before. If the child is
   * not `up`, the gateway drops the child's records, except those of some collections (`dropsWhenAway` in
   * gateway/journal.ts).
   */
  health(child: ChildName, health: BackendHealth): void;
}

/** The same calls, and those on behalf of children: pulls of subscribers, and requests of any child. */
export interface ChildListener extends BackendListener {
  /**
   * Called for each `pull`: the subscriber's thread is ready for a batch. `send` passes the batch to this
   * thread only. After the end of the thread, `send` has no effect, because the subscriber's next thread
   * sends a `pull` of its own.
   */
  feedRequest(child: ChildName, isFirst: boolean, send: (batch: ChangeBatch) => void): void;
  /** Takes as long as the same request over HTTP, and never rejects. */
  childRequest(child: ChildName, request: ChildRequest): Promise<ChildReply>;
}

/**
 * The gateway's calls to the supervisor. Every promise settles within the deadline of docs/http-api.md,
 * "Limits", and none rejects.
 */
export interface Backends {
  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer>;
  /**
   * Says whether anybody watches the meters. Call it with `true` for each new watcher. While the value is
   * `true`, a new thread of the backend with the meters gets it, too.
   */
  watchLevels(isWatched: boolean): void;
  /** The last reports of threads, by child. The call also requests newer ones, for the next call. */
  threads(): ReadonlyMap<ChildName, ThreadReport>;
}

/** A thread's report about itself. */
export interface ThreadReport {
  /** The thread's number in the kernel; undefined where /proc does not have it. */
  readonly tid: number | undefined;
  /** Bytes in use of the thread's own V8 heap. */
  readonly heapBytes: number;
}
