// Finds the sinks that the sound server has set above their volume limit. The server stores a volume for
// each port and profile, and may restore it by itself after a command. Volumes that others set are left
// alone, so only the sinks of a recent command are checked, and those of Bluetooth devices that have just
// appeared. Pure: it sends nothing.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import { rootOf } from './masters.js';
import { passthroughOn } from './passthrough.js';
import type { Setting } from './setting-plan.js';
import type { SoundState } from './state.js';

/**
 * How long after a command the server may still restore a volume. WirePlumber does so within 0.1 s.
 */
const RESTORING_MS = 1_000;

/**
 * Attempts to set the sinks of one command back. With a coarse mixer, for example, they may never get down
 * to the limit.
 */
const TRIES_MAX = 8;

/**
 * At most this many commands are watched, each until `RESTORING_MS` after its end. One more replaces the
 * oldest that has ended.
 */
const WATCHED_MAX_COMMANDS = 32;

const BLUETOOTH_NAME = /^bluez_(?:output|sink)\./;

/**
 * By index: the sinks of a card, or the sink `root`, which is no filter, and all filters that play to it.
 */
type WatchedSinks = { readonly card: number } | { readonly root: number };

interface WatchedCommand {
  readonly sinks: WatchedSinks;
  /** Sinks that others had set above their limit before the command. */
  readonly exempt: ReadonlySet<number>;
  /** In ms, by the guard's clock; infinite while the command is under way. */
  until: number;
  tries: number;
}

export class LimitGuard {
  readonly #state: SoundState;
  readonly #now: () => number;
  #watched: WatchedCommand[] = [];
  /** Sinks that were there at the last check; undefined before the first one. */
  #sinksBefore: ReadonlySet<number> | undefined;
  /** Sinks that are being set back now. */
  readonly #beingSetBack = new Set<number>();

  /** `now`: milliseconds of any monotonic clock. */
  constructor(state: SoundState, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  /**
   * To be called before the command is sent. Returns the function to call when the command has ended; a
   * command that has failed is watched no longer.
   */
  watch(setting: Setting): (hasSucceeded: boolean) => void {
    const sinks = this.#changedBy(setting);
    if (sinks === undefined) return () => undefined;
    // A new port or profile has a stored volume of its own. A volume that others set on the old one exempts
    // nothing.
    const isNewVolume = setting.command === 'SET_SINK_PORT' || setting.command === 'SET_CARD_PROFILE';
    const exempt = new Set(isNewVolume ? [] : this.#aboveLimit(sinks).map(({ index }) => index));
    const watched = this.#add(sinks, exempt, Number.POSITIVE_INFINITY);
    return (hasSucceeded) => {
      watched.until = hasSucceeded ? this.#now() + RESTORING_MS : 0;
    };
  }

  /**
   * Returns the sinks to set back now. `settle` must be called for each of them. To be called when something
   * has been read.
   */
  takeSinks(): readonly SinkInfo[] {
    this.#watchAppeared();
    if (this.#watched.length === 0) return [];
    const now = this.#now();
    this.#watched = this.#watched.filter(({ until }) => until >= now);
    const found = new Set<SinkInfo>();
    for (const watched of this.#watched) {
      const above = this.#aboveLimit(watched.sinks).filter(
        ({ index }) => !watched.exempt.has(index) && !this.#beingSetBack.has(index),
      );
      if (above.length === 0 || watched.tries >= TRIES_MAX) continue;
      watched.tries += 1;
      for (const sink of above) found.add(sink);
    }
    for (const { index } of found) this.#beingSetBack.add(index);
    return [...found];
  }

  /** To be called when a sink has been set back, or could not be. */
  settle(index: number): void {
    this.#beingSetBack.delete(index);
  }

  /**
   * Watches the outputs of Bluetooth devices that have appeared, because the sound server gives them the
   * volume that it has stored. No command of this backend makes them appear: they come by another backend,
   * or by themselves.
   */
  #watchAppeared(): void {
    const { sinks } = this.#state;
    const before = this.#sinksBefore;
    this.#sinksBefore = new Set(sinks.keys());
    if (before === undefined) return;
    for (const [index, { info }] of sinks) {
      if (before.has(index) || !isOfBluetooth(info)) continue;
      this.#add({ root: rootOf(this.#state, info).index }, new Set(), this.#now() + RESTORING_MS);
    }
  }

  #add(sinks: WatchedSinks, exempt: ReadonlySet<number>, until: number): WatchedCommand {
    const watched: WatchedCommand = { sinks, exempt, until, tries: 0 };
    if (this.#watched.length >= WATCHED_MAX_COMMANDS) this.#watched.splice(this.#leastNeeded(), 1);
    this.#watched.push(watched);
    return watched;
  }

  /**
   * The position of the oldest command that has ended. A command under way has not had its time for checks,
   * so it goes only if all are under way.
   */
  #leastNeeded(): number {
    return Math.max(
      0,
      this.#watched.findIndex(({ until }) => Number.isFinite(until)),
    );
  }

  /** The sinks whose volume the server may restore after a command; undefined if it restores none. */
  #changedBy({ command, args }: Setting): WatchedSinks | undefined {
    if (command === 'SET_CARD_PROFILE') return { card: args.index };
    if (command === 'SET_SINK_PORT') return this.#rootAt(args.index);
    if (command === 'MOVE_SINK_INPUT') return this.#rootAt(args.sink);
    return undefined;
  }

  #rootAt(index: number | undefined): WatchedSinks | undefined {
    const info = index === undefined ? undefined : this.#state.sinks.get(index)?.info;
    return info && { root: rootOf(this.#state, info).index };
  }

  /** Those of the sinks that are above their limit. A sink with a passthrough stream has no volume. */
  #aboveLimit(watched: WatchedSinks): SinkInfo[] {
    const { sinks, sinkInputs, limits } = this.#state;
    return [...sinks.values()]
      .map(({ info }) => info)
      .filter((info) => limits.isExceeded(info) && passthroughOn(sinkInputs, info.index) === undefined)
      .filter((info) => {
        const root = rootOf(this.#state, info);
        return 'card' in watched ? root.card === watched.card : root.index === watched.root;
      });
  }
}

/** By PulseAudio's property, by PipeWire's, or by the name that both give. */
function isOfBluetooth({ name, props }: SinkInfo): boolean {
  return (
    props['device.bus'] === 'bluetooth' ||
    props['api.bluez5.address'] !== undefined ||
    BLUETOOTH_NAME.test(name)
  );
}
