// Lowers sinks to their volume limit by commands. They wait in the same queue as the commands of clients.
// limit-guard.ts decides which sinks are lowered.

import type { Clock } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { loudestFractionOf } from '../../protocol/pulse/volume.js';
import type { Publisher } from '../runtime.js';
import { LimitGuard } from './limit-guard.js';
import type { Setting, SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';

export class LimitKeeper {
  readonly #guard: LimitGuard;
  readonly #run: (command: SoundCommand) => Promise<Answer>;
  readonly #log: Publisher['log'];
  #hasEnded = false;

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
    this.#hasEnded = true;
  }

  /** To be called before a command is sent. Returns the function to call when the command has ended. */
  watch(setting: Setting): (hasSucceeded: boolean) => void {
    return this.#guard.watch(setting);
  }

  /** To be called after each reading. */
  check(): void {
    for (const sink of this.#guard.takeSinks()) void this.#setBack(sink);
  }

  async #setBack({ index, name, volume }: SinkInfo): Promise<void> {
    const answer = await this.#run({ do: 'keep-limit', output: String(index) });
    this.#guard.settle(index);
    if (this.#hasEnded) return;
    const before = loudestFractionOf(volume);
    const fields = { output: name, before };
    if (answer.ok) this.#log('info', 'an output was set back to its volume limit', fields);
    else {
      const why = answer.error.detail;
      this.#log('warn', 'an output stays above its volume limit', { ...fields, why });
    }
    // `check` left this sink out while the command was under way. Meanwhile the server may have restored the
    // sink's stored volume again.
    this.check();
  }
}
