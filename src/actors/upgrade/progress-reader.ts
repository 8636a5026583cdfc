// Connections of the progress socket -> lines, each to the owner, at a bounded rate. What a line means is not known here. A byte
// sequence of any kind ends nothing but its own line.

import type { Socket } from 'node:net';
import { type Clock, RateLimit, Timers } from '../../clock.js';
import { LineSplitter, type ProgressLine, parseLine } from './progress-line.js';

/** With one more chunk of each connection it is below the messages per second at which the supervisor takes a thread for mad. */
const LINES_MAX_PER_SECOND = 10_000;
const REST_MS = 1_000;
/** At a time. One holds up to 128 KiB. */
const CONNECTIONS_MAX = 256;

/** Where a line came from. Two lines of one connection have the same object. */
export interface LineSource {
  /** Monotonic ms at which the connection was accepted. */
  readonly sinceMs: number;
}

export interface ReaderOwner {
  line(line: ProgressLine, source: LineSource): void;
  /** Somebody connected or left. */
  connections(count: number): void;
}

export class ProgressReader {
  readonly #owner: ReaderOwner;
  readonly #clock: Clock;
  readonly #timers: Timers<'rest'>;
  readonly #rate = new RateLimit(LINES_MAX_PER_SECOND);
  readonly #sockets = new Set<Socket>();
  /** Those that have brought nothing yet, the oldest first. */
  readonly #silent = new Set<Socket>();
  /** Those that have brought a line too many for this second. */
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
   * Reads a connection that was just accepted to its end. Beyond the most there may be, the oldest that has brought nothing gives way to it;
   * false: there is none, and the new one was closed.
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
      for (const line of lines) this.#tell(line, source);
      this.#pause(socket, lines.length);
    });
    socket.on('end', () => {
      // A last line without its LF is a line if it is whole.
      this.#tell(splitter.rest(), source);
      // The client, who may wait for it, sees that all is read.
      socket.end();
    });
    // The line that was cut off by it is incomplete anyhow; `close` follows.
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

  /** Until the others have been read, of which libuv would take none while this one brings more; after too many lines for longer. */
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

  #tell(bytes: Uint8Array, source: LineSource): void {
    const line = parseLine(bytes);
    if (line !== undefined) this.#owner.line(line, source);
  }
}
