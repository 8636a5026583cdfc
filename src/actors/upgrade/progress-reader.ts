// Reads the progress socket's connections and passes their lines to the owner at a bounded rate. It does not know what lines mean. Bad
// bytes end nothing but their own line.

import type { Socket } from 'node:net';
import { type Clock, RateLimit, Timers } from '../../clock.js';
import { LineSplitter, type ProgressLine, parseLine } from './progress-line.js';

/** Even with one more chunk per connection this stays below the messages per second at which the supervisor kills a thread. */
const LINES_MAX_PER_SECOND = 10_000;
const REST_MS = 1_000;
/** At a time. Each holds up to 128 KiB. */
const CONNECTIONS_MAX = 256;

/** The connection of a line. Two lines of one connection have the same object. */
export interface LineSource {
  /** Monotonic ms at which the connection was accepted. */
  readonly sinceMs: number;
}

export interface ReaderOwner {
  line(line: ProgressLine, source: LineSource): void;
  connections(count: number): void;
}

export class ProgressReader {
  readonly #owner: ReaderOwner;
  readonly #clock: Clock;
  readonly #timers: Timers<'rest'>;
  readonly #rate = new RateLimit(LINES_MAX_PER_SECOND);
  readonly #sockets = new Set<Socket>();
  /** Connections that have sent nothing yet, the oldest first. */
  readonly #silent = new Set<Socket>();
  /** Connections that exceeded the rate in this second. */
  readonly #resting = new Set<Socket>();
  #stopped = false;

  constructor(owner: ReaderOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.cancelAll();
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * Reads a newly accepted connection to its end. At the maximum, the oldest connection that has sent nothing is closed for it; false if
   * there is none, and the new one was closed.
   */
  take(socket: Socket): boolean {
    if (this.#sockets.size >= CONNECTIONS_MAX) {
      const [silent] = this.#silent;
      this.#close(silent ?? socket);
      if (silent === undefined) return false;
    }
    const splitter = new LineSplitter();
    const source = { sinceMs: this.#clock.monotonic() };
    socket.on('data', (chunk: Buffer) => {
      this.#silent.delete(socket);
      const lines = splitter.take(chunk);
      for (const line of lines) this.#deliver(line, source);
      this.#pause(socket, lines.length);
    });
    socket.on('end', () => {
      // A complete last line counts even without its LF.
      this.#deliver(splitter.rest(), source);
      // The client may wait for this: it shows that everything was read.
      socket.end();
    });
    // A line that was cut off by the error is incomplete anyway; `close` follows.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#close(socket);
      if (!this.#stopped) this.#owner.connections(this.#sockets.size);
    });
    this.#sockets.add(socket);
    this.#silent.add(socket);
    this.#owner.connections(this.#sockets.size);
    return true;
  }

  #close(socket: Socket): void {
    for (const set of [this.#sockets, this.#silent, this.#resting]) set.delete(socket);
    socket.destroy();
  }

  /** Pauses until other connections were read, which libuv would not do while this one has data; after too many lines for longer. */
  #pause(socket: Socket, lines: number): void {
    socket.pause();
    if (this.#rate.admits(this.#clock.monotonic(), lines)) {
      setImmediate(() => socket.resume());
      return;
    }
    this.#resting.add(socket);
    if (this.#timers.has('rest')) return;
    this.#timers.set('rest', REST_MS, () => {
      for (const each of this.#resting) each.resume();
      this.#resting.clear();
    });
  }

  #deliver(bytes: Uint8Array, source: LineSource): void {
    const line = parseLine(bytes);
    if (line !== undefined) this.#owner.line(line, source);
  }
}
