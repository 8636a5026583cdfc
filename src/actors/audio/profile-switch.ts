// Decides when a card has switched its profile: PulseAudio has made the new outputs before it replies, and
// PipeWire makes them later, one after the other. It reads nothing itself.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundState } from './state.js';

export interface DesiredProfile {
  readonly card: number;
  readonly profile: string;
  /** The streams that had a sink before, by index: these must have one again. */
  readonly streams: ReadonlySet<number>;
  /** The end of the command's time, on the monotonic clock. */
  readonly latest: number;
}

/**
 * Everything is read again after each such pause, because PipeWire before 1.5.82 may not announce a card's
 * new profile.
 */
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

function streamsWithSink({ sinkInputs, sinks }: SoundState): ReadonlySet<number> {
  const streams = [...sinkInputs.values()].filter(({ info }) => sinks.has(info.sink ?? -1));
  return new Set(streams.map(({ info }) => info.index));
}

/**
 * True if the card has the profile and all outputs of it, and there is a default output, and every stream
 * that had an output has one again. Also true if the card is gone. Default and streams do not count if there
 * is no output at all.
 */
function isReached(state: SoundState, { card, profile, streams }: DesiredProfile): boolean {
  const info = state.cards.get(card);
  if (info === undefined) return true;
  const sinkCount = info.profiles.find(({ name }) => name === profile)?.sinks;
  const sinksOfCard = [...state.sinks.values()].filter((sink) => sink.info.card === card);
  if (info.activeProfile !== profile || sinksOfCard.length !== sinkCount) return false;
  if (state.sinks.size === 0) return true;
  const streamsNow = streamsWithSink(state);
  const streamsToMove = [...state.sinkInputs.keys()].filter((index) => streams.has(index));
  return state.defaultSink() !== undefined && streamsToMove.every((index) => streamsNow.has(index));
}

/** One switch, from the server's reply until it is complete, or until `limitMs` have passed. */
export class ProfileSwitch {
  /** Resolves when the switch is complete, has taken too long, or the connection has ended. */
  readonly ended: Promise<void>;
  readonly #state: SoundState;
  readonly #desired: DesiredProfile;
  readonly #readAgain: () => void;
  readonly #timers: Timers<'deadline' | 'reading'>;
  #hasEnded = false;
  #resolveEnded = (): void => undefined;

  /** `readAgain` is called every `READ_AGAIN_MS` until the switch has ended. */
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
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    const waitMs = Math.max(0, Math.min(limitMs, desired.latest - clock.monotonic()));
    this.#timers.set('deadline', waitMs, () => this.end());
    this.#readLater();
  }

  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
    this.#resolveEnded();
  }

  /** To be called when something has been read. Ends a switch that is complete. */
  isStillGoing(): boolean {
    if (!this.#hasEnded && isReached(this.#state, this.#desired)) this.end();
    return !this.#hasEnded;
  }

  #readLater(): void {
    this.#timers.set('reading', READ_AGAIN_MS, () => {
      this.#readLater();
      this.#readAgain();
    });
  }
}
