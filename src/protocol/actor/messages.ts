// What threads say to each other: one closed union per direction, and the typed end of a port that it goes through. Every message
// survives a structured clone.

import type { MessagePort } from 'node:worker_threads';
import type { Backend, BackendHealth, Bridge, ChildName } from './backends.js';
import type { Collection } from './collections.js';
import type { Answer, Command } from './commands.js';
import type { OperationName } from './operations.js';
import type { LogLevel } from './settings.js';

/** A change of what is published, in the order in which it happened. `json` is encoded in the actor's thread, once. */
export type Change =
  | {
      readonly kind: 'put';
      readonly collection: Collection;
      readonly key: string;
      readonly json: string;
      /** Its rank in lists; without one, behind those that came before. */
      readonly rank?: number;
    }
  | { readonly kind: 'drop'; readonly collection: Collection; readonly key: string };

/** One thing an actor has to say. A turn of its loop travels as one array of these (measured: facts in ARCHITECTURE.md). */
export type Item =
  | Change
  /** The newest reading of the meters, while somebody watches them. */
  | { readonly kind: 'level'; readonly json: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /**
   * `up` comes behind the puts that make the collections whole; leaving `up` empties the backend's collections
   * in the journal, so an actor that loses its peer says `connecting` and needs no drops.
   */
  | { readonly kind: 'status'; readonly state: 'connecting' | 'up'; readonly detail?: string }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly message: string; readonly fields?: LogFields }
  | { readonly kind: 'pong'; readonly id: number }
  /** Of a bridge: it has taken in all that it was told, and may be told more. `isFirst`: its thread is new, and knows nothing. */
  | { readonly kind: 'pull'; readonly isFirst: boolean }
  /** Of a bridge. */
  | ({ readonly kind: 'ask'; readonly id: number } & BridgeRequest);

export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** From an actor to the main thread: what one turn has to say. */
export type FromActor = readonly Item[];

/** From the main thread to every actor. */
export type ToChild = { readonly kind: 'ping'; readonly id: number } | { readonly kind: 'stop' };

/** From the main thread to the actor of backend `B`. */
export type ToActor<B extends Backend = Backend> =
  | { readonly kind: 'command'; readonly id: number; readonly command: Command<B> }
  /** Whether anybody watches the meters. Sent again for each who comes: a reading is not kept, and they have none yet. */
  | { readonly kind: 'watch levels'; readonly isWatched: boolean }
  | ToChild;

/** From the main thread to a bridge. */
export type ToBridge =
  | ({ readonly kind: 'tell' } & ChangeBatch)
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

/** True for collections that a bridge does not need, so that they are not sent to it. */
export const UNHEARD: Readonly<Record<Bridge, (collection: Collection) => boolean>> = {
  discovery: (collection) => collection !== 'served',
  mqtt: (collection) => collection === 'players.position' || collection === 'upgrade.info',
};

/**
 * What has come into the journal since a bridge pulled last: all of it holds when the last change has been taken in. Of a record only the
 * newest text comes, of actions each, in order. While a backend is not `up`, what is known of its records may not be true.
 */
export interface ChangeBatch {
  /** These are all records there are: what came before counts no more. */
  readonly isWhole: boolean;
  readonly changes: readonly Change[];
}

/** An operation that a bridge asks for. */
export interface BridgeRequest {
  /** Undefined: there is none of the name that was wanted. */
  readonly operation: OperationName | undefined;
  /** By their names in the path; undefined: the text could not be decoded. */
  readonly params?: Readonly<Record<string, string | undefined>>;
  /** Parsed already. */
  readonly body?: unknown;
  /** A text that came instead of a body and is none: it is refused in the words that HTTP has for it. */
  readonly unread?: string;
}

/** The status and the body, JSON or none, that a client would get: for a refusal the problem document. */
export interface BridgeReply {
  readonly status: number;
  readonly body: string;
}

/** One end: it sends `Out` and hears `In`. `In` is trusted: both ends are this program at the same version. */
export interface Port<Out, In> {
  send(message: Out): void;
  /** Called once, at set-up; messages wait in the port until then. */
  listen(onMessage: (message: In) => void, onClose: () => void): void;
  close(): void;
}

export function typedPort<Out, In>(port: MessagePort): Port<Out, In> {
  return {
    send: (message) => port.postMessage(message),
    listen: (onMessage, onClose) => {
      port.on('message', onMessage);
      port.on('close', onClose);
    },
    close: () => port.close(),
  };
}

/** What the supervisor hands to a fresh worker thread (piscina's task; the port travels in its transfer list). */
export interface ActorTask<S> {
  readonly port: MessagePort;
  readonly settings: S;
}

/** How the supervisor reaches the gateway. Both sides are wired in main.ts; neither imports the other. */
export interface BackendListener {
  /** Changes of one batch, in order. */
  changes(child: ChildName, changes: readonly Change[]): void;
  level(json: string): void;
  /** Called after the changes that preceded it. Leaving `up` means: the backend's records are gone. */
  health(child: ChildName, health: BackendHealth): void;
}

/** What the supervisor passes on from bridges; other children are not heard. */
export interface BridgeListener {
  pulled(child: ChildName, isFirst: boolean): void;
  /** Settles as a request over HTTP does, and never rejects. */
  asked(child: ChildName, request: BridgeRequest): Promise<BridgeReply>;
}

export type ChildListener = BackendListener & BridgeListener;

/** How the gateway reaches the backends. Every promise settles, within the deadline of docs/http-api.md, "Limits", and none rejects. */
export interface Backends {
  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer>;
  /** Whether anybody watches the meters: to be called with `true` for each who comes. Later threads of their backend know it, too. */
  watchLevels(isWatched: boolean): void;
}

/** How the gateway reaches the bridges. What one without a thread is told is lost: its next thread pulls anew. */
export interface Bridges {
  tell(bridge: Bridge, batch: ChangeBatch): void;
}
