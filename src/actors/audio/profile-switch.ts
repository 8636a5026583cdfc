// Decides when a card has switched its profile: in PulseAudio before the reply, in PipeWire later, a node at
// a time. It reads nothing.

import type { SoundState } from './state.js';

export interface WantedProfile {
  readonly card: number;
  readonly profile: string;
  /** The streams that had a sink before; the others wait for something else. */
  readonly streams: ReadonlySet<number>;
  /** The end of the command's time, on the monotonic clock. */
  readonly latest: number;
}

/** PipeWire before 1.5.82 may not announce that a card has a new profile. */
const READ_AGAIN_MS = 100;

/** To be called before the profile is set; all of it may take `deadlineMs`. */
export function wantedProfile(
  state: SoundState,
  card: number,
  profile: string,
  deadlineMs: number,
): WantedProfile {
  return { card, profile, streams: streamsWithSink(state), latest: performance.now() + deadlineMs };
}

function streamsWithSink({ inputs, sinks }: SoundState): ReadonlySet<number> {
  return new Set([...inputs].flatMap(([index, { info }]) => (sinks.has(info.sink ?? -1) ? [index] : [])));
}

/** True if the card has the profile and its outputs, and every stream has one to play to. */
function isReached(state: SoundState, { card, profile, streams }: WantedProfile): boolean {
  const info = state.cards.get(card);
  if (info === undefined) return true;
  const wanted = info.profiles.find(({ name }) => name === profile)?.sinks;
  const made = [...state.sinks.values()].filter((sink) => sink.info.card === card).length;
  if (info.activeProfile !== profile || made !== wanted) return false;
  if (state.sinks.size === 0) return true;
  const settled = streamsWithSink(state);
  return (
    state.defaultSink() !== undefined &&
    [...state.inputs.keys()].every((index) => !streams.has(index) || settled.has(index))
  );
}

export type ProfileSwitch = ReturnType<typeof profileSwitch>;

/** After `limitMs` it counts as over. Until then `readAgain` is called now and then. */
export function profileSwitch(
  state: SoundState,
  wanted: WantedProfile,
  limitMs: number,
  readAgain: () => void,
) {
  const ending = new AbortController();
  const { signal } = ending;
  const end = (): void => {
    clearTimeout(timer);
    clearInterval(reading);
    ending.abort();
  };
  const waitMs = Math.max(0, Math.min(limitMs, wanted.latest - performance.now()));
  const timer = setTimeout(end, waitMs);
  const reading = setInterval(readAgain, READ_AGAIN_MS);
  /** Resolves when it is over, in one way or the other. */
  const over = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  /** To be asked when something has been read. */
  const isStillGoing = (): boolean => {
    if (!signal.aborted && isReached(state, wanted)) end();
    return !signal.aborted;
  };
  return { over, end, isStillGoing };
}
