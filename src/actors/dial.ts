// Connects a `Session` of the sound server's protocol to a Unix socket, and has the timer for the session's
// deadlines. The caller decides whether and when to dial again.

import { connect, type Socket } from 'node:net';
import { monotonic } from '../host/clock.js';
import { errorText } from '../printable.js';
import type { Reply, RequestArgs, RequestName } from '../protocol/pulse/commands.js';
import type { ClosedReason, RequestResult } from '../protocol/pulse/outcome.js';
import { Session, type SessionEvents, type SessionOptions } from '../protocol/pulse/session.js';

/** More unsent bytes than this mean that the server no longer reads, so the link ends. A few kB are usual. */
export const UNSENT_MAX_BYTES = 256 * 1024;
/**
 * All reads of a link share one buffer of this size, because a new buffer costs as much as the read. Nobody
 * keeps a part of the buffer.
 */
const READ_BYTES = 64 * 1024;

export interface DialOptions {
  readonly path: string;
  /** The longest time until the socket is connected. The handshake has its own deadline in `session`. */
  readonly connectDeadlineMs: number;
  readonly session: SessionOptions;
}

export interface LinkEvents extends SessionEvents {
  /**
   * Called after all events of one read. The requests from these events and from `onRead` are sent together.
   */
  onRead?(): void;
}

export class Link {
  readonly #socket: Socket;
  readonly #session: Session;
  readonly #events: LinkEvents;
  readonly #requestDeadlineMs: number;
  #isReading = false;
  /** First the timer of connecting, then the timer of the requests. */
  #timer: NodeJS.Timeout | undefined;
  /** When the timer of the requests fires, in monotonic ms; infinity while there is none. */
  #timerFiresAtMs = Number.POSITIVE_INFINITY;

  /** Dials. `onClosed` is called exactly once, even after a failed attempt, but never by the constructor. */
  constructor(options: DialOptions, events: LinkEvents) {
    this.#events = events;
    this.#requestDeadlineMs = options.session.requestDeadlineMs;
    this.#session = new Session(options.session, {
      ...events,
      onClosed: (reason) => {
        clearTimeout(this.#timer);
        this.#socket.destroy();
        events.onClosed(reason);
      },
    });
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: this.#receive };
    this.#socket = connect({ path: options.path, onread });
    this.#timer = setTimeout(() => this.#fail('no connection in time'), options.connectDeadlineMs);
    this.#socket.on('connect', () => {
      clearTimeout(this.#timer);
      this.#session.open(monotonic());
      this.#flush();
      this.#setTimer();
    });
    this.#socket.on('error', (error) => this.#fail(errorText(error)));
    this.#socket.on('end', () => this.close({ kind: 'peer-closed' }));
    this.#socket.on('close', () => this.close({ kind: 'peer-closed' }));
  }

  /**
   * Calls `settle` exactly once. If the request cannot be sent, this method calls `settle` before it returns.
   */
  request<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    settle: (result: RequestResult<Reply<C>>) => void,
    deadlineMs = this.#requestDeadlineMs,
  ): void {
    const now = monotonic();
    this.#session.request(command, args, now, settle, deadlineMs);
    if (!this.#isReading) this.#flush();
    const isDueBeforeTimer = now + deadlineMs < this.#timerFiresAtMs;
    if (isDueBeforeTimer) this.#setTimer();
  }

  /** Drops an object's cached property lists. To be called when the sound server has removed the object. */
  forget(object: number): void {
    this.#session.forget(object);
  }

  /** Ends the connection; `onClosed` gets the reason, unless the connection has ended already. */
  close(reason: ClosedReason): void {
    this.#session.close(reason);
  }

  /** Until `resume`, received data stays in the kernel, and the connection's end is not noticed. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  readonly #receive = (length: number, buffer: Uint8Array): boolean => {
    this.#isReading = true;
    this.#session.receive(buffer, length);
    this.#events.onRead?.();
    this.#isReading = false;
    this.#flush();
    // After false, Node would stop reading.
    return true;
  };

  #fail(detail: string): void {
    this.close({ kind: 'transport-failed', detail });
  }

  #flush(): void {
    const output = this.#session.takeOutput();
    if (output.length === 0 || this.#socket.destroyed) return;
    this.#socket.write(output);
    if (this.#socket.writableLength > UNSENT_MAX_BYTES)
      this.#fail('the sound server does not read what it is sent');
  }

  /**
   * One timer serves the deadlines of all requests. An answer leaves the timer as it is, and later requests
   * mostly have later deadlines. So most requests set no timer. The timer may fire before the next deadline,
   * but never after it.
   */
  #setTimer(): void {
    const nextDeadlineMs = this.#session.nextDeadline();
    if (nextDeadlineMs === undefined || this.#timerFiresAtMs <= nextDeadlineMs) return;
    clearTimeout(this.#timer);
    this.#timerFiresAtMs = nextDeadlineMs;
    const waitMs = Math.max(0, Math.ceil(nextDeadlineMs - monotonic()));
    this.#timer = setTimeout(() => {
      this.#timerFiresAtMs = Number.POSITIVE_INFINITY;
      this.#session.expire(monotonic());
      this.#flush();
      this.#setTimer();
    }, waitMs);
  }
}
