// Decides when one player is read, and when its record is published. A `Player` belongs to one connection: if
// another connection gets the player's name, there is a new `Player`.

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
 * it is playerctld (properties.ts).
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
   * Called when it is certain that the player has begun to play (beginning.ts explains why a signal may
   * not be enough). A record with `Playing` is published by then. `begunAtMs`: the monotonic time when the
   * player was first published as playing after this beginning.
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
  /** False until the properties have been read, and for playerctld. While it is false, there is no record. */
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
    // `readings` is set last, because the first reading needs the other fields. The callbacks run later.
    this.#reckonedPosition = new ReckonedPosition(clock, () => this.readings.request());
    // The subscription comes before the readings, so that a change during a reading causes a new one.
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
    const allReadings = withTracks ? [this.readings, this.tracklist.readings] : [this.readings];
    const answered = await Promise.all(allReadings.map((readings) => readings.requestAndWait()));
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
    if (!this.isKnown || this.readings.isStopped) return;
    this.#timers.cancel('gather');
    this.published.publish({
      record: this.#record(),
      jumps: this.#reckonedPosition.jumps,
      tracksJson: this.tracklist.newestReading?.json,
      currentPosition: () => this.#positionRecord(),
    });
    if (!this.isPlaying) this.beginning.withdraw();
    // The listener may pause other players, so it is called only when the beginning is certain.
    const begunAtMs = this.beginning.takeCertain(this.readings, this.#clock.monotonic());
    if (begunAtMs !== undefined) this.#listener.onPlayingBegun(this, begunAtMs);
    if (this.isPlaying && !this.#timers.has('clock')) this.#checkClockLater();
  }

  /** If the node's date was set, the record gets another anchor. So the record differs, and is published. */
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

  /** To be called when the backend removes this player. Also called if the player is playerctld. */
  stop(): void {
    this.#timers.cancelAll();
    this.#reckonedPosition.stop();
    this.tracklist.readings.stop();
    this.readings.stop();
    this.#signals.stop();
  }

  /**
   * Three kinds of signals cause a reading:
   * - a signal with one of `POSITION_PROPERTIES`, even with the same value as before: a track may have begun
   *   again, or one track without an id may have followed another
   * - a signal that invalidates a property, because the signal lacks the new value
   * - a signal after which the reckoned position is unreliable
   */
  #applyChangedProperties(iface: string, changed: PropertyRecord, invalidatedNames: readonly string[]): void {
    if (iface === ROOT_INTERFACE) this.#facts = withRootProperties(this.#facts, changed);
    else if (iface === PLAYER_INTERFACE) this.#setFacts(withPlayerProperties(this.#facts, changed));
    else return;
    const isAboutPosition = POSITION_PROPERTIES.some((name) => Object.hasOwn(changed, name));
    if (invalidatedNames.length > 0 || isAboutPosition || this.#reckonedPosition.isUnreliable)
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
    if (this.readings.isStopped) return false;
    if (!player.ok) {
      this.#readingFailed(player.error);
      // A signal may have announced that the player plays, and the next reading, which should confirm this,
      // may come late. So the beginning counts as certain now (beginning.ts), and `publishNow` reports it.
      this.#publishSoon();
      return false;
    }
    // The old facts are removed, because a property no longer exists if it is missing in the reading.
    if (root.ok) this.#facts = withRootProperties({ ...this.#facts, root: {} }, root.value);
    this.#setFacts(withPlayerProperties({ ...NOTHING_KNOWN, root: this.#facts.root }, player.value));
    this.#reckonedPosition.applyReading(positionIn(player.value));
    // The reading is applied before the wait below. After the wait it could undo what a newer signal changed.
    if (!this.isKnown) await within(this.#clock, FIRST_ANSWERS_WAIT_MS, this.#firstAnswers());
    if (this.readings.isStopped) return false;
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

  /** Reports a player that cannot be read, has no record, and has not left. */
  #readingFailed(error: BusError): void {
    // `RepeatedReading` counts the failed reading only when `#read` has returned.
    const failures = this.readings.failures + 1;
    const isReported = !this.isKnown && failures >= LOGGED_AFTER_FAILURES && !isAbsence(error);
    if (isReported) this.#listener.onUnreadable(busErrorText(error));
  }
}
