// The progress socket: scripts connect to it, as many at once as they like, and each line goes to the owner, at a bounded pace.
// What a line means is not known here. A byte sequence of any kind ends nothing but its own line.

import { createServer, type Server, type Socket } from 'node:net';
import { LineSplitter } from './line-splitter.js';
import { Pace, SLICE_MS } from './pace.js';
import { LINE_MAX_BYTES, type ProgressLine, parseLine } from './progress-line.js';
import { placeSocket, removeSocket, socketIdentity } from './socket-place.js';

/** A connection costs up to 200 kB while its lines wait. */
const CONNECTIONS_MAX = 64;
/** How often it is looked whether the socket still lies in its place, or can be had at last. */
const PLACE_LOOK_MS = 30_000;

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
  ended: boolean;
}

export class ProgressSocket {
  readonly #path: string;
  readonly #owner: SocketOwner;
  readonly #pace = new Pace();
  readonly #connections = new Set<Connection>();
  /** Those with a chunk that is not read to its end, in the order in which they are served. */
  readonly #waiting = new Set<Connection>();
  readonly #look: NodeJS.Timeout;
  #slice: NodeJS.Timeout | undefined;
  #server: Server | undefined;
  #identity = '';
  #placing: Promise<void>;
  #problem: string | undefined;
  #stopped = false;

  constructor(path: string, owner: SocketOwner, lookMs = PLACE_LOOK_MS) {
    this.#path = path;
    this.#owner = owner;
    this.#look = setInterval(() => this.#checkPlace(), lookMs);
    this.#placing = this.#place();
  }

  /** Nobody can connect any more, and the socket has left its place. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#look);
    await this.#placing;
    this.#leavePlace();
    clearTimeout(this.#slice);
    this.#waiting.clear();
    for (const { socket } of this.#connections) socket.destroy();
  }

  /** Resolves when the first attempt to listen has ended, well or not. */
  placed(): Promise<void> {
    return this.#placing;
  }

  #checkPlace(): void {
    const lost = this.#server === undefined || socketIdentity(this.#path) !== this.#identity;
    if (!lost) return;
    this.#placing = this.#placing.then(() => (this.#stopped ? undefined : this.#place()));
  }

  async #place(): Promise<void> {
    this.#leavePlace();
    // allowHalfOpen: what a client sent before it said good-bye is read at our pace before the connection ends.
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
    const placed = await placeSocket(server, this.#path);
    if (placed.ok) {
      // After listening an error is a failed accept (no descriptors left): the client sees it, the socket lives on.
      server.on('error', () => this.#tell('a connection could not be accepted'));
      this.#server = server;
      this.#identity = placed.identity;
    }
    this.#tell(placed.ok ? undefined : placed.problem);
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
      sinceMs: performance.now(),
      ended: false,
    };
    this.#connections.add(connection);
    socket.on('data', (chunk: Buffer) => this.#took(connection, chunk));
    socket.on('end', () => this.#ended(connection));
    // The line that was cut off by it is incomplete anyhow; `close` follows.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#gone(connection));
    if (this.#connections.size > CONNECTIONS_MAX) this.#refuseOldest();
    this.#tell(undefined);
    this.#owner.connections(this.#connections.size);
  }

  /** A script that leaks connections must not lock out those that come after: the oldest that is silent gives way. */
  #refuseOldest(): void {
    const oldest =
      [...this.#connections].find((each) => !this.#waiting.has(each)) ?? [...this.#connections][0];
    oldest?.socket.destroy();
  }

  #took(connection: Connection, chunk: Buffer): void {
    // Until this chunk is read no other one comes: at most one per connection is held here.
    connection.socket.pause();
    connection.splitter.feed(chunk);
    this.#waiting.add(connection);
    this.#serve();
  }

  /** One line of each in turn, until all is read or the slice is used up. */
  #serve(): void {
    if (this.#slice !== undefined) return;
    while (this.#waiting.size > 0) {
      for (const connection of this.#waiting) {
        if (!this.#pace.admits(performance.now())) {
          this.#slice = setTimeout(() => this.#nextSlice(), SLICE_MS);
          return;
        }
        this.#readOne(connection);
      }
    }
  }

  #nextSlice(): void {
    this.#slice = undefined;
    this.#serve();
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
    if (!this.#stopped) this.#owner.connections(this.#connections.size);
  }
}
