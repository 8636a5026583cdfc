// One player, as long as one connection owns its name: reads its properties, applies its signals, and
// publishes its record, and positions that clients cannot extrapolate. Changes are gathered for a moment.

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
import { type BusError, isAbsence, sentence } from '../bus/fault.js';
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

/** The first record waits so long for the tracklist, so that it usually tells whether there is one. */
const TRACKLIST_WAIT_MS = 500;
const READ_PAUSE_MS = 100;
/** A change of track causes some five signals and a reading, and becomes one event. */
const GATHER_MS = 50;
/** While it plays: how often to check whether the clock was set, by which clients extrapolate. */
const CLOCK_CHECK_MS = 30_000;
/** A player owns its name before it answers, so a first reading that fails is not logged. */
const LOGGED_AFTER_FAILURES = 2;
/** A signal with one of these is a reason to read the position. */
const POSITION_PROPERTIES = ['Metadata', 'PlaybackStatus'] as const;

/**
 * The connection of a player, in the bus's words. `pid` is undefined if it is unknown, as for a process of
 * another container.
 */
interface Connection {
  readonly busName: string;
  readonly owner: string;
  readonly pid: number | undefined;
  /** True if it was on the bus before the backend: if it plays then, it has not just begun. */
  readonly wasThere: boolean;
}

/** Receives the events of a player that its record does not have. */
interface PlayerListener {
  /** Called each time that the player cannot be read. */
  readonly unlisted: (reason: string) => void;
  /** Called when it has begun to play, once the record of that is published. */
  readonly began: (player: Player) => void;
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
  /** Reads the properties, again each time when the facts may be outdated. */
  readonly readings: RepeatedReading;
  #facts: PlayerFacts = NOTHING_KNOWN;
  readonly #reckonedPosition: ReckonedPosition;
  /**
   * Resolves when it is known whether this is only a stand-in for other players; if so, it is stopped by
   * then.
   */
  readonly #standInChecked: Promise<void>;
  readonly #listener: PlayerListener;
  /** True once the properties have been read. */
  isKnown = false;
  readonly #wasThere: boolean;
  /** True if it has begun to play since its record was last published. */
  #hasBegun = false;

  constructor(
    { busName, owner, pid, wasThere }: Connection,
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
    this.#wasThere = wasThere;
    this.#reckonedPosition = new ReckonedPosition(clock, () => this.readings.again());
    // It subscribes first, and then reads: a signal in between causes another reading.
    this.#signals = new PlayerSignals(owner, bus, clock, () => {
      this.readings.again();
      this.tracklist.readings.again();
    });
    this.tracklist = new Tracklist(owner, bus, clock, () => this.#changed());
    this.#standInChecked = this.#checkStandIn();
    this.readings = new RepeatedReading(clock, READ_PAUSE_MS, () => this.#read());
  }

  get facts(): PlayerFacts {
    return this.#facts;
  }

  get plays(): boolean {
    return playbackStatus(this.#facts) === 'Playing';
  }

  /**
   * Reads all properties again and publishes them, and the tracklist too if the caller needs it. False if the
   * player did not answer.
   */
  async readAll(withTracks: boolean): Promise<boolean> {
    const readings = withTracks ? [this.readings, this.tracklist.readings] : [this.readings];
    const answers = await Promise.all(readings.map((each) => each.next()));
    this.publishNow();
    return answers.every((isAnswered) => isAnswered);
  }

  /** The present position in microseconds; the reckoned one if it cannot be read. */
  async readPosition(): Promise<number | undefined> {
    const read = await this.#bus.call(this.#methods.get, [PLAYER_INTERFACE, 'Position'], CALL_OPTIONS);
    const positionUs = read.ok ? positionIn({ Position: read.value }) : undefined;
    return positionUs ?? this.#reckonedPosition.current()?.positionUs;
  }

  publishNow(): void {
    // A command may still wait for a reading of a player that has left.
    if (!this.isKnown || this.readings.isStopped) return;
    this.#timers.cancel('gather');
    this.published.publish({
      record: this.#record(),
      jumps: this.#reckonedPosition.jumps,
      tracks: this.tracklist.reading?.json,
      position: () => this.#position(),
    });
    const begins = this.#hasBegun && this.plays;
    this.#hasBegun = false;
    if (begins) this.#listener.began(this);
    if (!this.plays || this.#timers.has('clock')) return;
    this.#timers.set('clock', CLOCK_CHECK_MS, () => {
      // The text differs only if the clock was set, because the record then takes a new anchor.
      if (this.plays) this.publishNow();
    });
  }

  #changed(): void {
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

  #position(): PlayerPosition | undefined {
    const current = this.#reckonedPosition.current();
    if (current === undefined) return undefined;
    return { bus_name: this.busName, position: current.positionUs, emitted_at: Math.round(current.date) };
  }

  /** Applies a signal of its connection; the match rule excludes other objects. */
  applySignal(signal: Signal): void {
    if (!this.#signals.admits()) return;
    this.tracklist.applySignal(signal);
    const seeked = signalValues(SEEKED, signal);
    const changed = signalValues(PROPERTIES_CHANGED, signal);
    if (seeked === undefined && changed === undefined) return;
    if (this.readings.isUnderWay) this.readings.again();
    if (seeked !== undefined) this.#reckonedPosition.jumped(positionIn({ Position: seeked[0] }));
    if (changed !== undefined) this.#propertiesChanged(...changed);
    this.#changed();
  }

  /** To be called when the name has another owner, or none. */
  stop(): void {
    this.#timers.cancelAll();
    this.#reckonedPosition.stop();
    this.tracklist.readings.stop();
    this.readings.stop();
    this.#signals.stop();
  }

  #propertiesChanged(iface: string, changed: PropertyRecord, invalidated: readonly string[]): void {
    if (iface === ROOT_INTERFACE) this.#facts = withRootProperties(this.#facts, changed);
    else if (iface === PLAYER_INTERFACE) this.#setFacts(withPlayerProperties(this.#facts, changed));
    else return;
    // The values may be the same as before although the position is another: a track begins again, or a track
    // without an id follows another.
    const isAboutPosition = POSITION_PROPERTIES.some((name) => Object.hasOwn(changed, name));
    if (invalidated.length > 0 || isAboutPosition || this.#reckonedPosition.isUnreliable)
      this.readings.again();
  }

  #setFacts(facts: PlayerFacts): void {
    const before = this.#facts;
    const played = this.plays;
    this.#facts = facts;
    if (this.plays && !played && (this.isKnown || !this.#wasThere)) this.#hasBegun = true;
    this.#reckonedPosition.factsChanged(before, facts);
    // VLC 3.0 completes its list when another track begins, or a track's title when it plays, and sends no
    // signal of the list for that.
    const hasNewTexts = JSON.stringify(before.metadata.texts) !== JSON.stringify(facts.metadata.texts);
    if (hasNewTexts && this.tracklist.reading !== undefined) this.tracklist.readings.again();
  }

  /** Stops for good if this is only a stand-in for other players. */
  async #checkStandIn(): Promise<void> {
    if (!(await isStandIn(this.#bus, this.#methods))) return;
    this.stop();
    this.isKnown = false;
    this.published.drop();
  }

  /** True if the Player interface answered; a player without the root interface is accepted. */
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
    // Properties that are missing now no longer exist.
    if (root.ok) this.#facts = withRootProperties({ ...this.#facts, root: {} }, root.value);
    this.#setFacts(withPlayerProperties({ ...NOTHING_KNOWN, root: this.#facts.root }, player.value));
    this.#reckonedPosition.applyReading(positionIn(player.value));
    // It waits after the reading is applied: otherwise the reading would overwrite a change from the wait.
    if (!this.isKnown) {
      const others = Promise.all([this.tracklist.readings.first, this.#standInChecked]);
      await within(this.#clock, TRACKLIST_WAIT_MS, others);
    }
    if (this.readings.isStopped) return false;
    this.isKnown = true;
    this.#changed();
    return true;
  }

  /** Logs once that the player cannot be read, unless it has left. */
  #readingFailed(error: BusError): void {
    const isOften = this.readings.failures + 1 >= LOGGED_AFTER_FAILURES;
    if (!this.isKnown && isOften && !isAbsence(error)) this.#listener.unlisted(sentence(error));
  }
}
