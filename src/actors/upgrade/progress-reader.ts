// Connections of the progress socket -> lines, as many connections at once as scripts like, each line to the owner at a bounded
// rate. What a line means is not known here. A byte sequence of any kind ends nothing but its own line.

import type { Socket } from 'node:net';
import { type Clock, Timers } from '../../clock.js';
import { LineSplitter, type ProgressLine, parseLine } from './progress-line.js';

/** Half of the unit's LimitNOFILE. One costs some kB, and up to 200 kB while its lines wait. */
const MAX_CONNECTIONS = 2_048;
/** One that has not said a byte for so long gives way to a new one when there are too many. */
const SILENT_MS = 60_000;
/** Between two slices the thread does everything else: pings, signals of systemd, commands. */
const SLICE_MS = 20;
/**
 * 15 000 lines a second: above the 10 000 that a script may be expected to send at worst, and far below the messages per
 * second at which the supervisor takes a thread for mad.
 */
const LINES_PER_SLICE = 300;
/** 6 MB a second: a slice of the longest lines is not much more than one of ordinary ones. */
const BYTES_PER_SLICE = 128 * 1024;

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

interface ProgressConnection extends LineSource {
  readonly socket: Socket;
  readonly splitter: LineSplitter;
  /** Some byte of it was read. */
  hasSpoken: boolean;
  ended: boolean;
}

export class ProgressReader {
  readonly #owner: ReaderOwner;
  readonly #clock: Clock;
  readonly #timers: Timers<'slice'>;
  readonly #connections = new Set<ProgressConnection>();
  /** Those with a chunk that is not read to its end, in the order in which they are served. */
  readonly #queue = new Set<ProgressConnection>();
  /** What may still be read in this slice. */
  #linesLeft = 0;
  #bytesLeft = 0;
  #stopped = false;

  constructor(owner: ReaderOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.cancelAll();
    this.#queue.clear();
    for (const { socket } of this.#connections) socket.destroy();
  }

  /** Reads a connection that was just accepted to its end; false when there are too many, and it was closed. */
  take(socket: Socket): boolean {
    const connection: ProgressConnection = {
      socket,
      splitter: new LineSplitter(),
      sinceMs: this.#clock.monotonic(),
      hasSpoken: false,
      ended: false,
    };
    const hasRoom = this.#connections.size < MAX_CONNECTIONS || this.#dropSilent();
    if (!hasRoom) {
      socket.destroy();
      return false;
    }
    this.#connections.add(connection);
    socket.on('data', (chunk: Buffer) => this.#took(connection, chunk));
    socket.on('end', () => this.#ended(connection));
    // The line that was cut off by it is incomplete anyhow; `close` follows.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#gone(connection));
    this.#owner.connections(this.#connections.size);
    return true;
  }

  /** Connections that nobody uses must not lock out those that come after; one that has said something is never dropped. */
  #dropSilent(): boolean {
    const latestMs = this.#clock.monotonic() - SILENT_MS;
    const silent = [...this.#connections].find((each) => !each.hasSpoken && each.sinceMs <= latestMs);
    if (silent === undefined) return false;
    silent.socket.destroy();
    return this.#connections.delete(silent);
  }

  #took(connection: ProgressConnection, chunk: Buffer): void {
    connection.hasSpoken = true;
    // Until this chunk is read no other one comes: at most one per connection is held here.
    connection.socket.pause();
    connection.splitter.feed(chunk);
    this.#queue.add(connection);
    this.#serve();
  }

  /** One line of each in turn, until all is read or the slice is used up. */
  #serve(): void {
    while (this.#queue.size > 0) {
      for (const connection of this.#queue) {
        if (!this.#timers.has('slice')) this.#beginSlice();
        if (this.#linesLeft <= 0 || this.#bytesLeft <= 0) return;
        this.#readOne(connection);
      }
    }
  }

  #beginSlice(): void {
    this.#linesLeft = LINES_PER_SLICE;
    this.#bytesLeft = BYTES_PER_SLICE;
    this.#timers.set('slice', SLICE_MS, () => this.#serve());
  }

  #readOne(connection: ProgressConnection): void {
    const { splitter, socket } = connection;
    const before = splitter.unread;
    const line = splitter.next();
    this.#linesLeft -= 1;
    this.#bytesLeft -= before - splitter.unread;
    // To the end of the queue: a flood on one connection delays the others by one line each.
    this.#queue.delete(connection);
    if (line === undefined) {
      if (connection.ended) this.#finish(connection);
      else socket.resume();
      return;
    }
    this.#queue.add(connection);
    this.#tell(line, connection);
  }

  #tell(bytes: Uint8Array, source: LineSource): void {
    const line = parseLine(bytes);
    if (line !== undefined) this.#owner.line(line, source);
  }

  /** The end may be told while the last chunk is still being read. */
  #ended(connection: ProgressConnection): void {
    connection.ended = true;
    if (!this.#queue.has(connection)) this.#finish(connection);
  }

  /** All is read: the client, who may wait for it, sees the connection close. */
  #finish(connection: ProgressConnection): void {
    // A last line without its LF is a line if it is whole.
    this.#tell(connection.splitter.rest(), connection);
    connection.socket.end();
  }

  #gone(connection: ProgressConnection): void {
    this.#queue.delete(connection);
    this.#connections.delete(connection);
    if (!this.#stopped) this.#owner.connections(this.#connections.size);
  }
}
