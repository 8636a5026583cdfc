// The players backend: decides which players exist, whose signals are followed, and runs commands. A single
// player is in player.ts.

import { type Clock, systemClock, Timers, within } from '../../host/clock.js';
import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { PlayersSettings } from '../../protocol/actor/settings.js';
import { BUS_METHODS, NAME_OWNER_CHANGED } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { PLAYER_NAMES, PLAYER_OWNERS } from '../../protocol/dbus/mpris.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { carryOut, isTrackCommand, type PlayerCommand } from './commands.js';
import { CoverReader, type FetchCover } from './cover.js';
import { ignoredBy } from './ignored.js';
import { Player } from './player.js';
import { silence, silenceAll } from './silence.js';

const PLAYERS_MAX = 32;
/** All known names, also of players beyond PLAYERS_MAX: these move up when others go. */
const NAMES_MAX = 128;
/**
 * Minimum time between two updates of the set of players: a name that changes owner all the time costs four
 * readings a second.
 */
const UPDATE_PAUSE_MS = 250;
/** Metadata may contain a whole cover: this is twice the maximum size of a cover in base64. */
const MESSAGE_MAX_BYTES = 24 << 20;
/** How long the start waits for the players that exist; one that hangs is published when it answers. */
const FIRST_READING_MAX_MS = 1_000;
/** The bound for one player: a player that hangs must not use up the bound of all players together. */
const COMMANDS_UNDER_WAY_MAX = 8;

interface PlayersOptions extends Partial<Pick<PlayersSettings, 'ignore' | 'exclusive'>> {
  /** Undefined if the node fetches no covers. */
  readonly fetch?: FetchCover | undefined;
}

export class PlayersBackend implements Actor<PlayersCommand>, BusOwner {
  readonly #publish: Publisher;
  readonly #clock: Clock;
  readonly #bus: Bus<'players'>;
  readonly #covers: CoverReader;
  readonly #isIgnored: (busName: string) => boolean;
  readonly #isExclusive: boolean;
  /** Owners by bus name: one connection may own several names, as VLC does, and is one player. */
  readonly #owners = new Map<string, string>();
  /** The process ids of these owners. No player is made before the bus has answered. */
  readonly #processes = new Map<string, number | 'requested' | 'unknown'>();
  /** By unique name. */
  readonly #players = new Map<string, Player>();
  readonly #timers: Timers<'update'>;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #hasLoggedTooMany = false;
  /** Names of players whose failure to be read is in the log. */
  readonly #loggedUnlisted = new Set<string>();
  /**
   * Names whose owner changed since they were listed: that signal is newer than the reply. Only set while
   * the owners are read.
   */
  #changedNames: Set<string> | undefined;
  /** Why there is no bus; undefined while there is one. */
  #unavailableReason: string | undefined = 'not connected yet';
  /** Counts losses, so that a connection that is lost during `up` is not published as up. */
  #losses = 0;

  constructor(
    publish: Publisher,
    clock: Clock,
    bus: BusOptions = {},
    { fetch, ignore = [], exclusive = false }: PlayersOptions = {},
  ) {
    this.#publish = publish;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#bus = new Bus('players', { messageMaxBytes: MESSAGE_MAX_BYTES, ...bus }, this);
    this.#covers = new CoverReader(this.#bus, clock, fetch);
    this.#isIgnored = ignoredBy(ignore);
    this.#isExclusive = exclusive;
  }

  async up(): Promise<void> {
    const losses = this.#losses;
    const changedNames = new Set<string>();
    this.#changedNames = changedNames;
    const watched = await this.#bus.watch(PLAYER_OWNERS);
    const listed = await this.#bus.call(BUS_METHODS.listNames, []);
    if (!watched.ok || !listed.ok) throw new Error('the bus did not answer which players run');
    const names = listed.value.filter((name) => name.startsWith(PLAYER_NAMES)).slice(0, NAMES_MAX);
    await Promise.all(
      names.map(async (name) => {
        const owner = await this.#bus.call(BUS_METHODS.getNameOwner, [name]);
        if (owner.ok && !changedNames.has(name)) await this.#ownerChanged(name, owner.value);
      }),
    );
    if (losses !== this.#losses) return;
    this.#changedNames = undefined;
    this.#updatePlayers();
    const readings = [...this.#players.values()].map(({ readings }) => readings.first);
    await within(this.#clock, FIRST_READING_MAX_MS, Promise.all(readings));
    if (losses !== this.#losses) return;
    for (const player of this.#players.values()) player.publishNow();
    this.#unavailableReason = undefined;
    this.#publish.status('up');
  }

  down(reason: string): void {
    this.#losses += 1;
    this.#forgetAll();
    this.#unavailableReason = reason;
    this.#publish.status('connecting', reason);
  }

  signal(signal: Signal): void {
    const change = signalValues(NAME_OWNER_CHANGED, signal);
    if (change === undefined) this.#players.get(signal.sender)?.applySignal(signal);
    else {
      const [name, , owner] = change;
      this.#changedNames?.add(name);
      if (name.startsWith(PLAYER_NAMES)) void this.#ownerChanged(name, owner);
    }
  }

  async handle(command: PlayersCommand): Promise<Answer> {
    if (this.#unavailableReason !== undefined)
      return failure('unavailable', `Not connected to the user's bus: ${this.#unavailableReason}`);
    if (command.do === 'pause_all') {
      const players = [...this.#players.values()].filter(({ isKnown }) => isKnown);
      return silenceAll(players, this.#run);
    }
    const player = this.#players.get(this.#owners.get(command.player) ?? '');
    if (!player?.isKnown)
      return failure('no-such-player', `There is no player ${JSON.stringify(command.player)}`);
    if (command.do === 'cover') return this.#covers.answer(player, command.cachedTag);
    return this.#run(player, command);
  }

  readonly #run = async (player: Player, command: PlayerCommand): Promise<Answer> => {
    const { commandsUnderWay } = player;
    if (commandsUnderWay >= COMMANDS_UNDER_WAY_MAX)
      return failure('timeout', `${commandsUnderWay} commands wait for ${command.player} already`);
    player.commandsUnderWay += 1;
    const answer = await carryOut(this.#bus, player, command).finally(() => {
      player.commandsUnderWay -= 1;
    });
    // Not every player sends signals for its changes.
    if (answer.ok) player.readings.again();
    if (answer.ok && isTrackCommand(command)) player.tracklist.readings.again();
    return answer;
  };

  /** The others have begun before, so each of several that begin at once silences those before it. */
  #began(player: Player): void {
    if (!this.#isExclusive) return;
    for (const other of this.#players.values())
      if (other !== player && other.published.isPlaying) void this.#silenceFor(player, other);
  }

  async #silenceFor({ busName: begins }: Player, player: Player): Promise<void> {
    const answer = await silence(player, this.#run);
    if (answer.ok || player.readings.isStopped) return;
    const fields = { name: player.busName, begins, reason: answer.error.detail };
    this.#publish.log('warn', 'a player plays on beside another one', fields);
  }

  async stop(): Promise<void> {
    this.#forgetAll();
    this.#bus.stop();
  }

  /** `owner` is '' for none. */
  async #ownerChanged(name: string, owner: string): Promise<void> {
    if (owner === '') this.#owners.delete(name);
    else if (this.#owners.has(name) || this.#owners.size < NAMES_MAX) this.#owners.set(name, owner);
    else return;
    if (owner !== '' && !this.#processes.has(owner)) {
      const losses = this.#losses;
      this.#processes.set(owner, 'requested');
      const pid = await this.#bus.call(BUS_METHODS.getConnectionUnixProcessID, [owner]);
      if (losses !== this.#losses) return;
      // 0 means a process of another container.
      this.#processes.set(owner, pid.ok && pid.value > 0 ? pid.value : 'unknown');
    }
    if (this.#changedNames === undefined) this.#updatePlayersSoon();
  }

  #updatePlayersSoon(): void {
    const waitMs = this.#updatedAt + UPDATE_PAUSE_MS - this.#clock.monotonic();
    if (waitMs <= 0) this.#updatePlayers();
    else if (!this.#timers.has('update')) this.#timers.set('update', waitMs, () => this.#updatePlayers());
  }

  /**
   * Adds and removes players so that they match the names; each player gets the shortest of its names. With
   * one of them, the whole player is ignored: else it would be there under another name.
   */
  #updatePlayers(): void {
    this.#updatedAt = this.#clock.monotonic();
    const names = new Map<string, string>();
    const ignored = new Set<string>();
    for (const [name, owner] of this.#owners) {
      if (this.#isIgnored(name)) ignored.add(owner);
      const isShorter = name.length < (names.get(owner)?.length ?? Number.POSITIVE_INFINITY);
      if (isShorter && !this.#isSecond(name)) names.set(owner, name);
    }
    for (const owner of ignored) names.delete(owner);
    for (const player of [...this.#players.values()]) {
      if (names.get(player.owner) === player.busName) continue;
      this.#players.delete(player.owner);
      player.stop();
      player.published.drop();
    }
    for (const [owner, name] of names) {
      const pid = this.#processes.get(owner);
      if (!this.#players.has(owner) && pid !== undefined && pid !== 'requested') this.#add(name, owner, pid);
    }
    const owners = new Set(this.#owners.values());
    for (const owner of this.#processes.keys()) if (!owners.has(owner)) this.#processes.delete(owner);
  }

  /**
   * VLC 3.0.21 with `--control dbus` has two connections, and the name of the second ends with its process
   * id.
   */
  #isSecond(name: string): boolean {
    const [, first = '', pid] = /^(.+)\.instance(\d+)$/.exec(name) ?? [];
    return this.#processes.get(this.#owners.get(first) ?? '') === Number(pid);
  }

  #add(name: string, owner: string, pid: number | 'unknown'): void {
    if (this.#players.size >= PLAYERS_MAX) {
      if (!this.#hasLoggedTooMany)
        this.#publish.log('warn', 'too many players: some are left out', { most: PLAYERS_MAX, name });
      this.#hasLoggedTooMany = true;
      return;
    }
    const wasThere = this.#unavailableReason !== undefined;
    const connection = { busName: name, owner, pid: pid === 'unknown' ? undefined : pid, wasThere };
    this.#players.set(
      owner,
      new Player(connection, this.#bus, this.#clock, this.#publish, {
        unlisted: (reason) => this.#logUnlisted(name, reason),
        began: (player) => this.#began(player),
      }),
    );
  }

  #logUnlisted(name: string, reason: string): void {
    if (this.#loggedUnlisted.has(name) || this.#loggedUnlisted.size >= NAMES_MAX) return;
    this.#loggedUnlisted.add(name);
    this.#publish.log('warn', 'a player is not listed, as it cannot be read', { name, reason });
  }

  #forgetAll(): void {
    for (const player of this.#players.values()) player.stop();
    this.#timers.cancelAll();
    this.#owners.clear();
    this.#processes.clear();
    this.#players.clear();
    this.#hasLoggedTooMany = false;
    this.#loggedUnlisted.clear();
  }
}

export default actorThread<'players'>(({ fetchCovers, ignore, exclusive }, publish) => {
  // It is loaded with the first cover to be fetched, because Node's HTTP client takes 2 MB.
  const fetch = async (url: string) => (await import('./web-cover.js')).webCover(url, systemClock);
  return new PlayersBackend(
    publish,
    systemClock,
    {},
    {
      fetch: fetchCovers ? fetch : undefined,
      ignore,
      exclusive,
    },
  );
});
