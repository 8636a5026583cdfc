// The progress socket: never replaces a living one, is open to its owner alone, comes back when it was lost,
// and passes lines on at a bounded rate. It does not interpret the lines. Bad bytes spoil only their own
// line.

import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { type Clock, RateLimit, within } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { codeOf } from '../small-file.js';
import { linesOf, type ProgressLine, parseLine } from './progress-line.js';

/** Connections at a time; further ones are closed. Each has up to 128 KiB. */
const CONNECTIONS_MAX = 256;
/**
 * Below the messages per second at which the supervisor kills a thread. Faster lines wait in their
 * connection.
 */
const LINES_MAX_PER_SECOND = 10_000;
const REST_MS = 1_000;
/** Our own changes in the directory come in a burst. */
const SETTLE_MS = 40;
/** A living daemon accepts at once, because the kernel does it. */
const PROBE_DEADLINE_MS = 2_000;
/** A directory of this name is ours; another may be shared with others, and is not changed. */
const OWN_DIRECTORY = 'tonearm';

const PATH_IN_USE = 'another process listens there';

export interface SocketOwner {
  /**
   * `sinceMs`: when the line's connection was accepted, monotonic. The next line of a connection comes when
   * this one is done.
   */
  line(line: ProgressLine, sinceMs: number): Promise<void>;
  connections(count: number): void;
  /** Called with the reason why nobody can connect, or with undefined if clients can. */
  problem(problem: string | undefined): void;
}

export class ProgressSocket {
  readonly #path: string;
  readonly #owner: SocketOwner;
  readonly #clock: Clock;
  readonly #rate = new RateLimit(LINES_MAX_PER_SECOND);
  readonly #sockets = new Set<Socket>();
  readonly #watch: PathWatch;
  #server: Server | undefined;
  /** Resolves when the first attempt to listen has ended, well or not. */
  readonly attempted: Promise<void>;
  #listening: Promise<void>;
  #stopped = false;

  constructor(path: string, owner: SocketOwner, clock: Clock) {
    this.#path = path;
    this.#owner = owner;
    this.#clock = clock;
    this.attempted = this.#listen();
    this.#listening = this.attempted;
    this.#watch = new PathWatch(path, () => this.#checkPath(), SETTLE_MS);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.close();
    await this.#listening;
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /**
   * Listens again if the socket is not at its path any more, or if the path was taken and may be free now.
   */
  #checkPath(): void {
    // Checked only after a running attempt, because the socket seems lost while its path is being taken.
    this.#listening = this.#listening.then(() => {
      const isThere = this.#server !== undefined && fileIdentity(this.#path) !== undefined;
      return this.#stopped || isThere ? undefined : this.#listen();
    });
  }

  async #listen(): Promise<void> {
    this.#server?.close();
    this.#server = undefined;
    // allowHalfOpen: a client that waits for the end of its connection learns that its lines were read.
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#read(socket));
    server.maxConnections = CONNECTIONS_MAX;
    server.on('drop', () => this.#owner.problem('there are too many connections'));
    const listening = await listenAt(server, this.#path, this.#clock);
    if (listening.ok) {
      this.#server = server;
      // From now on, an error is a failed accept (no descriptors left): the client sees it, the socket lives
      // on.
      server.on('error', () => this.#owner.problem('a connection could not be accepted'));
    }
    this.#owner.problem(listening.ok ? undefined : listening.error);
  }

  async #read(socket: Socket): Promise<void> {
    const sinceMs = this.#clock.monotonic();
    this.#sockets.add(socket);
    this.#owner.problem(undefined);
    this.#owner.connections(this.#sockets.size);
    try {
      // A complete last line counts even without its LF.
      for await (const line of linesOf(socket)) await this.#deliver(line, sinceMs);
    } catch (error) {
      // A connection that broke: the line that was cut off is incomplete anyway.
      if (!this.#stopped && error !== socket.errored) throw error;
    } finally {
      socket.destroy();
      this.#sockets.delete(socket);
      if (!this.#stopped) this.#owner.connections(this.#sockets.size);
    }
  }

  async #deliver(bytes: Uint8Array, sinceMs: number): Promise<void> {
    const line = parseLine(bytes);
    if (line === undefined) return;
    while (!this.#rate.admits(this.#clock.monotonic()))
      await new Promise<void>((rested) => this.#clock.after(REST_MS, rested));
    if (!this.#stopped) await this.#owner.line(line, sinceMs);
  }
}

/** Listens at the path, for the owner only. Never rejects; the error is the reason for `/health`. */
async function listenAt(server: Server, path: string, clock: Clock): Promise<Result<undefined, string>> {
  try {
    return await listenIfFree(server, path, clock);
  } catch (error) {
    return failed(`cannot listen there (${codeOf(error)})`);
  }
}

/** Fails if the path is in use; rejects with the system's error. */
async function listenIfFree(server: Server, path: string, clock: Clock): Promise<Result<undefined, string>> {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { mode, uid } = statSync(directory);
  // systemd creates a RuntimeDirectory= with 0755 by default.
  const isOurs = basename(directory) === OWN_DIRECTORY && uid === process.getuid?.();
  if (isOurs && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() === false) return failed('there is a file that is not a socket');
  const identity = fileIdentity(path);
  if (identity !== undefined && (await isAlive(path, clock))) return failed(PATH_IN_USE);
  // Another daemon may have put its own socket there meanwhile. From here on nothing is awaited until the
  // socket is bound.
  if (fileIdentity(path) !== identity) return failed(PATH_IN_USE);
  rmSync(path, { force: true });
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o600);
  return success(undefined);
}

async function isAlive(path: string, clock: Clock): Promise<boolean> {
  const socket = connect(path);
  const answer = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    // Anything else (a full backlog, a socket of another user) does not prove that it is dead.
    socket.once('error', (error) => resolve(!['ECONNREFUSED', 'ENOENT'].includes(codeOf(error))));
  });
  const isAnswered = await within(clock, PROBE_DEADLINE_MS, answer);
  socket.destroy();
  return isAnswered ?? true;
}
