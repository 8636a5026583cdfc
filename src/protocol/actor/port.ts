// A typed end of a MessagePort: what an actor and its supervisor hold instead of the raw object. No policy, no queue of its own.

import type { MessagePort } from 'node:worker_threads';

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
