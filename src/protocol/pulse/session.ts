// One connection to the sound server as a state machine without I/O: bytes and the time go in, bytes to write
// and settled requests come out. It holds no socket and no timer and reads no clock; the dialler owns those.

import {
  type CommandName,
  FROM_SERVER,
  type HandshakeName,
  IGNORED,
  type Reply,
  type RequestArgs,
  type RequestName,
  writeCommand,
} from './commands.js';
import type { Readable } from './fields.js';
import { type Chunk, CONTROL_CHANNEL, Framer } from './frame.js';
import { type ClosedReason, type Result, serverFault } from './outcome.js';
import { Reader } from './reader.js';
import { decodeEvent, type SubscriptionEvent } from './subscription.js';
import { TextCache } from './text-cache.js';
import { NEWEST_VERSION, NONE, negotiate, WireError } from './wire.js';
import { Writer } from './writer.js';

/** Both servers read exactly this many bytes; another length is refused, the content often ignored. */
const COOKIE_BYTES = 256;

export interface SessionOptions {
  /** The cookie file's bytes; zeros are sent if it is absent or not 256 bytes long. */
  readonly cookie?: Uint8Array | undefined;
  /** The properties sent in SET_CLIENT_NAME, such as `application.name`. */
  readonly clientProps: Readonly<Record<string, string>>;
  /** For both steps of the handshake together. A socket-activated server once took 25 s for the first. */
  readonly authDeadlineMs: number;
  /** For each request without a deadline of its own. */
  readonly requestDeadlineMs: number;
  /** Requests without a reply, timed-out ones included; one more is refused. */
  readonly pendingMax: number;
}

/** Called from within the session's methods. They may call the session again. */
export interface SessionEvents {
  /** The handshake is done: requests may be made. */
  onReady(version: number): void;
  onEvent(event: SubscriptionEvent): void;
  /**
   * Audio data of a record stream, with the index from the reply to its creation. Valid during the call only.
   */
  onData?(stream: number, data: Uint8Array): void;
  /** The server has ended a record stream. */
  onStreamKilled?(stream: number): void;
  /** Called exactly once, after everything pending was settled. */
  onClosed(reason: ClosedReason): void;
}

type SessionState =
  | { readonly kind: 'new' }
  | { readonly kind: 'handshake'; readonly command: HandshakeName; readonly deadline: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'closed'; readonly reason: ClosedReason };

interface PendingRequest {
  readonly tag: number;
  readonly deadline: number;
  readonly reply: Readable<unknown>;
  settle(result: Result<unknown>): void;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #events: SessionEvents;
  readonly #framer = new Framer();
  readonly #texts = new TextCache();
  /** The requests without a reply, oldest first: both servers answer most of them in this order. */
  #pending: PendingRequest[] = [];
  /**
   * Tags of requests that timed out: the server may still answer, so a tag is not used again before its late
   * reply.
   */
  readonly #late = new Set<number>();
  #lastTag = NONE - 1;
  #state: SessionState = { kind: 'new' };
  #version = NEWEST_VERSION;
  readonly #writer = new Writer();

  constructor(options: SessionOptions, events: SessionEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Starts the handshake. `now` here and below: milliseconds of any monotonic clock. */
  open(now: number): void {
    if (this.#state.kind !== 'new') return;
    const configured = this.#options.cookie;
    const cookie = configured?.length === COOKIE_BYTES ? configured : new Uint8Array(COOKIE_BYTES);
    const deadline = now + this.#options.authDeadlineMs;
    this.#shake('AUTH', { version: NEWEST_VERSION, cookie }, deadline, ({ version }) => {
      this.#accepted(version, deadline);
    });
  }

  /**
   * Takes the first `length` bytes of a chunk from the socket. Bad bytes never throw: they end the session.
   */
  receive(chunk: Uint8Array, length = chunk.length): void {
    try {
      this.#framer.push(chunk, this.#frame, length);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.close({ kind: 'protocol-violation', detail: error.message });
    }
  }

  /**
   * Sends a command. `settle` is called exactly once: with the reply, the server's error, or why there is
   * none; at once if the request cannot be sent.
   */
  request<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    now: number,
    settle: (result: Result<Reply<C>>) => void,
    deadlineMs: number = this.#options.requestDeadlineMs,
  ): void {
    if (this.#state.kind === 'ready' && this.#pending.length + this.#late.size < this.#options.pendingMax)
      this.#send(command, args, now + deadlineMs, settle);
    else if (this.#state.kind === 'closed')
      settle({ ok: false, error: { kind: 'closed', reason: this.#state.reason } });
    else settle({ ok: false, error: { kind: this.#state.kind === 'ready' ? 'overflow' : 'not-ready' } });
  }

  /** To be called when an object has been removed: frees what is kept of its record. */
  forget(object: number): void {
    this.#texts.lists.forget(object);
  }

  /** The bytes to write, perhaps none. To be called after every other call. */
  takeOutput(): Uint8Array {
    return this.#writer.take();
  }

  /** When `expire` must be called next; undefined if nothing is pending. */
  nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const { deadline } of this.#pending) if (next === undefined || deadline < next) next = deadline;
    return next;
  }

  /** Settles overdue requests. An overdue handshake ends the session, an overdue request does not. */
  expire(now: number): void {
    if (this.#state.kind === 'handshake' && this.#state.deadline <= now)
      this.close({ kind: 'timeout', command: this.#state.command });
    for (const { tag } of this.#pending.filter(({ deadline }) => deadline <= now)) {
      // An earlier receiver may have ended the session, and with it this request.
      const request = this.#takePending(tag);
      if (request === undefined) continue;
      this.#late.add(tag);
      request.settle({ ok: false, error: { kind: 'timeout' } });
    }
  }

  /** Ends the session; the first reason counts. Output that was not taken is dropped. */
  close(reason: ClosedReason): void {
    if (this.#state.kind === 'closed') return;
    this.#state = { kind: 'closed', reason };
    this.#writer.take();
    const requests = this.#pending;
    this.#pending = [];
    for (const request of requests) request.settle({ ok: false, error: { kind: 'closed', reason } });
    this.#events.onClosed(reason);
  }

  #shake<C extends HandshakeName>(
    command: C,
    args: RequestArgs<C>,
    deadline: number,
    proceed: (reply: Reply<C>) => void,
  ): void {
    this.#state = { kind: 'handshake', command, deadline };
    this.#send(command, args, deadline, (result) => {
      if (result.ok) proceed(result.value);
      else if (result.error.kind === 'server')
        this.close({ kind: 'auth-refused', command, fault: serverFault(result.error.code) });
      // With every other error the session is ending already.
    });
  }

  #accepted(answered: number, deadline: number): void {
    const version = negotiate(answered);
    if (version === undefined) {
      this.close({ kind: 'version-unsupported', version: answered });
      return;
    }
    this.#version = version;
    // Not pipelined after AUTH: pipewire answers in any order, and refuses everything that comes before the
    // name.
    this.#shake('SET_CLIENT_NAME', { props: this.#options.clientProps }, deadline, () => {
      this.#state = { kind: 'ready' };
      this.#events.onReady(version);
    });
  }

  #send<C extends CommandName>(
    command: C,
    args: RequestArgs<C>,
    deadline: number,
    settle: (result: Result<Reply<C>>) => void,
  ): void {
    let tag = this.#lastTag;
    do {
      tag = (tag + 1) % NONE;
    } while (this.#late.has(tag) || this.#pending.some((request) => request.tag === tag));
    this.#lastTag = tag;
    try {
      const reply = writeCommand(this.#writer, command, tag, args);
      this.#pending.push({ tag, deadline, reply, settle });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      settle({ ok: false, error: { kind: 'bad-argument', detail: error.message } });
    }
  }

  /** The request that waits under the tag; it waits no more. */
  #takePending(tag: number): PendingRequest | undefined {
    for (const [at, request] of this.#pending.entries()) {
      if (request.tag !== tag) continue;
      this.#pending.splice(at, 1);
      return request;
    }
    return undefined;
  }

  readonly #frame = (chunk: Chunk, start: number, end: number, channel: number): void => {
    // Frames after the end are ignored, also those in the same chunk.
    if (this.#state.kind === 'closed') return;
    if (channel !== CONTROL_CHANNEL) {
      this.#events.onData?.(channel, chunk.bytes.subarray(start, end));
      return;
    }
    const reader = new Reader(chunk, this.#version, this.#texts, start, end);
    const command = reader.u32();
    const tag = reader.u32();
    switch (command) {
      case FROM_SERVER.REPLY:
      case FROM_SERVER.ERROR:
        this.#settle(tag, reader, command);
        break;
      case FROM_SERVER.SUBSCRIBE_EVENT: {
        const event = decodeEvent(reader.u32(), reader.u32());
        reader.finish();
        if (this.#state.kind !== 'ready') throw new WireError('an event before the handshake ended');
        this.#events.onEvent(event);
        break;
      }
      case FROM_SERVER.RECORD_STREAM_KILLED: {
        const stream = reader.u32();
        reader.finish();
        this.#events.onStreamKilled?.(stream);
        break;
      }
      default:
        if (!IGNORED.has(command)) throw new WireError(`unknown command ${command}`);
    }
  };

  /** The receiver is called outside of `try`, so that one that throws is no error of the wire. */
  #settle(tag: number, reader: Reader, command: number): void {
    const request = this.#takePending(tag);
    if (request === undefined) {
      if (!this.#late.delete(tag)) throw new WireError(`an answer to tag ${tag}, which waits for none`);
      return;
    }
    let result: Result<unknown>;
    try {
      result =
        command === FROM_SERVER.REPLY
          ? { ok: true, value: request.reply.read(reader) }
          : { ok: false, error: { kind: 'server', ...serverFault(reader.u32()) } };
      reader.finish();
    } catch (error) {
      if (error instanceof WireError)
        request.settle({ ok: false, error: { kind: 'violation', detail: error.message } });
      throw error;
    }
    request.settle(result);
  }
}
