// Keeps one connection to a message bus, and decides when this connection is lost. Only this file and
// values.ts use dbus-next.

import { Socket } from 'node:net';
import { DBusError, Message, type MessageBus, MessageType, sessionBus } from 'dbus-next';
import { errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Signal } from '../../protocol/dbus/method.js';
import { type BusResult, CLOSED, localError } from './fault.js';
import { SignalPortions } from './signal-portions.js';
import { PausableReading, reportLateMessages, skipBadMessages } from './stream-guard.js';
import { asArgument, plainValue } from './values.js';

/** How many calls of one connection may be unanswered. A bus allows more, but an actor never needs more. */
const PENDING_MAX_CALLS = 256;
export const BOUNDS = {
  connectDeadlineMs: 2_000,
  /**
   * A larger message is skipped. A reply to GetAll has less than 20 kB, and a list of a thousand units has
   * 200 kB. A bus forwards messages of up to 60 MiB (docs/development/what-we-learnt.md, "dbus-next").
   */
  messageMaxBytes: 4 << 20,
  /**
   * The time from a message's first byte to its last. A bus forwards whole messages, so a bus that stops
   * within a message is dead, and answers no call.
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
  /**
   * A call to us, which has the form of a `Signal`. The caller gets no answer if this returns undefined.
   */
  called(call: Signal): CallVerdict | undefined;
  /**
   * Called once, when the connection is lost after the greeting (the bus's reply to our call of `Hello`). All
   * pending calls have been settled by then.
   */
  lost(reason: string): void;
}

interface MethodCall extends Omit<Signal, 'sender'> {
  readonly destination: string;
}

type BusReply = Pick<Signal, 'signature' | 'values'>;

/**
 * Private fields of dbus-next. dbus-next 0.10.2 has no deadlines, does not report a dead bus, and leaves
 * calls pending for ever. It also throws errors where nobody can catch them. This file uses the fields to
 * mend these faults. Therefore the version is pinned, and the fields are checked before use.
 */
interface PrivateParts {
  readonly stream: Socket;
  /** The handlers of replies, by the call's serial. dbus-next deletes a handler only when a reply comes. */
  readonly replyHandlers: Record<number, (reply: Message) => void>;
  /** The bus itself. `_nameOwners` has the names that we have called, and those whose owner has changed. */
  readonly busWithNames: { _nameOwners?: unknown };
}

/**
 * Takes the place of `_nameOwners`, and ignores all assignments. Otherwise dbus-next would remember these
 * names for ever. Only dbus-next's proxies and well-known names of our own need this memory, and we have
 * neither.
 */
const REMEMBERS_NO_NAMES: object = new Proxy({}, { set: () => true });

/** The serial of Hello, the first call on each connection. dbus-next makes this call by itself. */
const HELLO_SERIAL = 1;
const BUS_CLOSED = 'the bus closed the connection';

/** @throws if the fields are not as expected */
function privateParts(bus: MessageBus): PrivateParts {
  const fields = bus as unknown as {
    readonly _connection?: { readonly stream?: unknown };
    readonly _methodReturnHandlers?: PrivateParts['replyHandlers'];
    _nameOwners?: unknown;
  };
  const stream = fields._connection?.stream;
  const replyHandlers = fields._methodReturnHandlers;
  const hasNames = typeof fields._nameOwners === 'object';
  if (hasNames && stream instanceof Socket && typeof replyHandlers?.[HELLO_SERIAL] === 'function')
    return { stream, replyHandlers, busWithNames: fields };
  // Nobody will use this bus, but without a listener its errors would end the thread.
  bus.on('error', () => undefined);
  throw new Error('this version of dbus-next is not the one that tonearm was made for');
}

/** The connection, or why there is none. */
export type ConnectResult = Result<BusConnection, string>;

/** Connects to the bus at the socket of this path, and waits until the bus has greeted us. Never rejects. */
export async function connectBus(
  path: string,
  { connectDeadlineMs, messageMaxBytes, messageDeadlineMs }: Bounds,
  hooks: ConnectionHooks,
): Promise<ConnectResult> {
  let timer: NodeJS.Timeout | undefined;
  try {
    // Only the authentication method EXTERNAL is used. dbus-next would try DBUS_COOKIE_SHA1 next, which reads
    // files in the home directory. This directory may not exist.
    const bus = sessionBus({ busAddress: `unix:path=${path}`, authMethods: ['EXTERNAL'] });
    const parts = privateParts(bus);
    parts.busWithNames._nameOwners = REMEMBERS_NO_NAMES;
    skipBadMessages(parts.stream, messageMaxBytes);
    // `reportLateMessages` replaces `stream.read`. `new BusConnection` must come later, because its
    // `PausableReading` replaces `stream.read` once more. During a pause the newer `read` does not call the
    // older one, so a message that waits because of a pause does not count as late. The callback uses
    // `connection`, which is set before a timer calls the callback.
    reportLateMessages(parts.stream, messageDeadlineMs, () =>
      connection.lose(`a message did not end within ${messageDeadlineMs} ms`),
    );
    const connection = new BusConnection(bus, parts, hooks);
    const onLate = (): void => connection.lose(`no greeting within ${connectDeadlineMs} ms`);
    timer = setTimeout(onLate, connectDeadlineMs);
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
  readonly #reading: PausableReading;
  /** The functions that settle the unanswered calls: one function for each call. */
  readonly #pending = new Set<(outcome: BusResult<BusReply>) => void>();
  /** Resolves when the bus has answered our Hello. Rejects if the connection is lost before. */
  readonly greeted: Promise<void>;
  /** Before the greeting this rejects `greeted`; afterwards it calls the hook `lost`. */
  #reportLoss: (reason: string) => void = () => undefined;
  #isOpen = true;
  #isGreeted = false;

  constructor(bus: MessageBus, parts: PrivateParts, hooks: ConnectionHooks) {
    this.#bus = bus;
    this.#parts = parts;
    this.#hooks = hooks;
    const { stream } = parts;
    this.#signals = new SignalPortions(
      (message) => this.#passOn(message),
      // dbus-next continues to read at this event (`PausableReading` in stream-guard.ts).
      () => stream.emit('readable'),
    );
    this.#reading = new PausableReading(stream, () => this.#signals.isFull);
    // Only the stream reports that the bus has ended: dbus-next itself emits no event.
    for (const event of ['end', 'close']) stream.once(event, () => this.lose(BUS_CLOSED));
    bus.on('error', (error) => this.#onError(errorText(error)));
    this.greeted = this.#greeting();
    bus.on('message', (message) => this.#onMessage(message));
    bus.addMethodHandler((message: Message) => {
      this.#answer(message);
      // After false, dbus-next would answer the call itself. For `GetMachineId` it would read a file.
      return true;
    });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends the call, and settles with the reply or after `deadlineMs`. Never rejects. */
  async call({ values, ...header }: MethodCall, deadlineMs: number): Promise<BusResult<BusReply>> {
    if (!this.#isOpen) return CLOSED;
    if (this.#pending.size >= PENDING_MAX_CALLS) return localError('too many calls without an answer');
    let message: Message;
    try {
      message = new Message({ ...header, body: values.map(asArgument) });
    } catch (error) {
      return localError(errorText(error));
    }
    return new Promise((resolve) => {
      // Nobody calls `settle` before `timer` is set.
      const settle = (outcome: BusResult<BusReply>): void => {
        if (!this.#pending.delete(settle)) return;
        clearTimeout(timer);
        if (message.serial !== null) delete this.#parts.replyHandlers[message.serial];
        resolve(outcome);
      };
      this.#pending.add(settle);
      const timer = setTimeout(() => settle({ ok: false, error: { kind: 'timeout' } }), deadlineMs);
      this.#bus.call(message).then(
        (reply) => settle(replyResult(reply)),
        (error: unknown) => settle(errorResult(error)),
      );
    });
  }

  /** Ends the connection at once. */
  lose(reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // dbus-next's own `disconnect` would end only our side of the stream.
    this.#parts.stream.destroy();
    for (const settle of [...this.#pending]) settle(CLOSED);
    this.#reportLoss(reason);
  }

  /**
   * Ends the connection if the bus has not greeted us yet. A later error has one of two causes, and neither
   * needs an action here. If the stream has ended, the event `end` or `close` comes, too. If dbus-next has
   * refused a message, the connection goes on. A call whose reply was refused ends at its deadline.
   */
  #onError(reason: string): void {
    if (this.#isGreeted) return;
    // When the bus closes the connection, either EPIPE, ECONNRESET or the event `end` comes first. All three
    // get the same reason.
    const hasBusClosed = /EPIPE|ECONNRESET/.test(reason);
    this.lose(hasBusClosed ? BUS_CLOSED : reason);
  }

  /**
   * Resolves at the reply to our Hello. If the reply is an error, the connection ends, and dbus-next does not
   * get the reply. With such a reply dbus-next would reject a promise that nobody handles, and the rejection
   * would end the thread.
   */
  #greeting(): Promise<void> {
    const { replyHandlers } = this.#parts;
    const handleHelloReply = replyHandlers[HELLO_SERIAL];
    return new Promise((resolve, reject) => {
      this.#reportLoss = (reason) => reject(new Error(reason));
      replyHandlers[HELLO_SERIAL] = (reply) => {
        if (reply.type !== MessageType.METHOD_RETURN)
          return this.lose(`the bus refused the greeting: ${reply.errorName ?? 'no name'}`);
        handleHelloReply?.(reply);
        this.#isGreeted = true;
        this.#reportLoss = (reason) => this.#hooks.lost(reason);
        resolve();
      };
    });
  }

  #onMessage(message: Message): void {
    // dbus-next emits a message directly after it has read this message, so the size is that of `message`.
    if (message.type === MessageType.SIGNAL && this.#isOpen)
      this.#signals.add(message, this.#reading.lastMessageBytes);
  }

  #passOn(message: Message): void {
    if (!this.#isOpen) return;
    try {
      this.#hooks.signal(toSignal(message));
    } catch (error) {
      // The actor's state may be wrong now. On a new connection the actor reads everything again.
      this.lose(`a signal could not be handled: ${errorText(error)}`);
    }
  }

  #answer(message: Message): void {
    if (!this.#isOpen) return;
    try {
      const verdict = this.#hooks.called(toSignal(message));
      if (verdict === undefined || (message.flags & NO_REPLY_EXPECTED) !== 0) return;
      this.#bus.send(verdictMessage(message, verdict));
    } catch (error) {
      this.lose(`a call could not be handled: ${errorText(error)}`);
    }
  }
}

/**
 * Our message for the verdict. An error is made from a reply, because dbus-next declares `newError` wrongly.
 */
function verdictMessage(call: Message, verdict: CallVerdict): Message {
  if (verdict.ok) return Message.newMethodReturn(call);
  const { name, text } = verdict.error;
  const reply = Message.newMethodReturn(call, 's', [text]);
  return Object.assign(reply, { type: MessageType.ERROR, errorName: name });
}

function toSignal({ sender, path, interface: iface, member, signature, body }: Message): Signal {
  return { sender: sender ?? '', path, interface: iface, member, signature, values: body.map(plainValue) };
}

function replyResult(reply: Message | null): BusResult<BusReply> {
  if (reply === null) return localError('no reply');
  return { ok: true, value: { signature: reply.signature, values: reply.body.map(plainValue) } };
}

function errorResult(error: unknown): BusResult<never> {
  if (!(error instanceof DBusError)) return localError(errorText(error));
  return { ok: false, error: { kind: 'dbus', name: error.type, text: String(error.text) } };
}
