// What threads say to each other: one closed union per direction, and the typed end of a port that it goes through. Every message
// survives a structured clone.

import type { MessagePort } from 'node:worker_threads';
import type { Backend, BackendHealth } from './backends.js';
import type { ActionEvent, Collection } from './collections.js';
import type { Answer, Command } from './commands.js';

/** A change of published state, in the order in which it happened. `json` is encoded in the actor's thread, once. */
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
  | { readonly kind: 'event'; readonly type: ActionEvent; readonly json: string };

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
  | { readonly kind: 'pong'; readonly id: number };

export type LogFields = Readonly<Record<string, string | number | boolean>>;

/** From an actor to the main thread. */
export type FromActor = readonly Item[];

/** From the main thread to an actor of backend `B`. */
export type ToActor<B extends Backend = Backend> =
  | { readonly kind: 'command'; readonly id: number; readonly command: Command<B> }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'stop' };

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
  changes(backend: Backend, changes: readonly Change[]): void;
  /** Called after the changes that preceded it. Leaving `up` means: the backend's records are gone. */
  health(backend: Backend, health: BackendHealth): void;
}

/** How the gateway reaches the backends. Every promise settles, within the deadline of contract section 3, and none rejects. */
export interface Backends {
  ask<B extends Backend>(backend: B, command: Command<B>): Promise<Answer>;
}
