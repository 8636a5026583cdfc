// Decides which names on the user's bus are players, passes commands to them, and with `players.exclusive`
// silences the others when a player begins to play.

import { type Clock, systemClock, Timers, within } from '../../host/clock.js';
import type { Answer, PlayersCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { PlayersSettings } from '../../protocol/actor/settings.js';
import { BUS_METHODS, NAME_OWNER_CHANGED } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { PLAYER_NAME_PREFIX, PLAYER_OWNERS } from '../../protocol/dbus/mpris.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { carryOutPlayerCommand, isTrackCommand, type PlayerCommand } from './commands.js';
import { CoverReader, type FetchCover } from './cover.js';
import { ignoredBy } from './ignored.js';
import { Player } from './player.js';
import { playersToSilence, silence, silenceAll } from './silence.js';

const PLAYERS_MAX = 32;
/** The bound of kept names is above `PLAYERS_MAX`: when a player goes, another kept name becomes a player. */
const NAMES_MAX = 128;
/**
 * The shortest time between two updates of the set of players. A name whose owner changes all the time
 * causes at most four updates a second.
 */
const UPDATE_PAUSE_MS = 250;
/**
 * A player's metadata may contain a whole cover. The largest cover takes 11 MiB in base64, and the bound is
 * about twice as much, because the message has other metadata, too.
 */
const MESSAGE_MAX_BYTES = 24 << 20;
/**
 * The backend waits at most this long for the first readings of the running players before it is up. A player
 * that answers later is published later.
 */
const FIRST_READING_MAX_MS = 1_000;
/**
 * At most this many commands to one player are under way at one time. The supervisor bounds the commands to
 * all players together, and a player that hangs must not use up that bound.
 */
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
  /** An owner is the unique name of a connection. All bus names of one owner belong to one player. */
  readonly #ownersByName = new Map<string, string>();
  /** A player is added only after the bus has answered the request for the player's process id. */
  readonly #pidsByOwner = new Map<string, number | 'requested' | 'unknown'>();
  readonly #playersByOwner = new Map<string, Player>();
  readonly #timers: Timers<'update'>;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #hasLoggedTooManyPlayers = false;
  /** The bus names for which the log has the warning that the player cannot be read. */
  readonly #loggedUnreadable = new Set<string>();
  /**
   * Names whose owner has changed while `up` requests the owner of each name. The reply for such a name may
   * be older than the change, so `up` ignores that reply. Undefined once `up` has added the running players.
   */
  #changedNames: Set<string> | undefined;
  /** Why the backend is not up; undefined while it is up. */
  #unavailableReason: string | undefined = 'not connected yet';
  /** How often the bus was lost. If this number differs after a wait, the bus was lost during the wait. */
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
    const watch = await this.#bus.watch(PLAYER_OWNERS);
    const namesReply = await this.#bus.call(BUS_METHODS.listNames, []);
    if (!watch.ok || !namesReply.ok) return this.#bus.reconnect('the bus did not answer which players run');
    const names = namesReply.value.filter((name) => name.startsWith(PLAYER_NAME_PREFIX)).slice(0, NAMES_MAX);
    const readOwner = async (name: string): Promise<void> => {
      const reply = await this.#bus.call(BUS_METHODS.getNameOwner, [name]);
      if (reply.ok && !changedNames.has(name)) await this.#setOwner(name, reply.value);
    };
    await Promise.all(names.map(readOwner));
    if (losses !== this.#losses) return;
    this.#updatePlayers();
    this.#changedNames = undefined;
    const firstAttempts = [...this.#playersByOwner.values()].map(({ readings }) => readings.firstAttempt);
    await within(this.#clock, FIRST_READING_MAX_MS, Promise.all(firstAttempts));
    if (losses !== this.#losses) return;
    for (const player of this.#playersByOwner.values()) player.publishNow();
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
    if (change === undefined) this.#playersByOwner.get(signal.sender)?.applySignal(signal);
    else {
      const [name, , owner] = change;
      this.#changedNames?.add(name);
      if (name.startsWith(PLAYER_NAME_PREFIX)) void this.#setOwner(name, owner);
    }
  }

  async handle(command: PlayersCommand): Promise<Answer> {
    if (this.#unavailableReason !== undefined)
      return failure('unavailable', `Not connected to the user's bus: ${this.#unavailableReason}`);
    if (command.do === 'pause_all') {
      const players = [...this.#playersByOwner.values()].filter(({ isKnown }) => isKnown);
      const losses = this.#losses;
      const answer = await silenceAll(players, this.#runCommand);
      // After a loss of the bus all players count as gone, and a player that has gone counts as silent. So
      // the answer would be a success, although nobody knows whether the players still play.
      return losses === this.#losses ? answer : failure('unavailable', "The user's bus was lost meanwhile");
    }
    const player = this.#playersByOwner.get(this.#ownersByName.get(command.player) ?? '');
    if (!player?.isKnown)
      return failure('no-such-player', `There is no player ${JSON.stringify(command.player)}`);
    if (command.do === 'cover') return this.#covers.answer(player, command.cachedTag);
    return this.#runCommand(player, command);
  }

  readonly #runCommand = async (player: Player, command: PlayerCommand): Promise<Answer> => {
    const { commandsUnderWay } = player;
    if (commandsUnderWay >= COMMANDS_UNDER_WAY_MAX)
      return failure('unavailable', `${commandsUnderWay} commands wait for ${command.player} already`);
    player.commandsUnderWay += 1;
    const answer = await carryOutPlayerCommand(this.#bus, player, command).finally(() => {
      player.commandsUnderWay -= 1;
    });
    // Not every player sends signals for its changes.
    if (answer.ok) player.readings.request();
    if (answer.ok && isTrackCommand(command)) player.tracklist.readings.request();
    return answer;
  };

  #silenceOthers(playerThatBegan: Player, begunAtMs: number): void {
    if (!this.#isExclusive) return;
    for (const other of playersToSilence(this.#playersByOwner.values(), playerThatBegan, begunAtMs))
      void this.#silenceOther(other, playerThatBegan);
  }

  async #silenceOther(other: Player, playerThatBegan: Player): Promise<void> {
    other.beginning.withdraw();
    const answer = await silence(other, this.#runCommand);
    // The readings end when the player leaves, and a player that has left is silent.
    if (answer.ok || other.readings.isStopped) return;
    const fields = { name: other.busName, begins: playerThatBegan.busName, reason: answer.error.detail };
    this.#publish.log('warn', 'a player plays on beside another one', fields);
  }

  async stop(): Promise<void> {
    this.#forgetAll();
    this.#bus.stop();
  }

  /** `owner` is '' if the name has no owner any more. */
  async #setOwner(name: string, owner: string): Promise<void> {
    const hasPlace = this.#ownersByName.has(name) || this.#ownersByName.size < NAMES_MAX;
    if (owner === '') this.#ownersByName.delete(name);
    else if (hasPlace) this.#ownersByName.set(name, owner);
    else return;
    if (owner !== '' && !this.#pidsByOwner.has(owner)) {
      const losses = this.#losses;
      this.#pidsByOwner.set(owner, 'requested');
      const reply = await this.#bus.call(BUS_METHODS.getConnectionUnixProcessID, [owner]);
      if (losses !== this.#losses) return;
      // The bus gives 0 for a process of another container.
      this.#pidsByOwner.set(owner, reply.ok && reply.value > 0 ? reply.value : 'unknown');
    }
    // While `#changedNames` is set, `up` reads the owners, and then updates the players itself.
    if (this.#changedNames === undefined) this.#updatePlayersSoon();
  }

  #updatePlayersSoon(): void {
    const waitMs = this.#updatedAt + UPDATE_PAUSE_MS - this.#clock.monotonic();
    if (waitMs <= 0) this.#updatePlayers();
    else if (!this.#timers.has('update')) this.#timers.set('update', waitMs, () => this.#updatePlayers());
  }

  /** Makes one player for each owner in `#namesByOwner`. An owner whose name changes gets a new player. */
  #updatePlayers(): void {
    this.#updatedAt = this.#clock.monotonic();
    const namesByOwner = this.#namesByOwner();
    for (const player of [...this.#playersByOwner.values()])
      if (namesByOwner.get(player.owner) !== player.busName) this.#remove(player);
    for (const [owner, name] of namesByOwner) {
      const pid = this.#pidsByOwner.get(owner);
      const isPidRequestAnswered = pid !== undefined && pid !== 'requested';
      if (isPidRequestAnswered && !this.#playersByOwner.has(owner)) this.#add(name, owner, pid);
    }
    const owners = new Set(this.#ownersByName.values());
    for (const owner of this.#pidsByOwner.keys()) if (!owners.has(owner)) this.#pidsByOwner.delete(owner);
  }

  /**
   * A player is listed under the shortest of its names. If one of its names is ignored, the player is left
   * out, so that it is not listed under another name.
   */
  #namesByOwner(): ReadonlyMap<string, string> {
    const names = new Map<string, string>();
    const ignoredOwners = new Set<string>();
    for (const [name, owner] of this.#ownersByName) {
      if (this.#isIgnored(name)) ignoredOwners.add(owner);
      const isShortestSoFar = name.length < (names.get(owner)?.length ?? Number.POSITIVE_INFINITY);
      if (isShortestSoFar && !this.#isSecondNameOfVlc(name)) names.set(owner, name);
    }
    for (const owner of ignoredOwners) names.delete(owner);
    return names;
  }

  /**
   * VLC 3.0.21 with `--control dbus` has two connections in one process. The second connection has the bus
   * name of the first connection with an ending, such as `.instance1234` for the process id 1234.
   */
  #isSecondNameOfVlc(name: string): boolean {
    const match = /^(.+)\.instance(\d+)$/.exec(name);
    if (match === null) return false;
    const [, firstName = '', pid] = match;
    const pidOfFirst = this.#pidsByOwner.get(this.#ownersByName.get(firstName) ?? '');
    return pidOfFirst === Number(pid);
  }

  #remove(player: Player): void {
    this.#playersByOwner.delete(player.owner);
    player.stop();
    player.published.drop();
  }

  #add(name: string, owner: string, pid: number | 'unknown'): void {
    if (this.#playersByOwner.size >= PLAYERS_MAX) {
      if (!this.#hasLoggedTooManyPlayers)
        this.#publish.log('warn', 'too many players: some are left out', { most: PLAYERS_MAX, name });
      this.#hasLoggedTooManyPlayers = true;
      return;
    }
    const connection = {
      busName: name,
      owner,
      pid: pid === 'unknown' ? undefined : pid,
      // `#changedNames` is set until `up` has added the players that run already.
      isOlderThanBackend: this.#changedNames !== undefined,
    };
    const listener = {
      onUnreadable: (reason: string) => this.#logUnreadable(name, reason),
      onPlayingBegun: (player: Player, begunAtMs: number) => this.#silenceOthers(player, begunAtMs),
    };
    this.#playersByOwner.set(owner, new Player(connection, this.#bus, this.#clock, this.#publish, listener));
  }

  #logUnreadable(name: string, reason: string): void {
    if (this.#loggedUnreadable.has(name) || this.#loggedUnreadable.size >= NAMES_MAX) return;
    this.#loggedUnreadable.add(name);
    this.#publish.log('warn', 'a player is not listed, as it cannot be read', { name, reason });
  }

  /** The records need no `drop` here, because the journal drops them when the backend is not up. */
  #forgetAll(): void {
    for (const player of this.#playersByOwner.values()) player.stop();
    this.#timers.cancelAll();
    this.#ownersByName.clear();
    this.#pidsByOwner.clear();
    this.#playersByOwner.clear();
    this.#hasLoggedTooManyPlayers = false;
    this.#loggedUnreadable.clear();
  }
}

export default actorThread<'players'>(({ fetchCovers, ignore, exclusive }, publish) => {
  // The module is loaded with the first cover that is fetched, because Node.js's HTTP client takes 2 MB.
  const fetchCover = async (url: string) => (await import('./web-cover.js')).webCover(url, systemClock);
  const busOptions = {};
  const playersOptions = { fetch: fetchCovers ? fetchCover : undefined, ignore, exclusive };
  return new PlayersBackend(publish, systemClock, busOptions, playersOptions);
});
