// What threads say to each other: one closed union per direction, and the typed end of a port that it goes through. Every message
// survives a structured clone.

import type { MessagePort } from 'node:worker_threads';
import type { Backend, BackendHealth, Bridge, ChildName } from './backends.js';
import type { Collection, GaugeEvent, PassingEvent } from './collections.js';
import type { Answer, Command } from './commands.js';

/** A change of published state, or what passes, in the order in which it happened. `json` is encoded in the actor's thread, once. */
export type Change =
  | {
      readonly kind: 'put';
      readonly collection: Collection;
      readonly key: string;
      readonly json: string;
      /** Its rank in lists; without one, behind those that came before. */
      readonly rank?: number;
    }
  | { readonly kind: 'drop'; readonly collection: Collection; readonly key: string }
  | { readonly kind: 'event'; readonly type: PassingEvent; readonly json: string };

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace';

/** One thing an actor has to say. A turn of its loop travels as one array of these (measured: facts in ARCHITECTURE.md). */
export type Item =
  | Change
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /**
   * `up` comes behind the puts that make the collections whole; leaving `up` empties the backend's collections
   * in the mirror, so an actor that loses its peer says `connecting` and needs no drops.
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

/** A batch as it travels: most are one record, which as three texts takes the main thread half the time of an object with names (measured). */
export type Parcel = FromActor | readonly [collection: Collection, key: string, json: string];

export function packed(items: FromActor): Parcel {
  const [item] = items;
  const isRecord = items.length === 1 && item?.kind === 'put' && item.rank === undefined;
  return isRecord ? [item.collection, item.key, item.json] : items;
}

export function unpacked(parcel: Parcel): FromActor {
  return isItems(parcel) ? parcel : [{ kind: 'put', collection: parcel[0], key: parcel[1], json: parcel[2] }];
}

function isItems(parcel: Parcel): parcel is FromActor {
  return typeof parcel[0] !== 'string';
}

/** From the main thread to every actor. */
export type ToChild = { readonly kind: 'ping'; readonly id: number } | { readonly kind: 'stop' };

/** From the main thread to the actor of backend `B`. */
export type ToActor<B extends Backend = Backend> =
  | { readonly kind: 'command'; readonly id: number; readonly command: Command<B> }
  /** Whether anybody listens. Said again for each who comes: a reading is not kept, and they have none yet. */
  | { readonly kind: 'watch'; readonly gauge: GaugeEvent; readonly watched: boolean }
  | ToChild;

/** From the main thread to a bridge. */
export type ToBridge =
  | ({ readonly kind: 'tell' } & NoticeBatch)
  | ({ readonly kind: 'reply'; readonly id: number } & BridgeReply)
  | ToChild;

/**
 * One thing that a bridge is told when the mirror knows it. Of a record, a state and the addresses only the newest word may come,
 * of actions each, in order.
 */
export type Notice =
  | Change
  /** The backend has left `up`: its records are not known any more, which is not to say that they are gone. */
  | { readonly kind: 'forget'; readonly backend: Backend }
  /** When a backend is `up`, the records that were told are all that it has. */
  | { readonly kind: 'health'; readonly child: ChildName; readonly health: BackendHealth }
  /** Where HTTP is served now: addresses as `/health` lists them. */
  | ServedNotice;

export interface ServedNotice {
  readonly kind: 'served';
  readonly port: number;
  readonly addresses: readonly string[];
}

/** What each bridge is told of: what it does not need is not sent to its thread. */
export const HEARD: Readonly<Record<Bridge, readonly Notice['kind'][]>> = {
  discovery: ['served'],
  mqtt: ['put', 'drop', 'event', 'forget', 'health', 'served'],
};

/** Notices of one moment: all of them hold when the last has been taken in. */
export interface NoticeBatch {
  /** This is all there is: what was told before counts no more. */
  readonly isWhole: boolean;
  readonly notices: readonly Notice[];
}

/** What a bridge asks, as a client would over HTTP. */
export interface BridgeRequest {
  readonly method: 'GET' | 'POST';
  /** Percent-encoded. */
  readonly path: string;
  /** JSON. */
  readonly body?: string;
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

/** How the gateway reaches the backends. Every promise settles, within the deadline of contract section 3, and none rejects. */
export interface Backends {
  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer>;
  /** Whether anybody listens to a gauge: to be called with `true` for each who comes. Later threads of its backend are told too. */
  watch(gauge: GaugeEvent, watched: boolean): void;
}

/** How the gateway reaches the bridges. What one without a thread is told is lost: its next thread pulls anew. */
export interface Bridges {
  tell(bridge: Bridge, batch: NoticeBatch): void;
}
