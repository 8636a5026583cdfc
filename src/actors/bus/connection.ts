// One connection to a message bus, from connect to loss; besides values.ts the only file that uses dbus-next.
// dbus-next 0.10.2 has no deadlines, does not report a dead bus, leaves calls pending for ever, and throws
// where nobody can catch. Hence the use of its private fields; the version is pinned, and the fields are
// checked before use.

import { Socket } from 'node:net';
import { DBusError, Message, type MessageBus, MessageType, sessionBus } from 'dbus-next';
import { errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { type BusResult, CLOSED, refusedHere } from './fault.js';
import { SignalPortions } from './signal-portions.js';
import { boundMessages, guardStream, pauseReading } from './stream-guard.js';
import { asArgument, plainValue } from './values.js';

/** Unanswered calls on one connection. The bus itself allows more; an actor never needs them. */
const PENDING_MAX_CALLS = 256;
export const BOUNDS = {
  connectDeadlineMs: 2_000,
  /**
   * A reply to GetAll has less than 20 kB, ListUnits of a thousand units 200 kB. A bus forwards 60 MiB
   * (docs/development/what-we-learnt.md, "dbus-next"). A message that is larger than this bound is skipped.
   */
  messageMaxBytes: 4 << 20,
  /**
   * From a message's first byte to its last. A bus forwards whole messages: one that stops within a message
   * is dead and answers no call.
   */
  messageDeadlineMs: 20_000,
};

export type Bounds = Readonly<typeof BOUNDS>;

/** A flag of a call (D-Bus Specification, "Message Format"). */
const NO_REPLY_EXPECTED = 1;

/** Our answer to a call: an empty reply, or a D-Bus error. */
export type CallVerdict = Result<undefined, { readonly name: string; readonly text: string }>;

export interface ConnectionHooks {
  signal(signal: Signal): void;
  /** A call to us; undefined leaves it without an answer. */
  called(call: Signal): CallVerdict | undefined;
  /** Called once, when the connection is of no more use; all calls have been settled. */
  lost(reason: string): void;
}

interface Call extends Omit<Signal, 'sender'> {
  readonly destination: string;
}

type BusReply = Pick<Signal, 'signature' | 'values'>;

interface PrivateParts {
  readonly stream: Socket;
  /** By serial. dbus-next deletes an entry only when its reply comes. */
  readonly replies: Record<number, (reply: Message) => void>;
}

const HELLO_SERIAL = 1;
const BUS_CLOSED = 'the bus closed the connection';

/** The private fields; throws if they are not as expected. */
function privateParts(bus: MessageBus): PrivateParts {
  const { _connection: connection, _methodReturnHandlers: replies } = bus as unknown as {
    readonly _connection?: { readonly stream?: unknown };
    readonly _methodReturnHandlers?: PrivateParts['replies'];
  };
  const stream = connection?.stream;
  if (stream instanceof Socket && typeof replies?.[HELLO_SERIAL] === 'function') return { stream, replies };
  // Nothing will use this bus, but without a listener its errors would end the thread.
  bus.on('error', () => undefined);
  throw new Error('this version of dbus-next is not the one that tonearm was made for');
}

/** The connection, or why there is none. */
export type ConnectResult = Result<BusConnection, string>;

export async function connectBus(
  path: string,
  { connectDeadlineMs, messageMaxBytes, messageDeadlineMs }: Bounds,
  hooks: ConnectionHooks,
): Promise<ConnectResult> {
  let timer: NodeJS.Timeout | undefined;
  try {
    // EXTERNAL only: the other mechanisms read files in a home directory that may not exist.
    const bus = sessionBus({ busAddress: `unix:path=${path}`, authMethods: ['EXTERNAL'] });
    const parts = privateParts(bus);
    guardStream(parts.stream, messageMaxBytes);
    boundMessages(parts.stream, messageDeadlineMs, () =>
      connection.lose(`a message did not end within ${messageDeadlineMs} ms`),
    );
    const connection = new BusConnection(bus, parts, hooks);
    const late = (): void => connection.lose(`no greeting within ${connectDeadlineMs} ms`);
    timer = setTimeout(late, connectDeadlineMs);
    await connection.greeted;
    return success(connection);
  } catch (error) {
    return failed(`${path}: ${errorText(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

export class BusConnection {
  readonly #bus: MessageBus;
  readonly #parts: PrivateParts;
  readonly #hooks: ConnectionHooks;
  readonly #signals: SignalPortions<Message>;
  readonly #lastBytes: () => number;
  readonly #pending = new Set<(outcome: BusResult<BusReply>) => void>();
  /** Rejects if the connection is lost before. */
  readonly greeted: Promise<void>;
  #lost: (reason: string) => void = () => undefined;
  #open = true;
  #isGreeted = false;

  constructor(bus: MessageBus, parts: PrivateParts, hooks: ConnectionHooks) {
    this.#bus = bus;
    this.#parts = parts;
    this.#hooks = hooks;
    const { stream } = parts;
    this.#signals = new SignalPortions(
      (message) => this.#passOn(message),
      () => stream.emit('readable'),
    );
    this.#lastBytes = pauseReading(stream, () => this.#signals.isFull);
    // Only the stream shows the end of a bus: dbus-next itself emits no event.
    for (const event of ['end', 'close']) stream.once(event, () => this.lose(BUS_CLOSED));
    bus.on('error', (error) => this.#failed(errorText(error)));
    this.greeted = this.#greeting();
    bus.on('message', (message) => this.#onMessage(message));
    // Always true: dbus-next would answer introspection by itself, and read files for it.
    bus.addMethodHandler((message: Message) => this.#answer(message) ?? true);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Calls and waits for the reply, at most `deadlineMs`. It always settles, and never rejects. */
  async call({ values, ...head }: Call, deadlineMs: number): Promise<BusResult<BusReply>> {
    if (!this.#open) return CLOSED;
    if (this.#pending.size >= PENDING_MAX_CALLS) return refusedHere('too many calls without an answer');
    let message: Message;
    try {
      message = new Message({ ...head, body: values.map(asArgument) });
    } catch (error) {
      return refusedHere(errorText(error));
    }
    return new Promise((resolve) => {
      const settle = (outcome: BusResult<BusReply>): void => {
        if (!this.#pending.delete(settle)) return;
        clearTimeout(timer);
        if (message.serial !== null) delete this.#parts.replies[message.serial];
        resolve(outcome);
      };
      this.#pending.add(settle);
      const timer = setTimeout(() => settle({ ok: false, error: { kind: 'timeout' } }), deadlineMs);
      this.#bus.call(message).then(
        (reply) => settle(answerOf(reply)),
        (error: unknown) => settle(failureOf(error)),
      );
    });
  }

  /** Ends the connection at once. Not `disconnect()`: that fails before the handshake is over. */
  lose(reason: string): void {
    if (!this.#open) return;
    this.#open = false;
    this.#parts.stream.destroy();
    for (const settle of [...this.#pending]) settle(CLOSED);
    this.#lost(reason);
  }

  /**
   * Before the greeting an error ends the connection. Later its end follows, or one message is refused, whose
   * call has a deadline.
   */
  #failed(reason: string): void {
    // A bus that closes the connection shows, by chance, as one of these errors or as an end: both get the
    // same reason.
    if (!this.#isGreeted) this.lose(/EPIPE|ECONNRESET/.test(reason) ? BUS_CLOSED : reason);
  }

  /**
   * dbus-next would throw a refused Hello out of a promise that nobody holds, so the refusal is kept from it.
   */
  #greeting(): Promise<void> {
    const { replies } = this.#parts;
    const greet = replies[HELLO_SERIAL];
    return new Promise((resolve, reject) => {
      this.#lost = (reason) => reject(new Error(reason));
      replies[HELLO_SERIAL] = (reply) => {
        if (reply.type !== MessageType.METHOD_RETURN)
          return this.lose(`the bus refused the greeting: ${reply.errorName ?? 'no name'}`);
        greet?.(reply);
        this.#isGreeted = true;
        this.#lost = (reason) => this.#hooks.lost(reason);
        resolve();
      };
    });
  }

  #onMessage(message: Message): void {
    if (message.type === MessageType.SIGNAL && this.#open) this.#signals.take(message, this.#lastBytes());
  }

  #passOn(message: Message): void {
    if (!this.#open) return;
    try {
      this.#hooks.signal(toSignal(message));
    } catch (error) {
      // The listener's state can no longer be trusted: a new connection reads everything again.
      this.lose(`a signal could not be handled: ${errorText(error)}`);
    }
  }

  #answer(message: Message): undefined {
    if (!this.#open) return;
    try {
      const verdict = this.#hooks.called(toSignal(message));
      if (verdict === undefined || (message.flags & NO_REPLY_EXPECTED) !== 0) return;
      this.#bus.send(replyTo(message, verdict));
    } catch (error) {
      this.lose(`a call could not be handled: ${errorText(error)}`);
    }
  }
}

/** dbus-next's declaration of its own `newError` is wrong. */
function replyTo(call: Message, verdict: CallVerdict): Message {
  if (verdict.ok) return Message.newMethodReturn(call);
  const { name, text } = verdict.error;
  const reply = Message.newMethodReturn(call, 's', [text]);
  return Object.assign(reply, { type: MessageType.ERROR, errorName: name });
}

function toSignal({ sender, path, interface: iface, member, signature, body }: Message): Signal {
  return { sender: sender ?? '', path, interface: iface, member, signature, values: body.map(plainValue) };
}

function answerOf(reply: Message | null): BusResult<BusReply> {
  if (reply === null) return refusedHere('no reply');
  return { ok: true, value: { signature: reply.signature, values: reply.body.map(plainValue) } };
}

function failureOf(error: unknown): BusResult<never> {
  if (!(error instanceof DBusError)) return refusedHere(errorText(error));
  return { ok: false, error: { kind: 'dbus', name: error.type, text: String(error.text) } };
}
