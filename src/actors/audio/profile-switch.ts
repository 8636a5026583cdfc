// Decides when a card has switched its profile: PulseAudio has made the new outputs before it replies,
// PipeWire makes them later, one after the other. It reads nothing.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundState } from './state.js';

export interface DesiredProfile {
  readonly card: number;
  readonly profile: string;
  /** The streams that had a sink before. The others wait for something else. */
  readonly streams: ReadonlySet<number>;
  /** The end of the command's time, on the monotonic clock. */
  readonly latest: number;
}

/** PipeWire before 1.5.82 may not announce that a card has a new profile. */
const READ_AGAIN_MS = 100;

/** To be called before the profile is set. `latest`: when the command must end, by the monotonic clock. */
export function desiredProfile(
  state: SoundState,
  card: number,
  profile: string,
  latest: number,
): DesiredProfile {
  return { card, profile, streams: streamsWithSink(state), latest };
}

function streamsWithSink({ inputs, sinks }: SoundState): ReadonlySet<number> {
  return new Set([...inputs].flatMap(([index, { info }]) => (sinks.has(info.sink ?? -1) ? [index] : [])));
}

/** True if the card has the profile and its outputs, and every stream has one to play to. */
function isReached(state: SoundState, { card, profile, streams }: DesiredProfile): boolean {
  const info = state.cards.get(card);
  if (info === undefined) return true;
  const desired = info.profiles.find(({ name }) => name === profile)?.sinks;
  const made = [...state.sinks.values()].filter((sink) => sink.info.card === card).length;
  if (info.activeProfile !== profile || made !== desired) return false;
  if (state.sinks.size === 0) return true;
  const settled = streamsWithSink(state);
  return (
    state.defaultSink() !== undefined &&
    [...state.inputs.keys()].every((index) => !streams.has(index) || settled.has(index))
  );
}

/** One switch, from the server's reply until it is complete, or until `limitMs` have passed. */
export class ProfileSwitch {
  /** Resolves when the switch is over, in one way or the other. */
  readonly over: Promise<void>;
  readonly #state: SoundState;
  readonly #desired: DesiredProfile;
  readonly #readAgain: () => void;
  readonly #timers: Timers<'deadline' | 'reading'>;
  #isOver = false;
  #resolveOver = (): void => undefined;

  /** `readAgain` is called now and then until the switch is over. */
  constructor(
    state: SoundState,
    desired: DesiredProfile,
    clock: Clock,
    limitMs: number,
    readAgain: () => void,
  ) {
    this.#state = state;
    this.#desired = desired;
    this.#readAgain = readAgain;
    this.#timers = new Timers(clock);
    this.over = new Promise((resolve) => {
      this.#resolveOver = resolve;
    });
    const waitMs = Math.max(0, Math.min(limitMs, desired.latest - clock.monotonic()));
    this.#timers.set('deadline', waitMs, () => this.end());
    this.#readLater();
  }

  end(): void {
    this.#isOver = true;
    this.#timers.cancelAll();
    this.#resolveOver();
  }

  /** To be called when something has been read. Ends a switch that is complete. */
  isStillGoing(): boolean {
    if (!this.#isOver && isReached(this.#state, this.#desired)) this.end();
    return !this.#isOver;
  }

  #readLater(): void {
    this.#timers.set('reading', READ_AGAIN_MS, () => {
      this.#readLater();
      this.#readAgain();
    });
  }
}
