// Sets back the outputs that a command, or a Bluetooth device that came, has left above their volume limit,
// by commands that queue with all others, and logs it.

import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { levelOf } from '../../protocol/pulse/volume.js';
import type { Publisher } from '../runtime.js';
import { LimitGuard } from './limit-guard.js';
import type { Setting, SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';

export class LimitKeeper {
  readonly #guard: LimitGuard;
  readonly #run: (command: SoundCommand) => Promise<Answer>;
  readonly #log: Publisher['log'];
  #isEnded = false;

  constructor(
    state: SoundState,
    clock: Pick<Clock, 'monotonic'>,
    run: (command: SoundCommand) => Promise<Answer>,
    log: Publisher['log'],
  ) {
    this.#guard = new LimitGuard(state, clock.monotonic);
    this.#run = run;
    this.#log = log;
  }

  /** To be called when the connection has ended. */
  end(): void {
    this.#isEnded = true;
  }

  /** To be called before a command is sent. Returns the function to call when it has ended. */
  watch(setting: Setting): (isDone: boolean) => void {
    return this.#guard.watch(setting);
  }

  /** To be called when something has been read. */
  keep(): void {
    for (const sink of this.#guard.take()) void this.#setBack(sink);
  }

  async #setBack({ index, name, volume }: SinkInfo): Promise<void> {
    const answer = await this.#run({ do: 'keep-limit', output: String(index) });
    this.#guard.settled(index);
    if (this.#isEnded) return;
    const before = levelOf(volume);
    if (answer.ok) this.#log('info', 'an output was set back to its volume limit', { output: name, before });
    else
      this.#log('warn', 'an output stays above its volume limit', {
        output: name,
        before,
        why: answer.error.detail,
      });
    // The server may have restored its own volume once more before the answer.
    this.keep();
  }
}
