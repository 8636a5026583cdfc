// Decides when the progress socket is made at its path, and passes the valid lines of its clients on at a
// bounded rate. Only the daemon's user can connect to the socket.

import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { type Clock, RateLimit, within } from '../../host/clock.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { fileIdentity, PathWatch } from '../path-watch.js';
import { codeOf } from '../small-file.js';
import { type ProgressLine, parseLine, splitLines } from './progress-line.js';

/**
 * How many connections may be open; further ones are closed. Each open connection takes up to 128 KiB of
 * memory: 64 KiB for an unfinished line, and 64 KiB for the bytes that were read last.
 */
const CONNECTIONS_MAX = 256;
/**
 * The supervisor kills a thread that sends too many items per second (`ITEMS_PER_SECOND_MAX` in
 * supervisor/incarnation.ts). The bound for lines is lower, because a line may cause several items. Lines
 * that come faster wait in their connections.
 */
const LINES_MAX_PER_SECOND = 10_000;
/** A line that exceeds the rate waits for this time, and then tries again. */
const PAUSE_MS = 1_000;
/** Changes at the path within this time count as one, because making the socket causes several changes. */
const SETTLE_MS = 40;
/**
 * The longest wait for a connection that tests whether a process listens. If a process listens, the kernel
 * accepts the connection at once.
 */
const PROBE_DEADLINE_MS = 2_000;
/**
 * A directory with this name is the daemon's own if it belongs to the daemon's user. The daemon closes its
 * own directory to other users. Any other directory may be shared, and keeps its mode.
 */
const OWN_DIRECTORY = 'tonearm';

const PATH_IN_USE = 'another process listens there';

export interface SocketOwner {
  /**
   * `connectedMs` is the monotonic time at which the line's connection began. The next line of this
   * connection comes only after the promise has resolved.
   */
  onLine(line: ProgressLine, connectedMs: number): Promise<void>;
  /** Called when the number of open connections has changed. */
  onConnections(count: number): void;
  /** Called with the reason why a client cannot connect, or with undefined if clients can connect. */
  onProblem(problem: string | undefined): void;
}

export class ProgressSocket {
  readonly #path: string;
  readonly #owner: SocketOwner;
  readonly #clock: Clock;
  readonly #rate = new RateLimit(LINES_MAX_PER_SECOND);
  readonly #sockets = new Set<Socket>();
  readonly #watch: PathWatch;
  #server: Server | undefined;
  /** Resolves when the first attempt to listen has succeeded or failed. */
  readonly attempted: Promise<void>;
  #lastAttempt: Promise<void>;
  #isStopped = false;

  constructor(path: string, owner: SocketOwner, clock: Clock) {
    this.#path = path;
    this.#owner = owner;
    this.#clock = clock;
    this.attempted = this.#listen();
    this.#lastAttempt = this.attempted;
    this.#watch = new PathWatch(path, () => this.#checkPath(), SETTLE_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#watch.close();
    await this.#lastAttempt;
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Listens again if the socket was removed, or if the last attempt to listen has failed. */
  #checkPath(): void {
    // An attempt that is under way must end first, because the socket seems to be missing until then.
    this.#lastAttempt = this.#lastAttempt.then(() => {
      const isSocketThere = this.#server !== undefined && fileIdentity(this.#path) !== undefined;
      const mustListen = !this.#isStopped && !isSocketThere;
      return mustListen ? this.#listen() : undefined;
    });
  }

  async #listen(): Promise<void> {
    this.#server?.close();
    this.#server = undefined;
    // With `allowHalfOpen` the daemon's side of a connection stays open until all lines of the client have
    // been read. So a client can wait for the end of the connection, and then knows that its lines were read.
    const server = createServer({ allowHalfOpen: true }, (socket) => void this.#read(socket));
    server.maxConnections = CONNECTIONS_MAX;
    server.on('drop', () => this.#owner.onProblem('there are too many connections'));
    const listening = await listenAt(server, this.#path, this.#clock);
    if (listening.ok) {
      this.#server = server;
      // From now on an error means that a connection could not be accepted, for instance because no file
      // descriptor is free. The socket still works.
      server.on('error', () => this.#owner.onProblem('a connection could not be accepted'));
    } else server.close();
    this.#owner.onProblem(listening.ok ? undefined : listening.error);
  }

  async #read(socket: Socket): Promise<void> {
    const connectedMs = this.#clock.monotonic();
    this.#sockets.add(socket);
    // The accepted connection shows that clients can connect.
    this.#owner.onProblem(undefined);
    this.#owner.onConnections(this.#sockets.size);
    try {
      // The last line counts even without its LF.
      for await (const line of splitLines(socket)) await this.#deliver(line, connectedMs);
    } catch (error) {
      // A connection that broke is no defect. Its error is `socket.errored`, and its unfinished line is
      // ignored. After a stop no error matters, because the stop destroys the sockets.
      if (!this.#isStopped && error !== socket.errored) throw error;
    } finally {
      socket.destroy();
      this.#sockets.delete(socket);
      if (!this.#isStopped) this.#reportEnd();
    }
  }

  #reportEnd(): void {
    this.#owner.onConnections(this.#sockets.size);
    // The end of a connection makes room for another one and frees a descriptor, so a connection can be
    // accepted again. If the daemon does not listen, clients still cannot connect, and the reported problem
    // stays.
    if (this.#server !== undefined) this.#owner.onProblem(undefined);
  }

  async #deliver(bytes: Uint8Array, connectedMs: number): Promise<void> {
    const line = parseLine(bytes);
    if (line === undefined) return;
    while (!this.#rate.admit(this.#clock.monotonic()))
      await new Promise<void>((resolve) => this.#clock.after(PAUSE_MS, resolve));
    if (!this.#isStopped) await this.#owner.onLine(line, connectedMs);
  }
}

/**
 * Makes the socket, to which only the daemon's user can connect. Never rejects: a failure has the reason that
 * `/health` reports.
 */
async function listenAt(server: Server, path: string, clock: Clock): Promise<Result<undefined, string>> {
  try {
    return await listenIfFree(server, path, clock);
  } catch (error) {
    return failed(`cannot listen there (${codeOf(error)})`);
  }
}

/** Fails if the path is in use, or has a file that is no socket. Rejects if a system call fails. */
async function listenIfFree(server: Server, path: string, clock: Clock): Promise<Result<undefined, string>> {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { mode, uid } = statSync(directory);
  // The directory may be from systemd (RuntimeDirectory=), which gives it the mode 0755 by default.
  const isOurs = basename(directory) === OWN_DIRECTORY && uid === process.getuid?.();
  if (isOurs && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSocket() === false) return failed('there is a file that is not a socket');
  const identityBefore = fileIdentity(path);
  const isInUse = identityBefore !== undefined && (await isListening(path, clock));
  if (isInUse) return failed(PATH_IN_USE);
  // Another daemon may have put its own socket at the path meanwhile. From here on nothing may be awaited
  // until `server.listen` is called, which puts our socket there at once.
  if (fileIdentity(path) !== identityBefore) return failed(PATH_IN_USE);
  rmSync(path, { force: true });
  // The daemon's umask (main.ts) keeps other users away until the mode is set.
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, 0o600);
  return success(undefined);
}

/**
 * The errors which prove that nobody listens. Any other error may mean that the backlog is full, or that the
 * socket is another user's.
 */
const NOBODY_LISTENS: readonly string[] = ['ECONNREFUSED', 'ENOENT'];

/** True if a process listens at the path, or if that cannot be known. */
async function isListening(path: string, clock: Clock): Promise<boolean> {
  const socket = connect(path);
  const answer = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', (error) => {
      const isNobodyThere = NOBODY_LISTENS.includes(codeOf(error));
      resolve(!isNobodyThere);
    });
  });
  const isInUse = await within(clock, PROBE_DEADLINE_MS, answer);
  socket.destroy();
  return isInUse ?? true;
}
