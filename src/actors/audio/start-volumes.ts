// Decides when an output gets its configured start volume: soon after it first appears in a life of the sound
// server (docs/configuration.md, "The volume at the start").

import { type Clock, Timers } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { KnownOutputs } from './known-outputs.js';
import type { SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { type WishSettings, wishFor } from './wishes.js';

/**
 * The start volume is set this long after the output has appeared. PipeWire restores a stored volume up to
 * 20 ms after the announcement of the output, and even later on a slow board. The stored volume would replace
 * a start volume that was set earlier.
 */
const SET_AFTER_MS = 400;

interface StartVolumesContext {
  readonly state: SoundState;
  readonly wishes: WishSettings;
  readonly knownOutputs: KnownOutputs;
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly run: (command: SoundCommand) => Promise<Answer>;
}

/** Each connection has its own `StartVolumes`. */
export class StartVolumes {
  readonly #context: StartVolumesContext;
  /** By the index of the output. */
  readonly #timers: Timers<`${number}`>;
  /**
   * The names of the outputs at the last call of `#setTimers`. If an index has another name now, another
   * output is at this index.
   */
  #nameByIndex = new Map<number, string>();
  #hasEnded = false;

  constructor(context: StartVolumesContext) {
    this.#context = context;
    this.#timers = new Timers(context.clock);
  }

  /** To be called when outputs have come or gone, and all of them have been read. */
  update(): void {
    const { state, knownOutputs } = this.#context;
    const { server } = state;
    if (server === undefined) return;
    // `knownOutputs` may first have to read its names from a file.
    void knownOutputs.enterLife(server.cookie).then(() => {
      if (!this.#hasEnded) this.#setTimers();
    });
  }

  /**
   * To be called when the connection has ended. An output that still waits for its start volume gets it on
   * the next connection.
   */
  end(): void {
    this.#hasEnded = true;
    this.#timers.cancelAll();
  }

  /**
   * Sets a timer for each output that is new since the last call and still lacks its start volume. Other new
   * outputs get no timer, and are put into `knownOutputs` at once. Cancels the timers of outputs that are
   * gone.
   */
  #setTimers(): void {
    const { state, wishes, knownOutputs } = this.#context;
    const before = this.#nameByIndex;
    this.#nameByIndex = new Map([...state.sinks].map(([index, { info }]) => [index, info.name]));
    for (const [index, name] of before)
      if (this.#nameByIndex.get(index) !== name) this.#timers.cancel(`${index}`);
    const appeared = [...this.#nameByIndex].filter(([index, name]) => before.get(index) !== name);
    const namesWithoutTimer: string[] = [];
    for (const [index, name] of appeared) {
      const volume = wishFor(wishes, name).startVolume;
      if (volume === undefined || knownOutputs.has(name)) namesWithoutTimer.push(name);
      else this.#timers.set(`${index}`, SET_AFTER_MS, () => void this.#setVolume(index, name, volume));
    }
    knownOutputs.add(namesWithoutTimer);
  }

  async #setVolume(index: number, name: string, volume: number): Promise<void> {
    const { knownOutputs, log, run } = this.#context;
    const answer = await run({ do: 'start-volume', output: String(index), volume });
    if (this.#hasEnded) return;
    // The output is put into `knownOutputs` even if the command has failed, so that the command is not tried
    // again.
    knownOutputs.add([name]);
    if (answer.ok) log('info', 'an output has got its start volume', { output: name, volume });
    else log('warn', 'an output has not got its start volume', { output: name, why: answer.error.detail });
  }
}
