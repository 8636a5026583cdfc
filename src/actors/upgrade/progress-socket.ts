// The progress socket's server: never replaces a living one, is never open to others, and comes back when it was lost.
// progress-reader.ts reads the connections.

import { once } from 'node:events';
import { chmodSync, linkSync, lstatSync, mkdtempSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { type Clock, Timers, within } from '../../clock.js';
import { PathWatch } from '../path-watch.js';
import { codeOf, makeDirectories } from '../small-file.js';
import { ProgressReader, type ReaderOwner } from './progress-reader.js';

/** How often to check whether the socket is still at its path, or the path is free at last, if no watch reports it. */
const LOOK_MS = 60_000;
/** Our own changes in the directory come in a burst. */
const SETTLE_MS = 40;
/** A living daemon accepts at once, because the kernel does it. */
const PROBE_DEADLINE_MS = 2_000;
/** Connections that the kernel accepts while this thread is busy; further ones fail, or wait if they may. */
const BACKLOG_CONNECTIONS = 256;
/** A directory of this name is ours; another may be shared with others, and is not changed. */
const OWN_DIRECTORY = 'tonearm';

export interface SocketOwner extends ReaderOwner {
  /** Why nobody can connect; undefined if clients can. */
  problem(problem: string | undefined): void;
}

export class ProgressSocket {
  readonly #path: string;
  readonly #owner: SocketOwner;
  readonly #clock: Clock;
  readonly #reader: ProgressReader;
  readonly #timers: Timers<'look'>;
  #watch: PathWatch | undefined;
  #server: Server | undefined;
  #identity = '';
  #listening: Promise<void>;
  #stopped = false;

  constructor(path: string, owner: SocketOwner, clock: Clock) {
    this.#path = path;
    this.#owner = owner;
    this.#clock = clock;
    this.#reader = new ProgressReader(owner, clock);
    this.#timers = new Timers(clock);
    this.#lookLater();
    this.#listening = this.#listen();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timers.cancelAll();
    await this.#listening;
    this.#watch?.close();
    this.#leave();
    this.#reader.stop();
  }

  /** Resolves when the first attempt to listen has ended, well or not. */
  attempted(): Promise<void> {
    return this.#listening;
  }

  #lookLater(): void {
    this.#timers.set('look', LOOK_MS, () => {
      this.#look();
      this.#lookLater();
    });
  }

  #look(): void {
    // Checked only after a running attempt, because the socket seems lost while its path is being taken.
    this.#listening = this.#listening.then(() =>
      this.#stopped || !this.#isLost() ? undefined : this.#listen(),
    );
  }

  #isLost(): boolean {
    return this.#server === undefined || socketIdentity(this.#path) !== this.#identity;
  }

  async #listen(): Promise<void> {
    this.#leave();
    // allowHalfOpen: data sent before the client's end is read at our rate before the connection closes.
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      this.#owner.problem(this.#reader.take(socket) ? undefined : 'there are too many connections');
    });
    let problem: string | undefined;
    try {
      await prepareDirectory(dirname(this.#path));
      problem = await freePath(this.#path, this.#clock);
      if (problem === undefined) {
        this.#identity = await bindAt(this.#path, server);
        this.#server = server;
        // After listening, an error is a failed accept (no descriptors left): the client sees it, the socket lives on.
        server.on('error', () => this.#owner.problem('a connection could not be accepted'));
      }
    } catch (error) {
      server.close();
      problem = `cannot listen there (${codeOf(error)})`;
    }
    this.#owner.problem(problem);
    // Made anew each time, so that it reports changes from the path's present state.
    this.#watch?.close();
    this.#watch = new PathWatch(this.#path, () => this.#look(), { settleMs: SETTLE_MS });
  }

  #leave(): void {
    this.#server?.close();
    this.#server = undefined;
    // A socket of another process is not removed.
    const isOurs = this.#identity !== '' && socketIdentity(this.#path) === this.#identity;
    if (isOurs) rmSync(this.#path, { force: true });
    this.#identity = '';
  }
}

function socketIdentity(path: string): string {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isSocket() ? `${stat.dev}:${stat.ino}:${stat.mtimeMs}` : '';
  } catch {
    return ''; // A directory on the way cannot be entered: as good as absent.
  }
}

async function prepareDirectory(directory: string): Promise<void> {
  await makeDirectories(directory);
  const { mode, uid } = statSync(directory);
  const ours = basename(directory) === OWN_DIRECTORY && uid === process.getuid?.();
  // systemd creates a RuntimeDirectory= with 0755 by default.
  if (ours && (mode & 0o077) !== 0) chmodSync(directory, 0o700);
}

/** Removes a dead socket. Returns why the path is not available; undefined if it is free. */
async function freePath(path: string, clock: Clock): Promise<string | undefined> {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return undefined;
  const identity = socketIdentity(path);
  if (identity === '') return 'there is a file that is not a socket';
  const answer = await listenerState(path, clock);
  if (answer === 'alive') return 'another process listens there';
  if (answer === 'gone') return undefined;
  // Another daemon may have put its own socket there meanwhile.
  if (socketIdentity(path) !== identity) return 'another process listens there';
  unlinkSync(path);
  return undefined;
}

async function listenerState(path: string, clock: Clock): Promise<'alive' | 'dead' | 'gone'> {
  const socket = connect(path);
  const answer = new Promise<'alive' | 'dead' | 'gone'>((resolve) => {
    socket.once('connect', () => resolve('alive'));
    socket.once('error', (error) => {
      const code = codeOf(error);
      // Anything else (a full backlog, a socket of another user) does not prove that it is dead.
      resolve(code === 'ECONNREFUSED' ? 'dead' : code === 'ENOENT' ? 'gone' : 'alive');
    });
  });
  const inTime = await within(clock, PROBE_DEADLINE_MS, answer);
  socket.destroy();
  return inTime ?? 'alive';
}

/**
 * Makes the server listen at the path, which is free. Returns the socket's identity; rejects with the system's error. The socket is bound
 * under a private name and then linked to its path. That is atomic (a taken path is an error, so one of two daemons wins), nobody can
 * connect before the mode is set, and closing the server, where libuv unlinks the bound name, cannot remove another process's socket.
 */
async function bindAt(path: string, server: Server): Promise<string> {
  // Not join(): it would drop the dot and create the folder beside the directory, where we may not write.
  const room = mkdtempSync(`${dirname(path)}/.`);
  try {
    const bound = join(room, 's');
    server.listen({ path: bound, backlog: BACKLOG_CONNECTIONS });
    await once(server, 'listening');
    chmodSync(bound, 0o600);
    linkSync(bound, path);
    return socketIdentity(path);
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}
