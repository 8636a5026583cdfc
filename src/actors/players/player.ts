// One player, as long as one connection owns its name: reads its properties, applies its signals, and publishes its record, gathered for a
// moment, and positions that clients cannot extrapolate.

import { type Clock, RateLimit, Timers, within } from '../../clock.js';
import type { PlayerPosition, PlayerRecord } from '../../protocol/actor/schemas.js';
import { PROPERTIES_CHANGED, type PropertyRecord } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import {
  PLAYER_INTERFACE,
  PLAYER_PATH,
  playerMethods,
  playerSignals,
  ROOT_INTERFACE,
  SEEKED,
} from '../../protocol/dbus/mpris.js';
import type { Bus } from '../bus/bus.js';
import type { Publisher } from '../runtime.js';
import {
  type Anchor,
  anchorAt,
  hasClockJumped,
  isJump,
  type Moment,
  motionOf,
  NOTHING_KNOWN,
  type PlayerFacts,
  playbackStatus,
  playerRecord,
  positionIn,
  reckoned,
  withPlayerProperties,
  withRootProperties,
} from './facts.js';
import { isSameTrack } from './metadata.js';
import { RepeatedReading } from './repeated-reading.js';
import { Tracklist } from './tracklist.js';

const READ_DEADLINE_MS = 5_000;
/** The wait for the tracklist, so that the first record usually has whether there is one. */
const TRACKLIST_WAIT_MS = 500;
const READ_PAUSE_MS = 100;
/** Per second. A player in use sends some ten signals; each costs this thread a tenth of a millisecond. */
const SIGNALS_MAX = 200;
/** How long the signals of a flooding connection are ignored. */
const REST_MS = 1_000;
/** After playing began the position is read again: an idle output may take 2 s of sound at once (null sinks; mpv, cmus: 1.9 s, measured). */
const LOOK_AGAIN_MS = 3_000;
/** A change of track causes some five signals and a reading, and becomes one event. */
const GATHER_MS = 50;
/** While it plays: how often to check whether the clock was set, by which clients extrapolate. */
const CLOCK_LOOK_MS = 30_000;

/** The bus's words for a player. `pid` is undefined if it is unknown, as of another container. */
interface Connection {
  readonly busName: string;
  readonly owner: string;
  readonly pid: number | undefined;
}

export class Player {
  readonly busName: string;
  readonly owner: string;
  readonly #pid: number | undefined;
  readonly tracklist: Tracklist;
  commandsUnderWay = 0;
  readonly #bus: Pick<Bus<'players'>, 'call' | 'watch' | 'unwatch'>;
  readonly #clock: Clock;
  readonly #publish: Pick<Publisher, 'put' | 'drop'>;
  readonly #methods: ReturnType<typeof playerMethods>;
  readonly #timers: Timers<'look' | 'rest' | 'gather' | 'clock'>;
  readonly #limit = new RateLimit(SIGNALS_MAX);
  /** Reads the properties, which is to be done again where the facts may be outdated. */
  readonly readings: RepeatedReading;
  #facts: PlayerFacts = NOTHING_KNOWN;
  #anchor: Anchor;
  /** Counts jumps: changes of the position that clients cannot extrapolate. */
  #jumps = 0;
  /** True if the extrapolated position is unreliable until the next reading. */
  #isAstray = true;
  /** True once it has been read. */
  isKnown = false;
  #published: { text: string; jumps: number; tracks: string | undefined } | undefined;

  constructor(
    { busName, owner, pid }: Connection,
    bus: Pick<Bus<'players'>, 'call' | 'watch' | 'unwatch'>,
    clock: Clock,
    publish: Pick<Publisher, 'put' | 'drop'>,
  ) {
    this.busName = busName;
    this.owner = owner;
    this.#pid = pid;
    this.#bus = bus;
    this.#clock = clock;
    this.#publish = publish;
    this.#timers = new Timers(clock);
    this.#methods = playerMethods(owner);
    this.#anchor = { positionUs: undefined, at: this.#now() };
    // Subscribed first, read then: a signal in between causes another reading.
    void bus.watch(playerSignals(owner));
    this.tracklist = new Tracklist(owner, bus, clock, () => this.#changed());
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  get facts(): PlayerFacts {
    return this.#facts;
  }

  get plays(): boolean {
    return playbackStatus(this.#facts) === 'Playing';
  }

  publishNow(): void {
    if (!this.isKnown) return;
    this.#timers.cancel('gather');
    const before = this.#published;
    const text = JSON.stringify(this.#record());
    const [jumps, tracks] = [this.#jumps, this.tracklist.reading?.json];
    this.#published = { text, jumps, tracks };
    if (before?.text !== text) this.#publish.put('players', this.busName, text);
    if (before?.tracks !== tracks) this.#publishTracks(tracks);
    const position = before === undefined || before.jumps === jumps ? undefined : this.#position();
    if (position !== undefined) this.#publish.put('players.position', this.busName, JSON.stringify(position));
    if (!this.plays || this.#timers.has('clock')) return;
    this.#timers.set('clock', CLOCK_LOOK_MS, () => {
      // The text differs only if the clock was set, because the record then takes a new anchor.
      if (this.plays) this.publishNow();
    });
  }

  drop(): void {
    if (this.#published === undefined) return;
    for (const collection of ['players', 'players.position', 'players.tracklist'] as const)
      this.#publish.drop(collection, this.busName);
  }

  #publishTracks(tracks: string | undefined): void {
    if (tracks === undefined) this.#publish.drop('players.tracklist', this.busName);
    else this.#publish.put('players.tracklist', this.busName, tracks);
  }

  #changed(): void {
    if (this.isKnown && !this.#timers.has('gather'))
      this.#timers.set('gather', GATHER_MS, () => this.publishNow());
  }

  #record(): PlayerRecord {
    const now = this.#now();
    if (hasClockJumped(this.#anchor, now)) this.#anchor = anchorAt(this.#anchor, motionOf(this.#facts), now);
    const hasTracklist = this.tracklist.reading !== undefined;
    return playerRecord(this.busName, this.#facts, this.#anchor, { pid: this.#pid, hasTracklist });
  }

  #position(): PlayerPosition | undefined {
    const now = this.#now();
    const position = reckoned(this.#anchor, motionOf(this.#facts), now);
    if (position === undefined) return undefined;
    return { bus_name: this.busName, position, emitted_at: Math.round(now.date) };
  }

  /** Applies a signal of its connection; the match rule excludes other objects. */
  take(signal: Signal): void {
    if (this.#timers.has('rest')) return;
    if (!this.#limit.admits(this.#clock.monotonic())) {
      this.#rest();
      return;
    }
    this.tracklist.take(signal);
    const seeked = signalValues(SEEKED, signal);
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (seeked === undefined && changed === undefined) return;
    if (this.readings.isUnderWay) this.readings.again();
    if (seeked !== undefined) this.#jumpTo(positionIn({ Position: seeked[0] }));
    if (changed !== undefined) this.#propertiesChanged(...changed);
    this.#changed();
  }

  /** The name has another owner, or none. */
  stop(): void {
    this.#timers.cancelAll();
    this.tracklist.readings.stop();
    this.readings.stop();
    void this.#bus.unwatch(playerSignals(this.owner));
  }

  /** Ignores a connection that floods for a moment. All is read at the end, so that the last change is not missed. */
  #rest(): void {
    void this.#bus.unwatch(playerSignals(this.owner));
    this.#timers.set('rest', REST_MS, () => {
      void this.#bus.watch(playerSignals(this.owner));
      this.readings.again();
      this.tracklist.readings.again();
    });
  }

  #propertiesChanged(iface: string, changed: PropertyRecord, invalidated: readonly string[]): void {
    if (iface === ROOT_INTERFACE) this.#facts = withRootProperties(this.#facts, changed);
    else if (iface === PLAYER_INTERFACE) this.#become(withPlayerProperties(this.#facts, changed));
    else return;
    if (invalidated.length > 0 || this.#isAstray) this.readings.again();
  }

  /** Applies new facts; the position is extrapolated by them until the next reading. */
  #become(facts: PlayerFacts): void {
    const before = this.#facts;
    const [was, is] = [motionOf(before), motionOf(facts)];
    this.#facts = facts;
    if (was.rate !== is.rate) this.#anchor = anchorAt(this.#anchor, was, this.#now());
    if (playbackStatus(before) !== playbackStatus(facts) || was.rate !== is.rate) this.#isAstray = true;
    // VLC 3.0 completes its list when another track begins, or a track's title when it plays, and sends no signal of the list for that.
    const hasNewTexts = JSON.stringify(before.metadata.texts) !== JSON.stringify(facts.metadata.texts);
    if (hasNewTexts && this.tracklist.reading !== undefined) this.tracklist.readings.again();
    if (!isSameTrack(before.metadata, facts.metadata)) {
      this.#anchor = { positionUs: this.#anchor.positionUs === undefined ? undefined : 0, at: this.#now() };
      this.#isAstray = true;
    }
  }

  #jumpTo(positionUs: number | undefined): void {
    this.#anchor = { positionUs, at: this.#now() };
    this.#jumps += 1;
  }

  /** True if the Player interface answered; a player without the root interface is accepted. */
  async #read(): Promise<boolean> {
    const options = { path: PLAYER_PATH, deadlineMs: READ_DEADLINE_MS };
    const [root, player] = await Promise.all([
      this.#bus.call(this.#methods.getAll, [ROOT_INTERFACE], options),
      this.#bus.call(this.#methods.getAll, [PLAYER_INTERFACE], options),
    ]);
    if (this.readings.isStopped || !player.ok) return false;
    // Properties that are missing now no longer exist.
    if (root.ok) this.#facts = withRootProperties({ ...this.#facts, root: {} }, root.value);
    this.#become(withPlayerProperties({ ...NOTHING_KNOWN, root: this.#facts.root }, player.value));
    this.#found(positionIn(player.value));
    // Only now, because a change that came during the wait would be lost to the older reading.
    if (!this.isKnown) await within(this.#clock, TRACKLIST_WAIT_MS, this.tracklist.readings.first);
    if (this.readings.isStopped) return false;
    this.isKnown = true;
    this.#changed();
    return true;
  }

  /** Applies a read position. If it matches the extrapolated one, clients need no event. */
  #found(positionUs: number | undefined): void {
    const now = this.#now();
    if (!this.#isAstray && !isJump(this.#anchor, motionOf(this.#facts), positionUs, now)) return;
    if (this.#isAstray && this.plays) this.#timers.set('look', LOOK_AGAIN_MS, () => this.readings.again());
    this.#isAstray = false;
    this.#jumpTo(positionUs);
  }

  #now(): Moment {
    return { date: this.#clock.date(), monotonic: this.#clock.monotonic() };
  }
}
