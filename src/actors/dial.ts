// A unix socket on one side, a Session on the other: moves bytes, keeps the deadlines, and ends both together.
// It knows no records and no policy; whether and when to dial again is the caller's business.

import { connect, type Socket } from 'node:net';
import type { Reply, RequestArgs, RequestName } from '../protocol/pulse/commands.js';
import type { ClosedReason, Result } from '../protocol/pulse/outcome.js';
import { Session, type SessionEvents, type SessionOptions } from '../protocol/pulse/session.js';

/** Requests that the server has not taken from the socket. More than a few kB means that it has stopped reading. */
export const UNSENT_MAX_BYTES = 256 * 1024;
/** What is taken from the socket at a time, into one buffer: nothing of it is kept, and a buffer for each read costs as much as the read. */
const READ_BYTES = 64 * 1024;

export interface DialOptions {
  readonly path: string;
  /** Until the socket is connected; the handshake has its own deadline in `session`. */
  readonly connectDeadlineMs: number;
  readonly session: SessionOptions;
}

export interface LinkEvents extends SessionEvents {
  /** What came at one time has been told, and what was asked meanwhile leaves with what is asked now. */
  onRead?(): void;
}

/** A connection, from before it is open until it has ended. */
export class Link {
  readonly #socket: Socket;
  readonly #session: Session;
  readonly #onRead: (() => void) | undefined;
  #isReading = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  /** Dials. Every end of it, also that there never was a connection, arrives as one `onClosed`, never from within this call. */
  constructor(options: DialOptions, events: LinkEvents) {
    this.#onRead = events.onRead;
    this.#session = new Session(options.session, {
      ...events,
      onClosed: (reason) => {
        clearTimeout(this.#timer);
        this.#socket.destroy();
        events.onClosed(reason);
      },
    });
    const onread = { buffer: Buffer.allocUnsafeSlow(READ_BYTES), callback: this.#read };
    this.#socket = connect({ path: options.path, onread });
    this.#timer = setTimeout(() => this.#fail('no connection in time'), options.connectDeadlineMs);
    this.#socket.on('connect', () => {
      clearTimeout(this.#timer);
      this.#session.open(performance.now());
      this.#flush();
    });
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('end', () => this.close({ kind: 'peer-closed' }));
    this.#socket.on('close', () => this.close({ kind: 'peer-closed' }));
  }

  /** `settle` is called exactly once, however the request ends; at once if it cannot be sent. */
  request<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    settle: (result: Result<Reply<C>>) => void,
    deadlineMs?: number,
  ): void {
    this.#session.request(command, args, performance.now(), settle, deadlineMs);
    if (!this.#isReading) this.#flush();
  }

  /** Ends the connection; `onClosed` is called with the reason unless it has been already. */
  close(reason: ClosedReason): void {
    this.#session.close(reason);
  }

  /** Leaves what comes with the kernel until `resume`, also the end of the connection. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  readonly #read = (length: number, buffer: Uint8Array): boolean => {
    this.#isReading = true;
    this.#session.receive(buffer.subarray(0, length), performance.now());
    this.#onRead?.();
    this.#isReading = false;
    this.#flush();
    return true;
  };

  #fail(detail: string): void {
    this.close({ kind: 'transport-failed', detail });
  }

  #flush(): void {
    const output = this.#session.takeOutput();
    if (output.length > 0 && !this.#socket.destroyed) {
      // One write, which costs a third of a corked one.
      this.#socket.write(concatenated(output));
      if (this.#socket.writableLength > UNSENT_MAX_BYTES) this.#fail('the sound server does not read');
    }
    this.#keepDeadline();
  }

  /**
   * One timer for all deadlines. It may fire early, when what it was set for was answered, but never late: an answer leaves it be, or
   * each request would set one anew.
   */
  #keepDeadline(): void {
    const at = this.#session.nextDeadline();
    if (at === undefined || this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    const wait = Math.max(0, Math.ceil(at - performance.now()));
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#session.expire(performance.now());
      this.#flush();
    }, wait);
  }
}

function concatenated(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces);
}
