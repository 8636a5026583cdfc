// Gives an output that appears the volume that the configuration wants for its start, once in a life of the
// sound server (docs/configuration.md, "Audio, players and power"). It does not decide which outputs are new
// (known-outputs.ts).

import { type Clock, Timers } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { Publisher } from '../runtime.js';
import type { KnownOutputs } from './known-outputs.js';
import type { SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { type OutputWishes, wishFor } from './wishes.js';

/**
 * PipeWire restores a stored volume up to 20 ms after it has announced the output, and overwrites a volume
 * that is set before. A board may take longer. To wake the output may take another 250 ms.
 */
const RESTORED_AFTER_MS = 400;

interface StartVolumesContext {
  readonly state: SoundState;
  readonly wishes: OutputWishes;
  readonly knownOutputs: KnownOutputs;
  readonly clock: Clock;
  readonly log: Publisher['log'];
  readonly run: (command: SoundCommand) => Promise<Answer>;
}

/** For one connection. */
export class StartVolumes {
  readonly #context: StartVolumesContext;
  /** By the index of the output. */
  readonly #timers: Timers<`${number}`>;
  /** The names of the outputs that were there at the last reading, by index. */
  #present = new Map<number, string>();
  #isEnded = false;

  constructor(context: StartVolumesContext) {
    this.#context = context;
    this.#timers = new Timers(context.clock);
  }

  /** To be called when all outputs have been read. */
  follow(): void {
    const { state, knownOutputs } = this.#context;
    const { server } = state;
    if (server === undefined) return;
    void knownOutputs.enterLife(server.cookie).then(() => {
      if (!this.#isEnded) this.#awaitAppeared();
    });
  }

  /** To be called when the connection has ended. An output without its volume gets it on the next one. */
  end(): void {
    this.#isEnded = true;
    this.#timers.cancelAll();
  }

  #awaitAppeared(): void {
    const { state, wishes, knownOutputs } = this.#context;
    const before = this.#present;
    this.#present = new Map([...state.sinks].map(([index, { info }]) => [index, info.name]));
    for (const [index, name] of before)
      if (this.#present.get(index) !== name) this.#timers.cancel(`${index}`);
    const appeared = [...this.#present].filter(([index, name]) => before.get(index) !== name);
    for (const [index, name] of appeared) {
      const volume = knownOutputs.has(name) ? undefined : wishFor(wishes, name).startVolume;
      if (volume === undefined) continue;
      this.#timers.set(`${index}`, RESTORED_AFTER_MS, () => void this.#set(index, name, volume));
    }
    knownOutputs.add(appeared.flatMap(([index, name]) => (this.#timers.has(`${index}`) ? [] : [name])));
  }

  async #set(index: number, name: string, volume: number): Promise<void> {
    const { knownOutputs, log, run } = this.#context;
    const answer = await run({ do: 'start-volume', output: String(index), volume });
    if (this.#isEnded) return;
    knownOutputs.add([name]);
    if (answer.ok) log('info', 'an output has got its start volume', { output: name, volume });
    else log('warn', 'an output has not got its start volume', { output: name, why: answer.error.detail });
  }
}
