// Decides when the daemon connects to the sound server, and which status of the audio backend is published.
// It does not decide what happens on a connection (connection.ts).

import { backoffMs, type Clock, systemClock } from '../../host/clock.js';
import { homeDirectory } from '../../host/user-directories.js';
import type { Answer, AudioCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { AudioSettings } from '../../protocol/actor/settings.js';
import { describeClosed } from '../../protocol/pulse/outcome.js';
import { VERSION } from '../../version.js';
import { Link } from '../dial.js';
import { fileIdentity } from '../path-watch.js';
import { type Actor, actorThread, type BackendLink, type Publisher } from '../runtime.js';
import { SoundConnection } from './connection.js';
import { DaemonCommands } from './daemon-commands.js';
import { KnownOutputs } from './known-outputs.js';
import { ListenPairs } from './listen-pairs.js';
import { SoundPublisher } from './publisher.js';
import { Reconciliation } from './reconciliation.js';
import { BURST_MAX_RECORDS, READ_KINDS } from './refetch.js';
import { findServer, readMachineId, type ServerContext } from './server-address.js';
import { type AwaitedSocket, cookiePaths, readCookie, waitForSocket } from './server-files.js';
import { SoundState } from './state.js';
import { TIMING, type Timing } from './timing.js';
import { Upkeep } from './upkeep.js';
import type { OpenLink } from './wake.js';

/** The longest time that a timer can have. */
const FOR_EVER_MS = 2 ** 31 - 1;

/**
 * The part of `PENDING_MAX_REQUESTS` for requests that read no records. Such requests are sent for the one
 * command that runs, for groups, for listening, and for `GET /audio/network`.
 */
const RESERVE_MAX_REQUESTS = 48;
/** At most `BURST_MAX_RECORDS` pending requests read the records of a kind, or one reads their whole list. */
const PENDING_MAX_REQUESTS = READ_KINDS.length * BURST_MAX_RECORDS + RESERVE_MAX_REQUESTS;

/** A connection that is up: all its records have been published at least once. */
interface LiveConnection {
  readonly connection: SoundConnection;
  readonly upkeep: Upkeep;
  /** The path of its socket. */
  readonly path: string;
  /** When it came up, in ms on the monotonic clock. */
  readonly upSinceMs: number;
}

interface ConnectionEnd {
  readonly reason: string;
  /** How long the connection was up; undefined if it was never up, or if the backend is being stopped. */
  readonly upMs?: number;
}

/**
 * Returns the number of the next attempt for the back-off. Attempt 0 begins at once. The function returns 0
 * only after a connection that was up for at least `stableMs`.
 */
export function nextAttempt(attempt: number, upMs: number | undefined, stableMs: number): number {
  return upMs !== undefined && upMs >= stableMs ? 0 : attempt + 1;
}

export class AudioBackend implements Actor<AudioCommand> {
  readonly #settings: AudioSettings;
  readonly #context: ServerContext;
  readonly #node: BackendLink;
  readonly #log: Publisher['log'];
  readonly #clock: Clock;
  readonly #timing: Timing;
  readonly #publisher: SoundPublisher;
  readonly #state: SoundState;
  readonly #reconciliation: Reconciliation;
  readonly #knownOutputs: KnownOutputs;
  readonly #listenPairs: ListenPairs;
  readonly #cookiePaths: readonly string[];
  readonly #daemonCommands: DaemonCommands;
  readonly #stopController = new AbortController();
  readonly #running: Promise<void>;
  #liveConnection: LiveConnection | undefined;
  #areLevelsWatched = false;
  /** Why the newest connection or attempt has ended; undefined until the first one has ended. */
  #endReason: string | undefined;

  constructor(
    settings: AudioSettings,
    context: ServerContext,
    node: BackendLink,
    clock: Clock,
    timing: Timing = TIMING,
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#node = node;
    this.#clock = clock;
    this.#timing = timing;
    this.#publisher = new SoundPublisher(node, settings);
    this.#state = new SoundState(settings);
    this.#reconciliation = new Reconciliation(clock, timing.reconcileMs);
    this.#log = (level, message, fields) => node.log(level, message, fields);
    this.#knownOutputs = new KnownOutputs(context, clock, this.#log);
    this.#listenPairs = new ListenPairs(settings.listen);
    this.#cookiePaths = cookiePaths(context.env, context.home);
    this.#daemonCommands = new DaemonCommands({
      settings,
      context,
      state: this.#state,
      clock,
      node,
      cookiePaths: this.#cookiePaths,
      commandMs: timing.commandMs,
      liveConnection: () => this.#liveConnection,
    });
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    await this.#daemonCommands.leave();
    this.#stopController.abort();
    await this.#running;
    await this.#knownOutputs.flush();
  }

  async handle(command: AudioCommand): Promise<Answer> {
    // The cookie is read from a file, so this command needs no connection.
    if (command.do === 'cookie') return this.#daemonCommands.cookie();
    if (this.#liveConnection === undefined) {
      const reason = this.#endReason;
      return failure('unavailable', reason === undefined ? 'Not connected yet' : `Not connected: ${reason}`);
    }
    const { connection, upkeep } = this.#liveConnection;
    if (command.do === 'network') return this.#daemonCommands.network();
    if (command.do === 'sleep' || command.do === 'sleep/stop') return this.#daemonCommands.sleep(command);
    if (command.do === 'listen' || command.do === 'stop-listen') return upkeep.listen(command);
    return connection.executor.run(command);
  }

  watchLevels(isWatched: boolean): void {
    this.#areLevelsWatched = isWatched;
    this.#liveConnection?.connection.meters.setWatched(isWatched);
  }

  /**
   * Runs until the backend is stopped, and connects again after each connection's end. Before each further
   * attempt it waits for the back-off, or for a socket to appear.
   */
  async #run(): Promise<void> {
    const { signal } = this.#stopController;
    let attempt = 0;
    while (!signal.aborted) {
      const [cookie, server] = await Promise.all([readCookie(this.#cookiePaths), findServer(this.#context)]);
      const paths = server.ok ? server.value.paths : [];
      const sockets = paths.map((path) => ({ path, identityBefore: fileIdentity(path) }));
      const end: ConnectionEnd = server.ok
        ? await this.#connectToFirst(sockets, cookie, server.value.addressProblem)
        : { reason: server.error };
      if (signal.aborted) return;
      const wasUp = end.upMs !== undefined;
      // `#onEnded` has already published the end of a connection that was up.
      if (!wasUp && end.reason !== this.#endReason) this.#node.status('connecting', end.reason);
      this.#endReason = end.reason;
      attempt = nextAttempt(attempt, end.upMs, this.#timing.stableMs);
      const hasAppeared = await waitForSocket(sockets, backoffMs(attempt, this.#clock.random()), signal);
      // A new socket means a new server, so the waits begin again with the shortest one.
      if (hasAppeared) attempt = 0;
    }
  }

  /**
   * Tries the sockets that exist, in order, until a connection is up. Resolves when this connection has
   * ended. If no connection comes up, the reason is that of the first failure, followed by `addressProblem`
   * if this is defined.
   */
  async #connectToFirst(
    sockets: readonly AwaitedSocket[],
    cookie: Uint8Array | undefined,
    addressProblem: string | undefined,
  ): Promise<ConnectionEnd> {
    const existing = sockets.filter(({ identityBefore }) => identityBefore !== undefined);
    // If no socket exists, the first path is tried, so that its failure is the published reason.
    const socketsToTry = existing.length > 0 ? existing : sockets.slice(0, 1);
    let firstEnd: ConnectionEnd | undefined;
    for (const { path } of socketsToTry) {
      if (this.#stopController.signal.aborted) break;
      const end = await this.#connect(path, cookie);
      if (end.upMs !== undefined) return end;
      firstEnd ??= end;
    }
    const reason = firstEnd?.reason ?? 'there is no address to connect to';
    return { reason: addressProblem === undefined ? reason : `${reason}; ${addressProblem}` };
  }

  /** Resolves when the connection has ended, even if it has never been up. */
  #connect(path: string, cookie: Uint8Array | undefined): Promise<ConnectionEnd> {
    const { connectMs, authMs, requestMs } = this.#timing;
    const session = {
      cookie,
      clientProps: { 'application.name': 'tonearm', 'application.version': VERSION },
      authDeadlineMs: authMs,
      requestDeadlineMs: requestMs,
      pendingMax: PENDING_MAX_REQUESTS,
    };
    return new Promise((resolve) => {
      // A server may hang in the handshake while a new server replaces its socket. In this case the
      // connection is closed, so that the new server is tried. A connection that is up needs no such watch.
      const socketWatch = new AbortController();
      // The identity is read anew, because the socket may have been replaced while other sockets were tried.
      // With the older identity, the watch would report this replacement, and close the connection at once.
      const socket = { path, identityBefore: fileIdentity(path) };
      // `connection`, `upkeep` and `onStop` are declared below the functions that use them. Nothing calls
      // these functions before all three have their values.
      void waitForSocket([socket], FOR_EVER_MS, socketWatch.signal).then((isReplaced) => {
        const detail = 'another socket has taken its place';
        if (isReplaced) connection.close({ kind: 'transport-failed', detail });
      });
      const openLink: OpenLink = (events) =>
        new Link({ path, connectDeadlineMs: connectMs, session }, events);
      const connection: SoundConnection = new SoundConnection({
        openLink,
        state: this.#state,
        publisher: this.#publisher,
        clock: this.#clock,
        timing: this.#timing,
        publishLevel: (level) => this.#node.level(level),
        log: this.#log,
        onPublished: ({ haveSinksComeOrGone, mayInputsHaveChanged }) => {
          const isFirst = this.#liveConnection === undefined;
          if (isFirst) {
            socketWatch.abort();
            this.#onUp({ connection, upkeep, path, upSinceMs: this.#clock.monotonic() });
          }
          // `tonearm bench` sets `actsByItself` to false, because the running daemon does the upkeep.
          if (!this.#settings.actsByItself) return;
          // After the first publication, all outputs and inputs count as changed.
          upkeep.update(isFirst || haveSinksComeOrGone, isFirst || mayInputsHaveChanged);
        },
        onClosed: (reason) => {
          socketWatch.abort();
          upkeep.end();
          this.#stopController.signal.removeEventListener('abort', onStop);
          resolve(this.#onEnded(describeClosed(reason)));
        },
      });
      const upkeep = new Upkeep({
        state: this.#state,
        settings: this.#settings,
        knownOutputs: this.#knownOutputs,
        listenPairs: this.#listenPairs,
        clock: this.#clock,
        timing: this.#timing,
        publish: this.#node,
        run: (command) => connection.executor.run(command),
        ask: (command, args) => connection.ask(command, args),
        readAgain: (read) => connection.readAgain(read),
      });
      const onStop = () => connection.close({ kind: 'stopped' });
      this.#stopController.signal.addEventListener('abort', onStop);
    });
  }

  /** To be called when everything has been published for the first time on this connection. */
  #onUp(live: LiveConnection): void {
    const { connection, path } = live;
    this.#reconciliation.begin(connection);
    this.#liveConnection = live;
    this.#node.status('up');
    if (this.#areLevelsWatched) connection.meters.setWatched(true);
    this.#node.log('info', 'connected to the sound server', { path, kind: this.#state.kind });
  }

  /** To be called when a connection has ended, whether it was up or not. */
  #onEnded(reason: string): ConnectionEnd {
    if (this.#liveConnection === undefined) return { reason };
    const { upSinceMs } = this.#liveConnection;
    this.#reconciliation.end();
    this.#liveConnection = undefined;
    // The journal drops the records of a lost connection, so the next connection must publish even those
    // that have not changed.
    this.#publisher.forget();
    if (this.#stopController.signal.aborted) return { reason };
    this.#node.status('connecting', reason);
    return { reason, upMs: this.#clock.monotonic() - upSinceMs };
  }
}

export default actorThread<'audio'>((settings, node) => {
  // os.userInfo() is not used, because it fails for a user who is not in the user database.
  const uid = process.getuid?.() ?? 0;
  const context = { env: process.env, uid, home: homeDirectory(), machineId: readMachineId() };
  return new AudioBackend(settings, context, node, systemClock);
});

/**
 * `preload` in supervisor/threads.ts calls this function before the settings are known, only to load the
 * module. So the function is empty.
 */
export const warmUp = (): undefined => undefined;
