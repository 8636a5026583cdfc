// Finds sinks that the sound server may have set above their volume limit. The server may do so after a
// command, and when an output of a Bluetooth device or of a new profile appears. At other times, volumes
// above the limit are left alone. Pure: limit-keeper.ts sets the sinks back.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import { rootOf } from './masters.js';
import { passthroughOn } from './passthrough.js';
import type { Setting } from './setting-plan.js';
import type { SoundState } from './state.js';

/**
 * The server may restore a stored volume at most this long after a command, and after an output of a
 * Bluetooth device appears. WirePlumber does so within 0.1 s.
 */
const RESTORING_MS = 1_000;
/** The same time after a switch of a port or a profile, and after an output of a new profile appears. */
const SWITCH_RESTORING_MS = 5_000;
/**
 * The outputs of a new profile appear at most this long after the switch. On a board with a slow core,
 * PipeWire makes them seconds after its reply.
 */
const NEW_OUTPUTS_MS = 30_000;

/**
 * The sinks of one watch (`LimitWatch`) are set back at most this many times. If their mixer has few steps,
 * for example, they may never get down to the limit.
 */
const TRIES_MAX = 8;

/**
 * There are at most this many watches. Each is for a recent command, or for a new output of a Bluetooth
 * device or of a new profile. A further watch replaces an older one.
 */
const WATCHES_MAX = 32;

/** Matches `bluez_output.AA_BB_CC_DD_EE_FF.1` of PipeWire and `bluez_sink.AA_BB_…` of PulseAudio. */
const BLUETOOTH_NAME = /^bluez_(?:output|sink)\./;

/**
 * `card`: the sinks of the card with this index. `root`: the sink with this index. In both cases, the filters
 * that play to these sinks are watched, too. `rootOf` finds the sink to which a filter plays in the end.
 */
type WatchedSinks = { readonly card: number } | { readonly root: number };

/** The sinks are checked at each reading until `untilMs`. */
interface LimitWatch {
  readonly sinks: WatchedSinks;
  /** The indices of the sinks that were above their limit before the command. They are left alone. */
  readonly exemptSinks: ReadonlySet<number>;
  /** The end of the watch in ms, by the guard's clock; infinite while the command is under way. */
  untilMs: number;
  tries: number;
}

/**
 * The server stores a volume for each port and profile, and may restore it after a command. It may also
 * raise a sink to which a stream is moved (docs/http-api.md, "Volume and balance"). So this class checks the
 * sinks of recent commands, and new sinks of Bluetooth devices and of new profiles.
 */
export class LimitGuard {
  readonly #state: SoundState;
  readonly #now: () => number;
  #watches: LimitWatch[] = [];
  /** The indices of the sinks at the last call of `takeSinks`; undefined before the first call. */
  #sinksBefore: ReadonlySet<number> | undefined;
  /**
   * Each key is the index of a card whose profile was switched. Its value is the time until which the new
   * outputs of the card may appear.
   */
  readonly #switchedCards = new Map<number, number>();
  /** The indices of the sinks that are being set back now. */
  readonly #beingSetBack = new Set<number>();

  /** `now`: milliseconds of any monotonic clock. */
  constructor(state: SoundState, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  /**
   * To be called before the command is sent. Returns the function to call when the command has ended. A
   * command that has failed is not watched any longer.
   */
  watch(setting: Setting): (hasSucceeded: boolean) => void {
    const sinks = this.#sinksAffectedBy(setting);
    if (sinks === undefined) return () => undefined;
    // A new port or profile has a stored volume of its own, so no earlier volume exempts the sink.
    const isSwitch = setting.command === 'SET_SINK_PORT' || setting.command === 'SET_CARD_PROFILE';
    const sinksAbove = isSwitch ? [] : this.#sinksAboveLimit(sinks);
    const exemptSinks = new Set(sinksAbove.map(({ index }) => index));
    const watch = this.#addWatch(sinks, exemptSinks, Number.POSITIVE_INFINITY);
    return (hasSucceeded) => {
      const now = this.#now();
      const restoringMs = isSwitch ? SWITCH_RESTORING_MS : RESTORING_MS;
      watch.untilMs = hasSucceeded ? now + restoringMs : 0;
      if (hasSucceeded && 'card' in sinks) this.#switchedCards.set(sinks.card, now + NEW_OUTPUTS_MS);
    };
  }

  /**
   * To be called when something has been read. Returns the sinks to set back now. `settle` must be called
   * for each of them.
   */
  takeSinks(): readonly SinkInfo[] {
    this.#watchNewSinks();
    if (this.#watches.length === 0) return [];
    const now = this.#now();
    this.#watches = this.#watches.filter(({ untilMs }) => untilMs >= now);
    const toSetBack = new Set<SinkInfo>();
    for (const watch of this.#watches) {
      const sinksAbove = this.#sinksAboveLimit(watch.sinks).filter(
        ({ index }) => !watch.exemptSinks.has(index) && !this.#beingSetBack.has(index),
      );
      if (sinksAbove.length === 0 || watch.tries >= TRIES_MAX) continue;
      watch.tries += 1;
      for (const sink of sinksAbove) toSetBack.add(sink);
    }
    for (const { index } of toSetBack) this.#beingSetBack.add(index);
    return [...toSetBack];
  }

  /** To be called when a sink has been set back, or could not be. */
  settle(index: number): void {
    this.#beingSetBack.delete(index);
  }

  /**
   * Watches new outputs of Bluetooth devices and of new profiles, because the server restores their stored
   * volume. The output of a Bluetooth device may appear by itself, or by a command of another backend. In
   * both cases nobody has called `watch`.
   */
  #watchNewSinks(): void {
    const { sinks } = this.#state;
    const before = this.#sinksBefore;
    this.#sinksBefore = new Set(sinks.keys());
    // At the first check no sink is known to be new.
    if (before === undefined) return;
    const now = this.#now();
    for (const [card, untilMs] of this.#switchedCards) if (untilMs < now) this.#switchedCards.delete(card);
    for (const [index, { info }] of sinks) {
      if (before.has(index)) continue;
      const watchedSinks = { root: rootOf(this.#state, info).index };
      const isOfNewProfile = info.card !== undefined && this.#switchedCards.has(info.card);
      if (isOfNewProfile) this.#addWatch(watchedSinks, new Set(), now + SWITCH_RESTORING_MS);
      else if (isOfBluetooth(info)) this.#addWatch(watchedSinks, new Set(), now + RESTORING_MS);
    }
  }

  #addWatch(sinks: WatchedSinks, exemptSinks: ReadonlySet<number>, untilMs: number): LimitWatch {
    const watch: LimitWatch = { sinks, exemptSinks, untilMs, tries: 0 };
    if (this.#watches.length >= WATCHES_MAX) this.#watches.splice(this.#positionToReplace(), 1);
    this.#watches.push(watch);
    return watch;
  }

  /**
   * The position of the oldest watch that has an end. A watch without an end is kept longer, because its
   * command is still under way, and the server restores volumes after the command.
   */
  #positionToReplace(): number {
    const oldestWithEnd = this.#watches.findIndex(({ untilMs }) => Number.isFinite(untilMs));
    // `oldestWithEnd` is -1 if no watch has an end. Then the result is 0, the position of the oldest watch.
    return Math.max(0, oldestWithEnd);
  }

  /** The sinks whose volume the server may raise after a command; undefined if it raises none. */
  #sinksAffectedBy({ command, args }: Setting): WatchedSinks | undefined {
    if (command === 'SET_CARD_PROFILE') return { card: args.index };
    if (command === 'SET_SINK_PORT') return this.#rootOfSinkAt(args.index);
    if (command === 'MOVE_SINK_INPUT') return this.#rootOfSinkAt(args.sink);
    return undefined;
  }

  #rootOfSinkAt(index: number | undefined): WatchedSinks | undefined {
    const info = index === undefined ? undefined : this.#state.sinks.get(index)?.info;
    return info === undefined ? undefined : { root: rootOf(this.#state, info).index };
  }

  /**
   * The watched sinks that are above their limit. A sink with a passthrough stream is left out, because it
   * has no volume.
   */
  #sinksAboveLimit(watchedSinks: WatchedSinks): SinkInfo[] {
    const { sinks, sinkInputs, limits } = this.#state;
    const isAboveLimit = (info: SinkInfo): boolean =>
      limits.isExceeded(info) && passthroughOn(sinkInputs, info.index) === undefined;
    const isWatched = (info: SinkInfo): boolean => {
      const root = rootOf(this.#state, info);
      return 'card' in watchedSinks ? root.card === watchedSinks.card : root.index === watchedSinks.root;
    };
    return [...sinks.values()]
      .map(({ info }) => info)
      .filter((info) => isAboveLimit(info) && isWatched(info));
  }
}

function isOfBluetooth({ name, props }: SinkInfo): boolean {
  const isMarkedByPulseAudio = props['device.bus'] === 'bluetooth';
  const isMarkedByPipeWire = props['api.bluez5.address'] !== undefined;
  return isMarkedByPulseAudio || isMarkedByPipeWire || BLUETOOTH_NAME.test(name);
}
