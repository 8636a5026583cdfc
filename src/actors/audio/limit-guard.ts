// Finds the outputs that a command has left above their volume limit: the sound server stores a volume for
// each port and profile, and may restore it by itself. It leaves alone the volumes that others set, so it
// checks only the outputs of a recent command, and those of Bluetooth devices that have just appeared. Pure:
// it sends nothing.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import { rootOf } from './masters.js';
import { passthroughOn } from './passthrough.js';
import type { Setting } from './setting-plan.js';
import type { SoundState } from './state.js';

/**
 * How long after a command the server may still restore a volume. WirePlumber does so within 0.1 s.
 */
const RESTORING_MS = 1_000;

/** Attempts per command. A server with a coarse mixer, for example, may never reach the limit. */
const TRIES_MAX = 8;

/** Commands of the last `RESTORING_MS` whose outputs are watched. One more replaces the oldest. */
const WATCHED_MAX_COMMANDS = 32;

const BLUETOOTH_NAME = /^bluez_(?:output|sink)\./;

/** The outputs of a card, or one with the filters above it. */
type Outputs = { readonly card: number } | { readonly root: number };

interface Watched {
  readonly outputs: Outputs;
  /** Outputs that others had set above their limit before. */
  readonly exempt: ReadonlySet<number>;
  /** By the guard's clock; without end while the command is under way. */
  until: number;
  tries: number;
}

export class LimitGuard {
  readonly #state: SoundState;
  readonly #now: () => number;
  #watched: Watched[] = [];
  /** Outputs that were there at the last check; undefined before the first one. */
  #known: ReadonlySet<number> | undefined;
  /** Outputs that are being set back. */
  readonly #pending = new Set<number>();

  /** `now`: milliseconds of any monotonic clock. */
  constructor(state: SoundState, now: () => number) {
    this.#state = state;
    this.#now = now;
  }

  /** To be called before the command is sent. Returns the function to call when it has ended. */
  watch(setting: Setting): (isDone: boolean) => void {
    const outputs = this.#outputsOf(setting);
    if (outputs === undefined) return () => undefined;
    // The server stores a volume for each port and profile. So the volume that others set before belongs to
    // the old port or profile.
    const isAnother = setting.command === 'SET_SINK_PORT' || setting.command === 'SET_CARD_PROFILE';
    const exempt = new Set(isAnother ? [] : this.#exceeded(outputs).map(({ index }) => index));
    const watched = this.#add(outputs, exempt, Number.POSITIVE_INFINITY);
    return (isDone) => {
      watched.until = isDone ? this.#now() + RESTORING_MS : 0;
    };
  }

  /** Outputs to set back now. To be called when something has been read. */
  take(): readonly SinkInfo[] {
    this.#watchAppeared();
    if (this.#watched.length === 0) return [];
    const now = this.#now();
    this.#watched = this.#watched.filter(({ until }) => until >= now);
    const found = new Set<SinkInfo>();
    for (const watched of this.#watched) {
      const above = this.#exceeded(watched.outputs).filter(
        ({ index }) => !watched.exempt.has(index) && !this.#pending.has(index),
      );
      if (above.length === 0 || watched.tries >= TRIES_MAX) continue;
      watched.tries += 1;
      for (const sink of above) found.add(sink);
    }
    for (const { index } of found) this.#pending.add(index);
    return [...found];
  }

  /** To be called when an output that was taken has been set back, or could not be. */
  settled(index: number): void {
    this.#pending.delete(index);
  }

  /**
   * A Bluetooth device comes by the command of another backend, or by itself, and the sound server gives its
   * output the volume that it has stored.
   */
  #watchAppeared(): void {
    const { sinks } = this.#state;
    const known = this.#known;
    this.#known = new Set(sinks.keys());
    if (known === undefined) return;
    for (const [index, { info }] of sinks) {
      if (known.has(index) || !isOfBluetooth(info)) continue;
      this.#add({ root: rootOf(this.#state, info).index }, new Set(), this.#now() + RESTORING_MS);
    }
  }

  #add(outputs: Outputs, exempt: ReadonlySet<number>, until: number): Watched {
    const watched: Watched = { outputs, exempt, until, tries: 0 };
    this.#watched.push(watched);
    if (this.#watched.length > WATCHED_MAX_COMMANDS) this.#watched.shift();
    return watched;
  }

  #outputsOf({ command, args }: Setting): Outputs | undefined {
    if (command === 'SET_CARD_PROFILE') return { card: args.index };
    if (command === 'SET_SINK_PORT') return this.#rootAt(args.index);
    if (command === 'MOVE_SINK_INPUT') return this.#rootAt(args.sink);
    return undefined;
  }

  #rootAt(index: number | undefined): Outputs | undefined {
    const info = index === undefined ? undefined : this.#state.sinks.get(index)?.info;
    return info && { root: rootOf(this.#state, info).index };
  }

  /** An output under passthrough takes no volume. */
  #exceeded(outputs: Outputs): SinkInfo[] {
    const { sinks, inputs, limits } = this.#state;
    return [...sinks.values()]
      .map(({ info }) => info)
      .filter((info) => limits.isExceeded(info) && passthroughOn(inputs, info.index) === undefined)
      .filter((info) => {
        const root = rootOf(this.#state, info);
        return 'card' in outputs ? root.card === outputs.card : root.index === outputs.root;
      });
  }
}

/** PulseAudio's property and PipeWire's, before the name. */
function isOfBluetooth({ name, props }: SinkInfo): boolean {
  return (
    props['device.bus'] === 'bluetooth' ||
    props['api.bluez5.address'] !== undefined ||
    BLUETOOTH_NAME.test(name)
  );
}
