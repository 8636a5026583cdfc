// One player, as long as the same connection owns its name: reads its properties, applies its signals, and
// decides when its record is published. Changes within a short time are published together.

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
import { CALL_OPTIONS, fetchProperties, isStandIn } from './properties.js';
import { RepeatedReading } from './repeated-reading.js';
import { Tracklist } from './tracklist.js';

/** The first record waits this long for the tracklist, because the record shows whether there is one. */
const TRACKLIST_WAIT_MS = 500;
const READ_PAUSE_MS = 100;
/**
 * Changes within this time are published together, because a new track causes some five signals and a
 * reading.
 */
const GATHER_MS = 50;
/**
 * While the player plays, it is checked this often whether the date was set, because clients reckon by the
 * date.
 */
const CLOCK_CHECK_MS = 30_000;
/** A player owns its name before it can answer, so only the second failure of a reading is logged. */
const LOGGED_AFTER_FAILURES = 2;
/** After a signal with one of these properties the position is read, because it may have changed. */
const POSITION_PROPERTIES = ['Metadata', 'PlaybackStatus'] as const;

/** A player's connection to the bus. */
interface Connection {
  readonly busName: string;
  /** The connection's unique name. */
  readonly owner: string;
  /** Undefined if it is unknown, for instance for a process of another container. */
  readonly pid: number | undefined;
  /**
   * True if the player was on the bus before the backend. If such a player plays at its first reading, it
   * has begun earlier.
   */
  readonly wasThereBefore: boolean;
}

/** Receives reports of a player that are not in its record. */
interface PlayerListener {
  /** Called for each failed reading from the second on, while the player has no record. */
  readonly onUnreadable: (reason: string) => void;
  /** Called when a record has been published that shows that the player has begun to play. */
  readonly onPlayingBegun: (player: Player) => void;
}

export class Player {
  readonly busName: string;
  readonly owner: string;
  readonly #pid: number | undefined;
  readonly tracklist: Tracklist;
  readonly published: PlayerPublisher;
  commandsUnderWay = 0;
  readonly #bus: Pick<Bus<'players'>, 'call'>;
  readonly #clock: Clock;
  readonly #methods: ReturnType<typeof playerMethods>;
  readonly #timers: Timers<'gather' | 'clock'>;
  readonly #signals: PlayerSignals;
  /** Reads all properties each time that the facts may be outdated. */
  readonly readings: RepeatedReading;
  #facts: PlayerFacts = NOTHING_KNOWN;
  readonly #reckonedPosition: ReckonedPosition;
  /**
   * Resolves when it is known whether this is a stand-in for other players. A stand-in is stopped by then.
   */
  readonly #standInCheck: Promise<void>;
  readonly #listener: PlayerListener;
  /** True once the properties have been read. Before that there is no record. */
  isKnown = false;
  readonly #wasThereBefore: boolean;
  /** True if the player has begun to play after its record was last published. */
  #hasBegunToPlay = false;

  constructor(
    { busName, owner, pid, wasThereBefore }: Connection,
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
    this.#wasThereBefore = wasThereBefore;
    this.#reckonedPosition = new ReckonedPosition(clock, () => this.readings.request());
    // The subscription comes first, so that a change during the first reading causes another reading.
    this.#signals = new PlayerSignals(owner, bus, clock, () => {
      this.readings.request();
      this.tracklist.readings.request();
    });
    this.tracklist = new Tracklist(owner, bus, clock, () => this.#publishSoon());
    this.#standInCheck = this.#stopIfStandIn();
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  get facts(): PlayerFacts {
    return this.#facts;
  }

  get isPlaying(): boolean {
    return playbackStatus(this.#facts) === 'Playing';
  }

  /**
   * Reads all properties again and publishes them, and the tracklist too if the caller needs it. False if the
   * player did not answer.
   */
  async readAll(withTracks: boolean): Promise<boolean> {
    const readings = withTracks ? [this.readings, this.tracklist.readings] : [this.readings];
    const answers = await Promise.all(readings.map((reading) => reading.requestAndWait()));
    this.publishNow();
    return answers.every((isAnswered) => isAnswered);
  }

  /**
   * The present position in microseconds; the reckoned one if it cannot be read; undefined if there is none.
   */
  async readPosition(): Promise<number | undefined> {
    const read = await this.#bus.call(this.#methods.get, [PLAYER_INTERFACE, 'Position'], CALL_OPTIONS);
    const positionUs = read.ok ? positionIn({ Position: read.value }) : undefined;
    return positionUs ?? this.#reckonedPosition.current()?.positionUs;
  }

  publishNow(): void {
    // A command that has waited for a reading may call this after the player has left.
    if (!this.isKnown || this.readings.isStopped) return;
    this.#timers.cancel('gather');
    this.published.publish({
      record: this.#record(),
      jumps: this.#reckonedPosition.jumps,
      tracksJson: this.tracklist.reading?.json,
      currentPosition: () => this.#positionRecord(),
    });
    const hasBegunToPlay = this.#hasBegunToPlay && this.isPlaying;
    this.#hasBegunToPlay = false;
    if (hasBegunToPlay) this.#listener.onPlayingBegun(this);
    if (this.isPlaying && !this.#timers.has('clock')) this.#checkClockLater();
  }

  /** If the date was set, the record has a new anchor, so that its text differs and is published. */
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
    const hasTracklist = this.tracklist.reading !== undefined;
    return playerRecord(this.busName, this.#facts, this.#reckonedPosition.anchor(), {
      pid: this.#pid,
      hasTracklist,
    });
  }

  #positionRecord(): PlayerPosition | undefined {
    const current = this.#reckonedPosition.current();
    if (current === undefined) return undefined;
    return { bus_name: this.busName, position: current.positionUs, emitted_at: Math.round(current.date) };
  }

  /** Applies a signal of the player's connection. The match rule lets through only signals of the player. */
  applySignal(signal: Signal): void {
    if (!this.#signals.admits()) return;
    this.tracklist.applySignal(signal);
    const seeked = signalValues(SEEKED, signal);
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (seeked === undefined && changed === undefined) return;
    if (this.readings.isUnderWay) this.readings.request();
    if (seeked !== undefined) this.#reckonedPosition.applyJump(positionIn({ Position: seeked[0] }));
    if (changed !== undefined) this.#applyChangedProperties(...changed);
    this.#publishSoon();
  }

  /** To be called when the name has another owner, or none. */
  stop(): void {
    this.#timers.cancelAll();
    this.#reckonedPosition.stop();
    this.tracklist.readings.stop();
    this.readings.stop();
    this.#signals.stop();
  }

  #applyChangedProperties(iface: string, changed: PropertyRecord, invalidated: readonly string[]): void {
    if (iface === ROOT_INTERFACE) this.#facts = withRootProperties(this.#facts, changed);
    else if (iface === PLAYER_INTERFACE) this.#setFacts(withPlayerProperties(this.#facts, changed));
    else return;
    // The position may be another one even if these properties have the same values as before: a track begins
    // again, or one track without an id follows another.
    const isAboutPosition = POSITION_PROPERTIES.some((name) => Object.hasOwn(changed, name));
    if (invalidated.length > 0 || isAboutPosition || this.#reckonedPosition.isUnreliable)
      this.readings.request();
  }

  #setFacts(facts: PlayerFacts): void {
    const before = this.#facts;
    const wasPlaying = this.isPlaying;
    this.#facts = facts;
    // A player that was on the bus before the backend may have begun to play long before its first reading.
    const showsBeginnings = this.isKnown || !this.#wasThereBefore;
    if (this.isPlaying && !wasPlaying && showsBeginnings) this.#hasBegunToPlay = true;
    this.#reckonedPosition.applyFacts(before, facts);
    // VLC 3.0 completes its list when another track begins, and a track's title when the track plays. It
    // sends no signal of the list for these changes.
    const hasNewTexts = JSON.stringify(before.metadata.texts) !== JSON.stringify(facts.metadata.texts);
    if (hasNewTexts && this.tracklist.reading !== undefined) this.tracklist.readings.request();
  }

  /** A stand-in for other players has no record. */
  async #stopIfStandIn(): Promise<void> {
    if (!(await isStandIn(this.#bus, this.#methods))) return;
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
      return false;
    }
    // Facts from before the reading are removed, because a property that the reading lacks no longer exists.
    if (root.ok) this.#facts = withRootProperties({ ...this.#facts, root: {} }, root.value);
    this.#setFacts(withPlayerProperties({ ...NOTHING_KNOWN, root: this.#facts.root }, player.value));
    this.#reckonedPosition.applyReading(positionIn(player.value));
    // The reading is applied before this wait, because it must not undo a change that comes during the wait.
    if (!this.isKnown) {
      const firstAnswers = Promise.all([this.tracklist.readings.firstAttempt, this.#standInCheck]);
      await within(this.#clock, TRACKLIST_WAIT_MS, firstAnswers);
    }
    if (this.readings.isStopped) return false;
    this.isKnown = true;
    this.#publishSoon();
    return true;
  }

  /** Reports that a player without a record cannot be read, unless it has left. */
  #readingFailed(error: BusError): void {
    const failures = this.readings.failures + 1;
    const isReported = !this.isKnown && failures >= LOGGED_AFTER_FAILURES && !isAbsence(error);
    if (isReported) this.#listener.onUnreadable(busErrorText(error));
  }
}
