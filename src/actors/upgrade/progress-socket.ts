// The progress socket: scripts connect to it, as many at once as they like, and each line goes to the owner, at a bounded pace.
// What a line means is not known here. A byte sequence of any kind ends nothing but its own line.

import { createServer, type Server, type Socket } from 'node:net';
import { type Clock, Timers } from '../clock.js';
import { PathWatch } from '../path-watch.js';
import { LinePace, SLICE_MS } from './line-pace.js';
import { LineSplitter } from './line-splitter.js';
import { LINE_MAX_BYTES, type ProgressLine, parseLine } from './progress-line.js';
import { placeSocket, removeSocket, socketIdentity } from './socket-place.js';

/** Connections that are read. One costs some kB, and up to 200 kB while its lines wait. */
const READ_MAX_CONNECTIONS = 1_024;
/** With those that wait for one of them to leave: what they wrote stays in the kernel. Half of the unit's LimitNOFILE. */
const OPEN_MAX_CONNECTIONS = 2_048;
/** One that has not said a byte for so long may give way to one that waits. */
const SILENT_MS = 60_000;
/** How often it is looked whether the socket still lies in its place, or can be had at last, if no watch tells. */
const PLACE_LOOK_MS = 30_000;
/** Of our own changes in the directory there are several. */
const PLACE_SETTLE_MS = 40;

/** Where a line came from. Two lines of one connection have the same object. */
export interface Source {
  /** Monotonic ms at which the connection was accepted. */
  readonly sinceMs: number;
}

export interface SocketOwner {
  line(line: ProgressLine, source: Source): void;
  /** Somebody connected or left. */
  connections(count: number): void;
  /** Why nobody can connect; undefined: they can. Called when it changes. */
  problem(problem: string | undefined): void;
}

interface Connection extends Source {
  readonly socket: Socket;
  readonly splitter: LineSplitter;
  /** Some byte of it was read. */
  hasSpoken: boolean;
  ended: boolean;
}

export class ProgressSocket {
  readonly #path: string;
  readonly #owner: SocketOwner;
  readonly #pace = new LinePace();
  readonly #connections = new Set<Connection>();
  /** Those of which nothing has been read, as too many others are open; in the order in which they came. */
  readonly #unread = new Set<Connection>();
  /** Those with a chunk that is not read to its end, in the order in which they are served. */
  readonly #waiting = new Set<Connection>();
  readonly #clock: Clock;
  readonly #timers: Timers<'look' | 'slice'>;
  #watch: PathWatch | undefined;
  #server: Server | undefined;
  #identity = '';
  #placing: Promise<void>;
  #problem: string | undefined;
  #stopped = false;

  constructor(path: string, owner: SocketOwner, clock: Clock) {
    this.#path = path;
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#lookLater();
    this.#placing = this.#place();
  }

  /** Nobody can connect any more, and the socket has left its place. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timers.cancelAll();
    await this.#placing;
    this.#watch?.close();
    this.#leavePlace();
    this.#waiting.clear();
    for (const { socket } of this.#connections) socket.destroy();
  }

  /** Resolves when the first attempt to listen has ended, well or not. */
  placed(): Promise<void> {
    return this.#placing;
  }

  #lookLater(): void {
    this.#timers.set('look', PLACE_LOOK_MS, () => {
      this.#checkPlace();
      this.#readMore();
      this.#lookLater();
    });
  }

  #checkPlace(): void {
    // Looked at only then: while the place is being taken it seems lost.
    this.#placing = this.#placing.then(() => (this.#stopped || !this.#isLost() ? undefined : this.#place()));
  }

  #isLost(): boolean {
    return this.#server === undefined || socketIdentity(this.#path) !== this.#identity;
  }

  async #place(): Promise<void> {
    this.#leavePlace();
    // allowHalfOpen: what a client sent before it said good-bye is read at our pace before the connection ends.
    // pauseOnConnect: what is not to be read yet stays in the kernel.
    const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) =>
      this.#accept(socket),
    );
    const placed = await placeSocket(server, this.#path);
    if (placed.ok) {
      // After listening an error is a failed accept (no descriptors left): the client sees it, the socket lives on.
      server.on('error', () => this.#tell('a connection could not be accepted'));
      this.#server = server;
      this.#identity = placed.identity;
    }
    this.#tell(placed.ok ? undefined : placed.problem);
    // Made anew each time: it tells what changes from how the place is now.
    this.#watch?.close();
    this.#watch = new PathWatch(this.#path, () => this.#checkPlace(), { settleMs: PLACE_SETTLE_MS });
  }

  #leavePlace(): void {
    this.#server?.close();
    this.#server = undefined;
    if (this.#identity !== '') removeSocket(this.#path, this.#identity);
    this.#identity = '';
  }

  #tell(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#owner.problem(problem);
  }

  #accept(socket: Socket): void {
    const connection: Connection = {
      socket,
      splitter: new LineSplitter(LINE_MAX_BYTES + 1), // One more for a CR.
      sinceMs: this.#clock.monotonic(),
      hasSpoken: false,
      ended: false,
    };
    this.#connections.add(connection);
    this.#unread.add(connection);
    socket.on('data', (chunk: Buffer) => this.#took(connection, chunk));
    socket.on('end', () => this.#ended(connection));
    // The line that was cut off by it is incomplete anyhow; `close` follows.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#gone(connection));
    this.#owner.connections(this.#connections.size);
    this.#readMore();
    const tooMany = this.#connections.size > OPEN_MAX_CONNECTIONS;
    if (tooMany) socket.destroy();
    this.#tell(tooMany ? 'there are too many connections' : undefined);
  }

  /** Begins to read as many as may be read, those first that came first. */
  #readMore(): void {
    for (const connection of this.#unread) {
      if (this.#connections.size - this.#unread.size >= READ_MAX_CONNECTIONS) {
        this.#dropSilent();
        return;
      }
      this.#unread.delete(connection);
      connection.socket.resume();
    }
  }

  /** Connections that nobody uses must not lock out those that come after; one that has said something is never dropped. */
  #dropSilent(): void {
    const latestMs = this.#clock.monotonic() - SILENT_MS;
    const silent = [...this.#connections].find(
      (each) => !each.hasSpoken && !this.#unread.has(each) && each.sinceMs <= latestMs,
    );
    // Its place is taken when it has gone.
    silent?.socket.destroy();
  }

  #took(connection: Connection, chunk: Buffer): void {
    connection.hasSpoken = true;
    // Until this chunk is read no other one comes: at most one per connection is held here.
    connection.socket.pause();
    connection.splitter.feed(chunk);
    this.#waiting.add(connection);
    this.#serve();
  }

  /** One line of each in turn, until all is read or the slice is used up. */
  #serve(): void {
    if (this.#stopped || this.#timers.has('slice')) return;
    while (this.#waiting.size > 0) {
      for (const connection of this.#waiting) {
        if (!this.#pace.admits(this.#clock.monotonic())) {
          this.#timers.set('slice', SLICE_MS, () => this.#serve());
          return;
        }
        this.#readOne(connection);
      }
    }
  }

  #readOne(connection: Connection): void {
    const { splitter, socket } = connection;
    const before = splitter.unread;
    const line = splitter.next();
    this.#pace.took(before - splitter.unread);
    // To the end of the queue: a flood on one connection delays the others by one line each.
    this.#waiting.delete(connection);
    if (line === undefined) {
      if (connection.ended) this.#finish(connection);
      else socket.resume();
      return;
    }
    this.#waiting.add(connection);
    this.#say(line, connection);
  }

  #say(bytes: Uint8Array, source: Source): void {
    const line = parseLine(bytes);
    if (line !== undefined) this.#owner.line(line, source);
  }

  /** The end may be told while the last chunk is still being read. */
  #ended(connection: Connection): void {
    connection.ended = true;
    if (!this.#waiting.has(connection)) this.#finish(connection);
  }

  /** All is read: the client, who may wait for it, sees the connection close. */
  #finish(connection: Connection): void {
    // A last line without its LF is a line if it is whole.
    this.#say(connection.splitter.rest(), connection);
    connection.socket.end();
  }

  #gone(connection: Connection): void {
    this.#waiting.delete(connection);
    this.#connections.delete(connection);
    this.#unread.delete(connection);
    if (this.#stopped) return;
    this.#owner.connections(this.#connections.size);
    this.#readMore();
  }
}
