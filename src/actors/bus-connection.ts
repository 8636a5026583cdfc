// One connection to a message bus, from connect to loss: the only file that uses dbus-next to talk.
// dbus-next 0.10.2 has no deadlines, says nothing when the bus dies, leaves calls pending for ever, and throws where nobody can
// catch. Hence the private fields below; the version is pinned, and they are looked at before anything relies on them.

import { Socket } from 'node:net';
import { DBusError, Message, type MessageBus, MessageType, sessionBus } from 'dbus-next';
import type { Signal } from '../protocol/dbus/method.js';
import { guardStream } from './bus-guard.js';
import type { Outcome } from './bus-outcome.js';
import { plainValue } from './bus-values.js';

/** Calls without an answer on one connection. The bus itself allows more; an actor never needs them. */
const PENDING_MAX_CALLS = 256;

export interface ConnectionHooks {
  signal(signal: Signal): void;
  /** The first message on this connection that dbus-next refused, and which is lost. */
  complaint(reason: string): void;
  /** Called once, when the connection is of no more use; all calls have been settled. */
  lost(reason: string): void;
}

/** What is called, as it goes on the wire. */
export interface Call {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature: string;
  readonly values: readonly unknown[];
}

export interface Answer {
  readonly signature: string;
  readonly values: readonly unknown[];
}

type ReplyHandler = (reply: Message) => void;

interface PrivateParts {
  readonly stream: Socket;
  /** By serial. dbus-next forgets an entry only when its reply comes. */
  readonly replies: Record<number, ReplyHandler>;
}

/** The private parts, if they are what this file takes them for. */
function privateParts(bus: MessageBus): PrivateParts | undefined {
  const { _connection: connection, _methodReturnHandlers: replies } = bus as unknown as {
    readonly _connection?: { readonly stream?: unknown };
    readonly _methodReturnHandlers?: Record<number, ReplyHandler>;
  };
  const stream = connection?.stream;
  if (!(stream instanceof Socket) || typeof replies?.[HELLO_SERIAL] !== 'function') return undefined;
  return { stream, replies };
}

const HELLO_SERIAL = 1;
const CLOSED = 'the bus closed the connection';

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A connection that the bus has greeted, or a sentence that says why there is none. */
export type Reached = { readonly connection: Connection } | { readonly failed: string };

/** Connects to the bus at a socket path. */
export function connectBus(path: string, deadlineMs: number, hooks: ConnectionHooks): Promise<Reached> {
  return new Promise((resolve) => {
    let bus: MessageBus;
    try {
      // EXTERNAL only: the other mechanisms read files in a home directory that there may not be.
      bus = sessionBus({ busAddress: `unix:path=${path}`, authMethods: ['EXTERNAL'] });
    } catch (error) {
      resolve({ failed: `${path}: ${messageOf(error)}` });
      return;
    }
    const parts = privateParts(bus);
    if (parts === undefined) {
      // Nothing will use it; but without a listener its errors would end the thread.
      bus.on('error', () => undefined);
      resolve({ failed: 'this version of dbus-next is not the one that tonearm was made for' });
      return;
    }
    const connection = new Connection(bus, parts, {
      signal: hooks.signal,
      complaint: hooks.complaint,
      lost: (reason) => {
        clearTimeout(timer);
        // After a success this resolves nothing any more.
        resolve({ failed: `${path}: ${reason}` });
        if (connection.greeted) hooks.lost(reason);
      },
    });
    const timer = setTimeout(() => connection.lose(`no greeting within ${deadlineMs} ms`), deadlineMs);
    bus.on('connect', () => {
      clearTimeout(timer);
      connection.greeted = true;
      resolve({ connection });
    });
  });
}

export class Connection {
  /** The bus has answered Hello. */
  greeted = false;
  readonly #bus: MessageBus;
  readonly #parts: PrivateParts;
  readonly #hooks: ConnectionHooks;
  readonly #pending = new Set<(outcome: Outcome<Answer>) => void>();
  #open = true;
  #hasComplained = false;

  constructor(bus: MessageBus, parts: PrivateParts, hooks: ConnectionHooks) {
    this.#bus = bus;
    this.#parts = parts;
    this.#hooks = hooks;
    const { stream } = parts;
    guardStream(stream, {
      refuse: (reason) => this.lose(`the bus broke the protocol: ${reason}`),
      dropped: (reason) => this.#complained(reason),
    });
    // Nothing else tells the end of a bus: dbus-next itself emits no event.
    for (const event of ['end', 'close']) stream.once(event, () => this.lose(CLOSED));
    bus.on('error', (error) => this.#complained(messageOf(error)));
    this.#catchRefusedHello();
    bus.on('message', (message) => this.#heard(message));
    // Nobody has reason to call us; dbus-next would answer introspection and read files for it.
    bus.addMethodHandler(() => true);
  }

  get open(): boolean {
    return this.#open;
  }

  /**
   * Calls and waits for the answer, at most `deadlineMs`. It always settles, and never rejects.
   */
  call(call: Call, deadlineMs: number): Promise<Outcome<Answer>> {
    if (!this.#open) return Promise.resolve({ ok: false, error: { kind: 'closed' } });
    if (this.#pending.size >= PENDING_MAX_CALLS)
      return Promise.resolve(local('too many calls without an answer'));
    let message: Message;
    try {
      const { values, ...head } = call;
      message = new Message({ ...head, body: [...values] });
    } catch (error) {
      return Promise.resolve(local(messageOf(error)));
    }
    return new Promise((resolve) => {
      const settle = (outcome: Outcome<Answer>): void => {
        if (!this.#pending.delete(settle)) return;
        clearTimeout(timer);
        if (message.serial !== null) delete this.#parts.replies[message.serial];
        resolve(outcome);
      };
      this.#pending.add(settle);
      const timer = setTimeout(() => settle({ ok: false, error: { kind: 'timeout' } }), deadlineMs);
      this.#bus.call(message).then(
        (reply) => settle(reply === null ? local('no reply') : answerOf(reply)),
        (error: unknown) => settle(this.#failed(error)),
      );
    });
  }

  /** Ends the connection at once. Not `disconnect()`: that fails before the handshake is over. */
  lose(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#parts.stream.destroy();
    for (const settle of [...this.#pending]) settle({ ok: false, error: { kind: 'closed' } });
    this.#hooks.lost(reason);
  }

  /**
   * An error that dbus-next reported. Before the greeting there is no connection without it; later it is either a socket's,
   * whose end follows, or a message that dbus-next refused: whoever waits for that one has a deadline.
   */
  #complained(reason: string): void {
    if (!this.greeted) {
      // A bus that closes on us shows as one of these or as an end, by chance: one reason for one fact.
      this.lose(/EPIPE|ECONNRESET/.test(reason) ? CLOSED : reason);
    } else if (this.#open && !this.#hasComplained) {
      this.#hasComplained = true;
      this.#hooks.complaint(reason);
    }
  }

  /** dbus-next throws a refused Hello out of a promise that nobody holds. So it never hears of the refusal. */
  #catchRefusedHello(): void {
    const { replies } = this.#parts;
    const greet = replies[HELLO_SERIAL];
    replies[HELLO_SERIAL] = (reply) => {
      if (reply.type === MessageType.METHOD_RETURN && typeof reply.body[0] === 'string') greet?.(reply);
      else this.lose(`the bus refused the greeting: ${reply.errorName ?? 'no name'}`);
    };
  }

  #heard(message: Message): void {
    if (message.type !== MessageType.SIGNAL || !this.#open) return;
    try {
      this.#hooks.signal({
        sender: message.sender ?? '',
        path: message.path,
        interface: message.interface,
        member: message.member,
        signature: message.signature,
        values: message.body.map(plainValue),
      });
    } catch (error) {
      // The listener's state can no longer be trusted: a new connection reads everything again.
      this.lose(`a signal could not be handled: ${messageOf(error)}`);
    }
  }

  #failed(error: unknown): Outcome<Answer> {
    if (error instanceof DBusError) {
      return { ok: false, error: { kind: 'dbus', name: error.type, text: String(error.text) } };
    }
    return this.#open ? local(messageOf(error)) : { ok: false, error: { kind: 'closed' } };
  }
}

function local(detail: string): Outcome<never> {
  return { ok: false, error: { kind: 'local', detail } };
}

function answerOf(reply: Message): Outcome<Answer> {
  return { ok: true, value: { signature: reply.signature, values: reply.body.map(plainValue) } };
}
