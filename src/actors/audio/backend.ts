// The audio backend: finds the sound server, keeps one connection to it for ever, and answers commands. It
// decides when there is a connection and which status is published; the work on a connection is in
// connection.ts.

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
import { findServer, readMachineId, type ServerContext } from './server-address.js';
import { type AwaitedSocket, cookiePaths, readCookie, socketOrDelay } from './server-files.js';
import { SoundState } from './state.js';
import { TIMING, type Timing } from './timing.js';
import { Upkeep } from './upkeep.js';
import type { OpenLink } from './wake.js';

/** The longest time of a timer. */
const FOR_EVER_MS = 2 ** 31 - 1;

/**
 * At most 17 reads per kind, one read of the server's info, and one command at a time; the rest is reserve.
 */
const PENDING_MAX_REQUESTS = 64;

/** The connection after its first publication. */
interface Live {
  readonly connection: SoundConnection;
  readonly upkeep: Upkeep;
  /** Its socket. */
  readonly path: string;
  /** On the monotonic clock. */
  readonly since: number;
}

interface ConnectionEnd {
  readonly detail: string;
  /** How long it was up; undefined if it never was. */
  readonly upMs?: number;
}

/** The next attempt's number for the back-off: 0 (at once) only after a connection that lasted `stableMs`. */
export function attemptAfter(attempt: number, upMs: number | undefined, stableMs: number): number {
  return upMs !== undefined && upMs >= stableMs ? 0 : attempt + 1;
}

export class AudioBackend implements Actor<AudioCommand> {
  readonly #settings: AudioSettings;
  readonly #context: ServerContext;
  readonly #publish: BackendLink;
  readonly #log: Publisher['log'];
  readonly #clock: Clock;
  readonly #timing: Timing;
  readonly #publisher: SoundPublisher;
  readonly #state: SoundState;
  readonly #reconciliation: Reconciliation;
  readonly #knownOutputs: KnownOutputs;
  readonly #listenPairs: ListenPairs;
  readonly #cookiePaths: readonly string[];
  readonly #own: DaemonCommands;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #live: Live | undefined;
  #isWatched = false;
  /** Why there is no connection; undefined until a reason has been published. */
  #detail: string | undefined;

  constructor(
    settings: AudioSettings,
    context: ServerContext,
    publish: BackendLink,
    clock: Clock,
    timing: Timing = TIMING,
  ) {
    this.#settings = settings;
    this.#context = context;
    this.#publish = publish;
    this.#clock = clock;
    this.#timing = timing;
    this.#publisher = new SoundPublisher(publish, settings);
    this.#state = new SoundState(settings);
    this.#reconciliation = new Reconciliation(clock, timing.reconcileMs);
    this.#log = (level, message, fields) => publish.log(level, message, fields);
    this.#knownOutputs = new KnownOutputs(context, clock, this.#log);
    this.#listenPairs = new ListenPairs(settings.listen);
    this.#cookiePaths = cookiePaths(context.env, context.home);
    this.#own = new DaemonCommands({
      settings,
      context,
      state: this.#state,
      clock,
      node: publish,
      cookiePaths: this.#cookiePaths,
      commandMs: timing.commandMs,
      live: () => this.#live?.connection,
    });
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    await this.#own.leave();
    this.#stop.abort();
    await this.#running;
    await this.#knownOutputs.settled();
  }

  async handle(command: AudioCommand): Promise<Answer> {
    if (command.do === 'cookie') return this.#own.cookie();
    if (this.#live === undefined) {
      const detail = this.#detail === undefined ? 'Not connected yet' : `Not connected: ${this.#detail}`;
      return failure('unavailable', detail);
    }
    const { connection, upkeep, path } = this.#live;
    if (command.do === 'network') return this.#own.network(connection, path);
    if (command.do === 'sleep' || command.do === 'sleep/stop') return this.#own.sleep(command);
    if (command.do === 'listen' || command.do === 'stop-listen') return upkeep.listen(command);
    return connection.executor.run(command);
  }

  watchLevels(isWatched: boolean): void {
    this.#isWatched = isWatched;
    this.#live?.connection.meters.watch(isWatched);
  }

  /**
   * Loops for ever: connects, serves until the connection ends, then waits for the back-off or for a socket
   * to appear.
   */
  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let attempt = 0;
    while (!signal.aborted) {
      const files = [readCookie(this.#cookiePaths), findServer(this.#context)] as const;
      const [cookie, found] = await Promise.all(files);
      const paths = found.ok ? found.value.paths : [];
      const sockets = paths.map((path) => ({ path, before: fileIdentity(path) }));
      const ended: ConnectionEnd = found.ok
        ? await this.#connectFirst(sockets, cookie, found.value.elsewhere)
        : { detail: found.error };
      if (signal.aborted) return;
      if (ended.upMs === undefined && ended.detail !== this.#detail)
        this.#publish.status('connecting', ended.detail);
      this.#detail = ended.detail;
      attempt = attemptAfter(attempt, ended.upMs, this.#timing.stableMs);
      if (await socketOrDelay(sockets, backoffMs(attempt, this.#clock.random()), signal)) attempt = 0;
    }
  }

  /**
   * Tries the sockets that exist, in order, until one gives a complete connection. Resolves when that
   * connection has ended. If every attempt fails, the reason is the failure of the first one, with the
   * sentence about a server that is elsewhere. If no socket exists, the first one is tried for its failure.
   */
  async #connectFirst(
    sockets: readonly AwaitedSocket[],
    cookie: Uint8Array | undefined,
    elsewhere: string | undefined,
  ): Promise<ConnectionEnd> {
    const existing = sockets.filter(({ before }) => before !== undefined);
    let first: ConnectionEnd | undefined;
    for (const { path } of existing.length > 0 ? existing : sockets.slice(0, 1)) {
      if (this.#stop.signal.aborted) break;
      const ended = await this.#connect(path, cookie);
      if (ended.upMs !== undefined) return ended;
      first ??= ended;
    }
    const { detail } = first ?? { detail: 'there is no address to connect to' };
    return { detail: elsewhere === undefined ? detail : `${detail}; ${elsewhere}` };
  }

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
      // A server that hangs in the handshake must not keep us from the one that has taken its place.
      const watch = new AbortController();
      const place = { path, before: fileIdentity(path) };
      void socketOrDelay([place], FOR_EVER_MS, watch.signal).then((isReplaced) => {
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
        publishLevel: (level) => this.#publish.level(level),
        log: this.#log,
        onPublished: ({ sinksCameOrWent, sources }) => {
          const isFirst = this.#live === undefined;
          if (isFirst) {
            watch.abort();
            this.#up({ connection, upkeep, path, since: this.#clock.monotonic() });
          }
          upkeep.follow(isFirst || sinksCameOrWent, isFirst || sources);
        },
        onClosed: (reason) => {
          watch.abort();
          upkeep.end();
          this.#stop.signal.removeEventListener('abort', abort);
          resolve(this.#down(describeClosed(reason)));
        },
      });
      const upkeep = new Upkeep({
        state: this.#state,
        settings: this.#settings,
        knownOutputs: this.#knownOutputs,
        listenPairs: this.#listenPairs,
        clock: this.#clock,
        timing: this.#timing,
        publish: this.#publish,
        run: (command) => connection.executor.run(command),
        ask: (command, args) => connection.ask(command, args),
      });
      const abort = () => connection.close({ kind: 'stopped' });
      this.#stop.signal.addEventListener('abort', abort);
    });
  }

  /** Called when everything has been published once. */
  #up(live: Live): void {
    const { connection, path } = live;
    this.#reconciliation.begin(connection);
    const { kind } = this.#state;
    this.#live = live;
    this.#publish.status('up');
    if (this.#isWatched) connection.meters.watch(true);
    this.#publish.log('info', 'connected to the sound server', { path, kind });
  }

  /** Called when a connection has ended, whether it was up or not. */
  #down(detail: string): ConnectionEnd {
    if (this.#live === undefined) return { detail };
    const { since } = this.#live;
    this.#reconciliation.end();
    this.#live = undefined;
    this.#publisher.forget();
    if (this.#stop.signal.aborted) return { detail };
    this.#publish.status('connecting', detail);
    return { detail, upMs: this.#clock.monotonic() - since };
  }
}

export default actorThread<'audio'>((settings, publish) => {
  // Not os.userInfo(), which fails for a user who is not in the user database.
  const uid = process.getuid?.() ?? 0;
  const context = { env: process.env, uid, home: homeDirectory(), machineId: readMachineId() };
  return new AudioBackend(settings, context, publish, systemClock);
});

/**
 * Called before there are settings, so that this module is loaded by then. Nothing else needs preparation.
 */
export const warmUp = (): undefined => undefined;
