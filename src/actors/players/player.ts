// Decides when one player is read, and when its record is published. A `Player` exists as long as one
// connection owns the player's name.

import { type Clock, Timers, within } from '../../host/clock.js';
import type { PlayerPosition, PlayerRecord } from '../../protocol/actor/schemas.js';
import { PROPERTIES_CHANGED, type PropertyRecord } from '../../protocol/dbus/daemon.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import {
  PLAYER_INTERFACE,
  PLAYER_PROPERTIES,
  playerMethods,
  ROOT_INTERFACE,
  ROOT_PROPERTIES,
  SEEKED,
} from '../../protocol/dbus/mpris.js';
import type { Bus } from '../bus/bus.js';
import { type BusError, busErrorText, isAbsence } from '../bus/fault.js';
import type { Publisher } from '../runtime.js';
import { Beginning } from './beginning.js';
import {
  NOTHING_KNOWN,
  type PlayerFacts,
  playbackStatus,
  playerRecord,
  positionIn,
  withPlayerProperties,
  withRootProperties,
} from './facts.js';
import { PlayerPublisher } from './player-publisher.js';
import { PlayerSignals } from './player-signals.js';
import { ReckonedPosition } from './position.js';
import { CALL_OPTIONS, fetchProperties, isPlayerctld } from './properties.js';
import { RepeatedReading } from './repeated-reading.js';
import { Tracklist } from './tracklist.js';

/**
 * The first record waits at most this long for two answers: whether the player has a tracklist, and whether
 * it is playerctld.
 */
const FIRST_ANSWERS_WAIT_MS = 500;
const READ_PAUSE_MS = 100;
/** Changes within this time are published together: a new track causes about five signals and a reading. */
const GATHER_MS = 50;
/** While the player plays, the date is checked this often, because clients reckon positions by the date. */
const CLOCK_CHECK_MS = 30_000;
/** A player owns its name before it can answer, so its first failed reading is not logged. */
const LOGGED_AFTER_FAILURES = 2;
/** After a signal with one of these properties the position is read, because it may have changed. */
const POSITION_PROPERTIES = ['Metadata', 'PlaybackStatus'] as const;

/** A player's connection to the bus. */
interface PlayerConnection {
  readonly busName: string;
  /** The connection's unique name. */
  readonly owner: string;
  /** Undefined if it is unknown, for instance for a process of another container. */
  readonly pid: number | undefined;
  /** True if the player was on the bus before the backend. */
  readonly isOlderThanBackend: boolean;
}

interface PlayerListener {
  /** Called for the second and each later failed reading, if the player is present but has no record. */
  readonly onUnreadable: (reason: string) => void;
  /**
   * Called once it is certain that the player has begun to play (beginning.ts explains why a signal may
   * not be enough). A record with `Playing` is published by then. `begunAtMs`: the monotonic time when such
   * a record was first published.
   */
  readonly onPlayingBegun: (player: Player, begunAtMs: number) => void;
}

export class Player {
  readonly busName: string;
  readonly owner: string;
  readonly #pid: number | undefined;
  readonly tracklist: Tracklist;
  readonly published: PlayerPublisher;
  /** Counted by the backend, which refuses further commands beyond a bound. */
  commandsUnderWay = 0;
  readonly #bus: Pick<Bus<'players'>, 'call'>;
  readonly #clock: Clock;
  readonly #methods: ReturnType<typeof playerMethods>;
  readonly #timers: Timers<'gather' | 'clock'>;
  readonly #signals: PlayerSignals;
  /** Readings of all properties except those of the tracklist. */
  readonly readings: RepeatedReading;
  #facts: PlayerFacts = NOTHING_KNOWN;
  readonly #reckonedPosition: ReckonedPosition;
  /**
   * Resolves when it is decided whether the player is playerctld, which only repeats other players
   * (properties.ts). If it is playerctld, this object has been stopped by then.
   */
  readonly #playerctldCheck: Promise<void>;
  readonly #listener: PlayerListener;
  /** True once the properties have been read. Before that there is no record. */
  isKnown = false;
  readonly #isOlderThanBackend: boolean;
  readonly beginning = new Beginning();

  constructor(
    { busName, owner, pid, isOlderThanBackend }: PlayerConnection,
    bus: Pick<Bus<'players'>, 'call' | 'watch' | 'unwatch'>,
    clock: Clock,
    publish: Pick<Publisher, 'put' | 'drop'>,
    listener: PlayerListener,
  ) {
    this.busName = busName;
    this.owner = owner;
    this.#pid = pid;
    this.#bus = bus;
    this.#clock = clock;
    this.published = new PlayerPublisher(busName, publish);
    this.#timers = new Timers(clock);
    this.#methods = playerMethods(owner);
    this.#listener = listener;
    this.#isOlderThanBackend = isOlderThanBackend;
    // `readings` is set last, because the first reading needs the other fields. No callback runs earlier.
    this.#reckonedPosition = new ReckonedPosition(clock, () => this.readings.request());
    // The subscription comes first, so that a change during the first reading causes another reading.
    this.#signals = new PlayerSignals(owner, bus, clock, () => {
      this.readings.request();
      this.tracklist.readings.request();
    });
    this.tracklist = new Tracklist(owner, bus, clock, () => this.#publishSoon());
    this.#playerctldCheck = this.#stopIfPlayerctld();
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  get facts(): PlayerFacts {
    return this.#facts;
  }

  get isPlaying(): boolean {
    return playbackStatus(this.#facts) === 'Playing';
  }

  /** Reads the player again, and publishes what has changed. False if the player did not answer. */
  async readAll({ withTracks }: { readonly withTracks: boolean }): Promise<boolean> {
    const readings = withTracks ? [this.readings, this.tracklist.readings] : [this.readings];
    const answered = await Promise.all(readings.map((reading) => reading.requestAndWait()));
    this.publishNow();
    return answered.every((isAnswered) => isAnswered);
  }

  /** In microseconds; reckoned if it cannot be read. Undefined if the player has no position. */
  async readPosition(): Promise<number | undefined> {
    const read = await this.#bus.call(this.#methods.get, [PLAYER_INTERFACE, 'Position'], CALL_OPTIONS);
    const positionUs = read.ok ? positionIn({ Position: read.value }) : undefined;
    return positionUs ?? this.#reckonedPosition.currentPosition()?.positionUs;
  }

  publishNow(): void {
    // A command that has waited for a reading calls this method even if the player has left meanwhile.
    if (!this.isKnown || this.readings.hasEnded) return;
    this.#timers.cancel('gather');
    this.published.publish({
      record: this.#record(),
      jumps: this.#reckonedPosition.jumps,
      tracksJson: this.tracklist.newestReading?.json,
      currentPosition: () => this.#positionRecord(),
    });
    // The listener may pause other players, so it is called only once the beginning is certain.
    if (!this.isPlaying) this.beginning.withdraw();
    const begunAtMs = this.beginning.takeCertain(this.readings, this.#clock.monotonic());
    if (begunAtMs !== undefined) this.#listener.onPlayingBegun(this, begunAtMs);
    if (this.isPlaying && !this.#timers.has('clock')) this.#checkClockLater();
  }

  /** If the node's date was set, `currentAnchor` changes. So the record differs, and is published. */
  #checkClockLater(): void {
    this.#timers.set('clock', CLOCK_CHECK_MS, () => {
      if (this.isPlaying) this.publishNow();
    });
  }

  #publishSoon(): void {
    if (this.isKnown && !this.#timers.has('gather'))
      this.#timers.set('gather', GATHER_MS, () => this.publishNow());
  }

  #record(): PlayerRecord {
    const hasTracklist = this.tracklist.newestReading !== undefined;
    return playerRecord(this.busName, this.#facts, this.#reckonedPosition.currentAnchor(), {
      pid: this.#pid,
      hasTracklist,
    });
  }

  #positionRecord(): PlayerPosition | undefined {
    const current = this.#reckonedPosition.currentPosition();
    if (current === undefined) return undefined;
    return { bus_name: this.busName, position: current.positionUs, emitted_at: Math.round(current.date) };
  }

  /** All signals are of this player: the match rule of `PlayerSignals` lets through no others. */
  applySignal(signal: Signal): void {
    if (!this.#signals.admit()) return;
    this.tracklist.applySignal(signal);
    const seeked = signalValues(SEEKED, signal);
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (seeked === undefined && changed === undefined) return;
    // Nobody knows whether the reading under way is older than this signal, so another reading follows.
    if (this.readings.isUnderWay) this.readings.request();
    if (seeked !== undefined) this.#reckonedPosition.applyJump(positionIn({ Position: seeked[0] }));
    if (changed !== undefined) this.#applyChangedProperties(...changed);
    this.#publishSoon();
  }

  /** To be called when the name has another owner, or none. It is called for playerctld, too. */
  stop(): void {
    this.#timers.cancelAll();
    this.#reckonedPosition.stop();
    this.tracklist.readings.stop();
    this.readings.stop();
    this.#signals.stop();
  }

  /**
   * A signal with one of `POSITION_PROPERTIES` causes a reading even if the value is the same as before: a
   * track may have begun again, or one track without an id may have followed another. So does a signal with
   * an invalidated property, because the signal lacks its new value.
   */
  #applyChangedProperties(iface: string, changed: PropertyRecord, invalidated: readonly string[]): void {
    if (iface === ROOT_INTERFACE) this.#facts = withRootProperties(this.#facts, changed);
    else if (iface === PLAYER_INTERFACE) this.#setFacts(withPlayerProperties(this.#facts, changed));
    else return;
    const isAboutPosition = POSITION_PROPERTIES.some((name) => Object.hasOwn(changed, name));
    if (invalidated.length > 0 || isAboutPosition || this.#reckonedPosition.isUnreliable)
      this.readings.request();
  }

  #setFacts(facts: PlayerFacts): void {
    const before = this.#facts;
    const wasPlaying = this.isPlaying;
    this.#facts = facts;
    // A player that is older than the backend may have begun to play long before its first reading.
    const mayHaveBegunNow = this.isKnown || !this.#isOlderThanBackend;
    if (this.isPlaying && !wasPlaying && mayHaveBegunNow) this.beginning.note(this.readings);
    this.#reckonedPosition.applyFacts(before, facts);
    // VLC 3.0 adds a track to its list only when another track begins, and a track's title only when the
    // track plays. No signal of the list announces this, so new metadata cause a reading of the list.
    const hasNewTexts = JSON.stringify(before.metadata.texts) !== JSON.stringify(facts.metadata.texts);
    if (hasNewTexts && this.tracklist.newestReading !== undefined) this.tracklist.readings.request();
  }

  async #stopIfPlayerctld(): Promise<void> {
    if (!(await isPlayerctld(this.#bus, this.#methods))) return;
    this.stop();
    this.isKnown = false;
    this.published.drop();
  }

  /** False if the Player interface did not answer. The root interface may be missing. */
  async #read(): Promise<boolean> {
    const [root, player] = await Promise.all([
      fetchProperties(this.#bus, this.#methods, ROOT_INTERFACE, ROOT_PROPERTIES),
      fetchProperties(this.#bus, this.#methods, PLAYER_INTERFACE, PLAYER_PROPERTIES),
    ]);
    if (this.readings.hasEnded) return false;
    if (!player.ok) {
      this.#readingFailed(player.error);
      // If a signal has announced that the player plays, the reading that should confirm it may be late now.
      // So `publishNow` does not wait: after a failed reading the beginning is certain (beginning.ts).
      this.#publishSoon();
      return false;
    }
    // The old facts are removed, because a property that the reading lacks no longer exists.
    if (root.ok) this.#facts = withRootProperties({ ...this.#facts, root: {} }, root.value);
    this.#setFacts(withPlayerProperties({ ...NOTHING_KNOWN, root: this.#facts.root }, player.value));
    this.#reckonedPosition.applyReading(positionIn(player.value));
    // The reading is applied before the wait below. Later it could undo what a signal changes in the wait.
    if (!this.isKnown) await within(this.#clock, FIRST_ANSWERS_WAIT_MS, this.#firstAnswers());
    if (this.readings.hasEnded) return false;
    this.isKnown = true;
    this.#publishSoon();
    return true;
  }

  /**
   * Resolves when the player has answered all that must be known before its record is published. A player
   * owns its name before it can answer. If its readings have failed, the first calls for these answers may
   * have failed, too, so they are made again.
   */
  #firstAnswers(): Promise<unknown> {
    const { readings: tracklistReadings } = this.tracklist;
    if (this.readings.failures > 0)
      return Promise.all([tracklistReadings.requestAndWait(), this.#stopIfPlayerctld()]);
    return Promise.all([tracklistReadings.firstAttempt, this.#playerctldCheck]);
  }

  /**
   * Reports that a player without a record cannot be read, unless it has left. `RepeatedReading`
   * counts this failed reading only later.
   */
  #readingFailed(error: BusError): void {
    const failures = this.readings.failures + 1;
    const isReported = !this.isKnown && failures >= LOGGED_AFTER_FAILURES && !isAbsence(error);
    if (isReported) this.#listener.onUnreadable(busErrorText(error));
  }
}
