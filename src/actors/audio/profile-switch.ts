// Decides when the switch of a card's profile is over: PulseAudio switches before it replies, PipeWire afterwards, a node at a time. It
// reads and publishes nothing.

import type { SoundState } from './state.js';

/** Where a card is switched to. */
interface Wanted {
  /** Its index. */
  readonly card: number;
  readonly profile: string;
}

/** True if the card has the profile and its outputs, and every stream has one to play to. */
function isReached(state: SoundState, { card, profile }: Wanted): boolean {
  const info = state.cards.get(card);
  if (info === undefined) return true;
  const wanted = info.profiles.find(({ name }) => name === profile)?.sinks;
  const made = [...state.sinks.values()].filter((sink) => sink.info.card === card).length;
  if (info.activeProfile !== profile || made !== wanted) return false;
  if (state.sinks.size === 0) return true;
  const inputs = [...state.inputs.values()];
  return (
    state.defaultSink() !== undefined && inputs.every(({ info: { sink } }) => state.sinks.has(sink ?? -1))
  );
}

export class ProfileSwitch {
  /** Resolves when it is over, in one way or the other. */
  readonly over: Promise<void>;
  readonly #state: SoundState;
  readonly #wanted: Wanted;
  #end = (): void => undefined;
  #isOver = false;

  /** `late` is called if it is not over within `limitMs`: then it counts as over. */
  constructor(state: SoundState, wanted: Wanted, limitMs: number, late: () => void) {
    this.#state = state;
    this.#wanted = wanted;
    this.over = new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.end();
        late();
      }, limitMs);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** To be asked when something has been read. */
  isStillGoing(): boolean {
    if (!this.#isOver && isReached(this.#state, this.#wanted)) this.end();
    return !this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    this.#end();
  }
}
