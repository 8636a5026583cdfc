// The messages between threads: one closed union per direction, and the typed end of the port that carries
// them. Every message survives a structured clone.

import type { MessagePort } from 'node:worker_threads';
import type { Backend, BackendHealth, ChildName, Subscriber } from './backends.js';
import type { Collection } from './collections.js';
import type { Answer, Command } from './commands.js';
import type { OperationName } from './operations.js';
import type { LogLevel } from './settings.js';

export interface Put {
  readonly kind: 'put';
  readonly collection: Collection;
  readonly key: string;
  readonly json: string;
  /** Its rank in lists; without one it is listed after those that came before. */
  readonly rank?: number | undefined;
}
export type Drop = { readonly kind: 'drop'; readonly collection: Collection; readonly key: string };

/** A change of the published records, sent in order. `json` is encoded once, in the actor's thread. */
export type Change = Put | Drop;

/**
 * A `put` as it is posted, its collection by its number in COLLECTION_NAMES. Cloned as an object, whose names
 * and words have to be found again, it takes a tenth more of what a change of a volume costs the main thread
 * (measured).
 */
export type PostedPut = readonly [collection: number, key: string, json: string, rank: number | undefined];

/** One item from an actor. The items of one turn of its loop are sent as one array (measured). */
export type ActorItem =
  | Change
  /** The newest reading of the meters, while somebody watches them. */
  | { readonly kind: 'level'; readonly json: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /**
   * `up` comes after the puts that complete the collections. Leaving `up` drops the backend's records from
   * the journal, so an actor that loses its peer sends `connecting` and needs no drops. Records of
   * collections without an event for that (units, the upgrade) stay.
   */
  | { readonly kind: 'status'; readonly state: 'connecting' | 'up'; readonly detail?: string }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly fields?: LogFields }
  | { readonly kind: 'pong'; readonly id: number; readonly thread: ThreadReport }
  /**
   * From a subscriber: it has applied everything and is ready for more. `isFirst`: its thread is new and has
   * no records yet.
   */
  | { readonly kind: 'pull'; readonly isFirst: boolean }
  /** From a bridge, or from a backend that needs an operation of another one. */
  | ({ readonly kind: 'ask'; readonly id: number } & BridgeRequest);

export type LogFields = Readonly<Record<string, string | number | boolean>>;

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** From an actor to the main thread: the items of one turn. */
export type FromActor = readonly PostedItem[];
export type PostedItem = PostedPut | Exclude<ActorItem, Put>;

/** From the main thread to every actor. */
export type ToChild = { readonly kind: 'ping'; readonly id: number } | { readonly kind: 'stop' };

/** From the main thread to the actor of backend `B`. */
export type ToActor<B extends Backend = Backend> =
  | { readonly kind: 'command'; readonly id: number; readonly command: Command<B> }
  /**
   * True if anybody watches the meters. Sent again for each new watcher: a reading is not kept, so a new one
   * has none yet.
   */
  | { readonly kind: 'watch levels'; readonly isWatched: boolean }
  /** Only to subscribers. */
  | ({ readonly kind: 'changes' } & ChangeBatch)
  | ToChild;
export type ToBridge =
  | ({ readonly kind: 'changes' } & ChangeBatch)
  | ({ readonly kind: 'reply'; readonly id: number } & BridgeReply)
  | ToChild;

/** A record of `backends`: a child's health, under its name. */
export interface BackendRecord extends BackendHealth {
  readonly backend: ChildName;
}

/** The record of `served`: addresses as `/health` lists them. */
export interface ServedRecord {
  readonly port: number;
  readonly addresses: readonly string[];
}

const UNWANTED_BY_MQTT: readonly Collection[] = [
  'players.position',
  'players.tracklist',
  'nodes',
  'nodes.origins',
  'upgrade.info',
  'upgrade.check',
  'bluetooth.devices',
  'bluetooth.discovered',
  'bluetooth.outcome',
];

/** True for collections that a subscriber does not need, so that they are not sent to it. */
export const UNWANTED: Readonly<Record<Subscriber, (collection: Collection) => boolean>> = {
  discovery: (collection) => collection !== 'served',
  mqtt: (collection) => UNWANTED_BY_MQTT.includes(collection),
  bluetooth: (collection) => collection !== 'audio.outputs',
};

/**
 * The journal's changes since a subscriber last pulled; the records are consistent after the last change. A
 * record comes only with its newest text, actions all in order. While a backend is not `up`, its records may
 * be outdated.
 */
export interface ChangeBatch {
  /** True if these are all records: the receiver must forget earlier ones. */
  readonly isWhole: boolean;
  readonly changes: readonly Change[];
}
export interface BridgeRequest {
  /** Undefined if no operation has the requested name. */
  readonly operation: OperationName | undefined;
  /** By their names in the path; undefined if the text could not be decoded. */
  readonly params?: Readonly<Record<string, string | undefined>>;
  /** Parsed already. */
  readonly body?: unknown;
  /** A text that is no valid body; it is refused with the same words as over HTTP. */
  readonly unread?: string;
}

/** The status and body (JSON or empty) that a client would get; for a refusal the problem document. */
export interface BridgeReply {
  readonly status: number;
  readonly body: string;
}

/**
 * One end of a port: sends `Out`, receives `In`. `In` is trusted: both ends are this program at the same
 * version.
 */
export interface Port<Out, In> {
  send(message: Out): void;
  /** Called once, at set-up; messages wait in the port until then. */
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

/** The supervisor's task for a new worker thread (piscina's task; the port is in its transfer list). */
export interface ActorTask<S> {
  readonly port: MessagePort;
  readonly settings: S;
}

/** The supervisor's calls to the gateway. Both sides are wired in main.ts; neither imports the other. */
export interface BackendListener {
  /** Changes of one batch, in order. */
  changes(changes: readonly Change[]): void;
  level(json: string): void;
  /**
   * Called after the preceding changes. Leaving `up` drops the backend's records, but for those that stay
   * (`status` of `ActorItem`).
   */
  health(child: ChildName, health: BackendHealth): void;
}

/** The supervisor passes these on from subscribers, and requests from bridges only. */
export interface ChildListener extends BackendListener {
  /**
   * A subscriber's thread is ready for the next batch. `send` goes to this thread, and has no effect after
   * its end: the next thread requests its feed by itself.
   */
  feedRequest(child: ChildName, isFirst: boolean, send: (batch: ChangeBatch) => void): void;
  /** Settles when a request over HTTP would, and never rejects. */
  bridgeRequest(child: ChildName, request: BridgeRequest): Promise<BridgeReply>;
}

/**
 * The gateway's calls to the backends. Every promise settles within the deadline of docs/http-api.md,
 * "Limits", and none rejects.
 */
export interface Backends {
  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer>;
  /**
   * Reports whether anybody watches the meters. Call it with `true` for each new watcher. A replaced thread
   * gets the last value again.
   */
  watchLevels(isWatched: boolean): void;
  /** The last report of each thread that has sent one, by child. The call requests the next one of each. */
  threads(): ReadonlyMap<ChildName, ThreadReport>;
}

/** A thread knows this of itself. */
export interface ThreadReport {
  /** The kernel's number of it; undefined where /proc does not have it. */
  readonly tid: number | undefined;
  /** Only its own heap counts, and of that what is in use. */
  readonly heapBytes: number;
}
