// Decides when a card's switch to another profile is complete. PulseAudio makes the new outputs before it
// replies. PipeWire makes them afterwards, one by one.

import { type Clock, Timers } from '../../host/clock.js';
import type { SoundState } from './state.js';

export interface DesiredProfile {
  readonly card: number;
  readonly profile: string;
  /** The indices of the streams that had a sink before the switch. They must have a sink after it. */
  readonly streams: ReadonlySet<number>;
  /** The time at which the command must end, on the monotonic clock. */
  readonly latestMs: number;
}

/**
 * Everything is read again this often, because PipeWire before 1.5.82 does not announce every new profile.
 */
const READ_AGAIN_MS = 100;

/** To be called before the profile is set. */
export function desiredProfile(
  state: SoundState,
  card: number,
  profile: string,
  latestMs: number,
): DesiredProfile {
  return { card, profile, streams: streamsWithSink(state), latestMs };
}

function streamsWithSink({ sinkInputs, sinks }: SoundState): ReadonlySet<number> {
  const indices = new Set<number>();
  for (const { info } of sinkInputs.values())
    if (info.sink !== undefined && sinks.has(info.sink)) indices.add(info.index);
  return indices;
}

/** True also if the card is gone. */
function isComplete(state: SoundState, { card, profile, streams }: DesiredProfile): boolean {
  const cardInfo = state.cards.get(card);
  if (cardInfo === undefined) return true;
  const expectedSinkCount = cardInfo.profiles.find(({ name }) => name === profile)?.sinks;
  const sinksOfCard = [...state.sinks.values()].filter(({ info }) => info.card === card);
  if (cardInfo.activeProfile !== profile || sinksOfCard.length !== expectedSinkCount) return false;
  // Without sinks, there is nothing more to wait for: neither a default output nor a sink of a stream.
  if (state.sinks.size === 0) return true;
  const streamsWithSinkNow = streamsWithSink(state);
  const remainingStreams = [...streams].filter((index) => state.sinkInputs.has(index));
  const areStreamsOnSinks = remainingStreams.every((index) => streamsWithSinkNow.has(index));
  return state.defaultSink() !== undefined && areStreamsOnSinks;
}

/** One switch, from the server's reply until the switch is complete or its time is over. */
export class ProfileSwitch {
  /** Resolves when the switch is complete or has taken too long, or when the connection has ended. */
  readonly ended: Promise<void>;
  readonly #state: SoundState;
  readonly #desired: DesiredProfile;
  readonly #readAgain: () => void;
  readonly #timers: Timers<'deadline' | 'reading'>;
  #hasEnded = false;
  #resolveEnded = (): void => undefined;

  /**
   * `switchMaxMs` is the longest time that the switch may take. `readAgain` is called every `READ_AGAIN_MS`
   * until the switch has ended.
   */
  constructor(
    state: SoundState,
    desired: DesiredProfile,
    clock: Clock,
    switchMaxMs: number,
    readAgain: () => void,
  ) {
    this.#state = state;
    this.#desired = desired;
    this.#readAgain = readAgain;
    this.#timers = new Timers(clock);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    const waitMs = Math.max(0, Math.min(switchMaxMs, desired.latestMs - clock.monotonic()));
    this.#timers.set('deadline', waitMs, () => this.end());
    this.#readAgainLater();
  }

  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
    this.#resolveEnded();
  }

  /** To be called when something has been read. Returns true if the switch has ended. */
  endIfComplete(): boolean {
    if (!this.#hasEnded && isComplete(this.#state, this.#desired)) this.end();
    return this.#hasEnded;
  }

  #readAgainLater(): void {
    this.#timers.set('reading', READ_AGAIN_MS, () => {
      // The next reading is planned first, because `readAgain` may close the connection, and `end` then
      // cancels the planned reading.
      this.#readAgainLater();
      this.#readAgain();
    });
  }
}
