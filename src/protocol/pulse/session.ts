// Decides what received bytes and the time mean for one connection to the sound server, and which bytes are
// written. It has no socket, timer or clock; `Link` in actors/dial.ts has them.

import {
  type CommandName,
  FROM_SERVER,
  type HandshakeName,
  IGNORED_FROM_SERVER,
  type Reply,
  type RequestArgs,
  type RequestName,
  writeCommand,
} from './commands.js';
import type { Readable } from './fields.js';
import { type Chunk, CONTROL_CHANNEL, Framer } from './frame.js';
import { type ClosedReason, type RequestResult, serverFault } from './outcome.js';
import { Reader } from './reader.js';
import { decodeEvent, type SubscriptionEvent } from './subscription.js';
import { TextCache } from './text-cache.js';
import { NEWEST_VERSION, NONE, negotiate, WireError } from './wire.js';
import { Writer } from './writer.js';

/** Every sound server refuses a cookie of another length, even if it ignores the cookie's content. */
const COOKIE_BYTES = 256;

export interface SessionOptions {
  /** The bytes of the cookie file. If they are absent, or not exactly 256, zeros are sent in their place. */
  readonly cookie?: Uint8Array | undefined;
  /** Our properties, such as `application.name`. They are sent in SET_CLIENT_NAME. */
  readonly clientProps: Readonly<Record<string, string>>;
  /** The time for the whole handshake. One server, which systemd started for the connection, took 25 s. */
  readonly authDeadlineMs: number;
  /** The time for each request that has no deadline of its own. */
  readonly requestDeadlineMs: number;
  /**
   * At most this many requests may be without an answer. A request that has timed out counts until its late
   * answer comes. A further request is refused.
   */
  readonly pendingMax: number;
}

/** The session's methods call these functions, and these functions may call methods of the session. */
export interface SessionEvents {
  /** The handshake has succeeded: from now on requests are allowed. */
  onReady(version: number): void;
  onEvent(event: SubscriptionEvent): void;
  /** Audio data of the record stream with this index. `data` is valid during the call only. */
  onData?(stream: number, data: Uint8Array): void;
  /** The server has ended a record stream. */
  onStreamKilled?(stream: number): void;
  /** Called exactly once, when all pending requests have been settled. */
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
  settle(result: RequestResult<unknown>): void;
}

export class Session {
  readonly #options: SessionOptions;
  readonly #events: SessionEvents;
  readonly #framer = new Framer();
  readonly #texts = new TextCache();
  /** Oldest first. Most replies come in this order, so a search from the first request is short. */
  #pending: PendingRequest[] = [];
  /** The tags of requests that have timed out and have no answer yet. No new request gets such a tag. */
  readonly #timedOutTags = new Set<number>();
  /**
   * The tag of the newest request. After the tag NONE - 1 comes the tag 0, and this value begins with
   * NONE - 1. So the first request gets the tag 0. No request gets the tag NONE, because the server's
   * messages that answer no request have it.
   */
  #lastTag = NONE - 1;
  #state: SessionState = { kind: 'new' };
  #version = NEWEST_VERSION;
  readonly #writer = new Writer();

  constructor(options: SessionOptions, events: SessionEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Starts the handshake. In all methods `now` is the time of one monotonic clock, in ms. */
  open(now: number): void {
    if (this.#state.kind !== 'new') return;
    const fileBytes = this.#options.cookie;
    const cookie = fileBytes?.length === COOKIE_BYTES ? fileBytes : new Uint8Array(COOKIE_BYTES);
    const deadline = now + this.#options.authDeadlineMs;
    this.#sendHandshake('AUTH', { version: NEWEST_VERSION, cookie }, deadline, ({ version }) => {
      this.#sendName(version, deadline);
    });
  }

  /**
   * Takes the first `length` of the received bytes. Bytes that break the protocol end the session, and cause
   * no exception.
   */
  receive(received: Uint8Array, length = received.length): void {
    try {
      this.#framer.push(received, this.#receiveFrame, length);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.close({ kind: 'protocol-violation', detail: error.message });
    }
  }

  /** Sends a command. `settle` is called exactly once, with the reply or the reason why there is none. */
  request<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    now: number,
    settle: (result: RequestResult<Reply<C>>) => void,
    deadlineMs: number = this.#options.requestDeadlineMs,
  ): void {
    const state = this.#state;
    const unansweredCount = this.#pending.length + this.#timedOutTags.size;
    if (state.kind === 'closed') settle({ ok: false, error: { kind: 'closed', reason: state.reason } });
    else if (state.kind !== 'ready') settle({ ok: false, error: { kind: 'not-ready' } });
    else if (unansweredCount >= this.#options.pendingMax) settle({ ok: false, error: { kind: 'overflow' } });
    else this.#send(command, args, now + deadlineMs, settle);
  }

  /** Drops the cached property lists of an object. Call it when the object has been removed. */
  forget(objectIndex: number): void {
    this.#texts.lists.forget(objectIndex);
  }

  /**
   * The bytes to write to the socket, perhaps none. Call it after `open`, `receive`, `request` and `expire`.
   */
  takeOutput(): Uint8Array {
    return this.#writer.take();
  }

  /** The value of `now` at which `expire` must be called next; undefined if no request is pending. */
  nextDeadline(): number | undefined {
    let next: number | undefined;
    for (const { deadline } of this.#pending) if (next === undefined || deadline < next) next = deadline;
    return next;
  }

  /** Settles the requests whose deadline has passed. The deadline of the handshake ends the session. */
  expire(now: number): void {
    if (this.#state.kind === 'handshake' && this.#state.deadline <= now)
      this.close({ kind: 'timeout', command: this.#state.command });
    for (const { tag } of this.#pending.filter(({ deadline }) => deadline <= now)) {
      // The `settle` of an earlier request may have ended the session, and with it this request.
      const request = this.#takePending(tag);
      if (request === undefined) continue;
      this.#timedOutTags.add(tag);
      request.settle({ ok: false, error: { kind: 'timeout' } });
    }
  }

  /** Ends the session. Only the first call counts. Output that was not taken yet is dropped. */
  close(reason: ClosedReason): void {
    if (this.#state.kind === 'closed') return;
    this.#state = { kind: 'closed', reason };
    this.#writer.take();
    const requests = this.#pending;
    this.#pending = [];
    for (const request of requests) request.settle({ ok: false, error: { kind: 'closed', reason } });
    this.#events.onClosed(reason);
  }

  /** Sends a step of the handshake. `onReply` gets the reply; an error of the server ends the session. */
  #sendHandshake<C extends HandshakeName>(
    command: C,
    args: RequestArgs<C>,
    deadline: number,
    onReply: (reply: Reply<C>) => void,
  ): void {
    this.#state = { kind: 'handshake', command, deadline };
    this.#send(command, args, deadline, (result) => {
      if (result.ok) onReply(result.value);
      else if (result.error.kind === 'server')
        this.close({ kind: 'auth-refused', command, fault: serverFault(result.error.code) });
      // After `closed` the session is over; after `violation`, `receive` ends it. No other kind can occur.
    });
  }

  #sendName(serverVersion: number, deadline: number): void {
    const version = negotiate(serverVersion);
    if (version === undefined) {
      this.close({ kind: 'version-unsupported', version: serverVersion });
      return;
    }
    this.#version = version;
    // PipeWire may handle a later request before SET_CLIENT_NAME, and then refuses that request. So requests
    // are allowed only after the reply to SET_CLIENT_NAME.
    this.#sendHandshake('SET_CLIENT_NAME', { props: this.#options.clientProps }, deadline, () => {
      this.#state = { kind: 'ready' };
      this.#events.onReady(version);
    });
  }

  #send<C extends CommandName>(
    command: C,
    args: RequestArgs<C>,
    deadline: number,
    settle: (result: RequestResult<Reply<C>>) => void,
  ): void {
    let tag = this.#lastTag;
    do {
      tag = (tag + 1) % NONE;
    } while (this.#timedOutTags.has(tag) || this.#pending.some((request) => request.tag === tag));
    this.#lastTag = tag;
    try {
      const reply = writeCommand(this.#writer, command, tag, args);
      this.#pending.push({ tag, deadline, reply, settle });
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      settle({ ok: false, error: { kind: 'bad-argument', detail: error.message } });
    }
  }

  /** Removes the pending request with this tag, and returns it; undefined if there is none. */
  #takePending(tag: number): PendingRequest | undefined {
    for (const [position, request] of this.#pending.entries()) {
      if (request.tag !== tag) continue;
      this.#pending.splice(position, 1);
      return request;
    }
    return undefined;
  }

  readonly #receiveFrame = (chunk: Chunk, start: number, end: number, channel: number): void => {
    // A frame may end the session while further frames follow it in the same chunk.
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
        this.#receiveAnswer(tag, reader, command);
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
        if (!IGNORED_FROM_SERVER.has(command)) throw new WireError(`unknown command ${command}`);
    }
  };

  /**
   * Settles the request that a reply or an error answers. If this request has timed out, the answer is
   * dropped. Throws WireError if there was no such request, or if the answer cannot be decoded.
   */
  #receiveAnswer(tag: number, reader: Reader, command: number): void {
    const request = this.#takePending(tag);
    if (request === undefined) {
      if (!this.#timedOutTags.delete(tag))
        throw new WireError(`an answer with the tag ${tag}, but no request with this tag`);
      return;
    }
    let result: RequestResult<unknown>;
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
    // `settle` is called outside of `try`, because its exceptions are no errors of the wire.
    request.settle(result);
  }
}
