// Carries out commands, one after another, and turns what the sound server says about them into answers. What a command
// means is decided in commands.ts; reading is the connection's work.

import type { Answer } from '../../protocol/actor/commands.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, Result } from '../../protocol/pulse/outcome.js';
import { missingFault, planCommand, type Setting, type SoundCommand } from './commands.js';
import type { Read } from './refetch.js';
import { SerialQueue } from './serial-queue.js';
import type { SoundState } from './state.js';

/** Commands that wait for their turn; the runtime admits no more at a time. */
const COMMANDS_MAX_WAITING = 256;

/** A command that has waited so long is not sent any more: whoever asked has been told that it timed out. */
const COMMAND_WAIT_MAX_MS = 9_000;

const OK: Answer = { ok: true };

/** What commands need of a connection. */
export interface Performer {
  readonly state: SoundState;
  send(setting: Setting): Promise<Result<unknown>>;
  /** Resolves when a read that began after this call has ended, or will not happen any more. */
  readAgain(read: Read): Promise<void>;
  /** Without an answer there is no telling what else is lost: the connection is over. */
  giveUp(command: RequestName, error: RequestError): void;
}

export class Executor {
  readonly #performer: Performer;
  readonly #queue = new SerialQueue(COMMANDS_MAX_WAITING);

  constructor(performer: Performer) {
    this.#performer = performer;
  }

  /**
   * Answers when the server has accepted the command and what it changed has been read again. One command at a time:
   * each is planned from what the one before it did, so that steps add up and toggles cancel out.
   */
  async run(command: SoundCommand): Promise<Answer> {
    const latest = performance.now() + COMMAND_WAIT_MAX_MS;
    const turn = async (): Promise<Answer> => {
      if (performance.now() < latest) return this.#carryOut(command);
      return { ok: false, fault: 'timeout', detail: 'the commands before this one took too long' };
    };
    const full: Answer = { ok: false, fault: 'unavailable', detail: 'too many commands are waiting' };
    return this.#queue.add(turn) ?? full;
  }

  async #carryOut(command: SoundCommand): Promise<Answer> {
    const { state } = this.#performer;
    const plan = planCommand(state, command);
    if (plan.kind === 'nothing') return OK;
    if (plan.kind === 'fault') return { ok: false, ...plan.fault };
    const result = await this.#performer.send(plan.setting);
    const missing = !result.ok && result.error.kind === 'server' && result.error.name === 'NOENTITY';
    if (result.ok || missing) await this.#performer.readAgain(plan.after);
    if (result.ok) return OK;
    if (missing) return { ok: false, ...missingFault(state, command) };
    return this.#failure(plan.setting.command, result.error);
  }

  #failure(command: RequestName, error: RequestError): Answer {
    switch (error.kind) {
      case 'server':
        return {
          ok: false,
          fault: 'refused',
          detail: `the sound server says: ${error.meaning} (${error.name})`,
        };
      case 'timeout':
        this.#performer.giveUp(command, error);
        return { ok: false, fault: 'timeout', detail: 'the sound server did not answer' };
      case 'bad-argument':
        return { ok: false, fault: 'bad-value', detail: error.detail };
      case 'violation':
      case 'closed':
      case 'not-ready':
      case 'overflow':
        return {
          ok: false,
          fault: 'unavailable',
          detail: 'the connection to the sound server has ended',
        };
    }
  }
}
