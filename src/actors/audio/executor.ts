// Carries out commands, one after another but for those whose output sleeps, and turns what the sound server says about them into answers. What a command
// means is decided in commands.ts; reading is the connection's work.

import type { Answer } from '../../protocol/actor/commands.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, Result } from '../../protocol/pulse/outcome.js';
import { missingFault, onSink, planCommand, type Setting, type SoundCommand, sinkOf } from './commands.js';
import type { Read } from './refetch.js';
import type { SoundState } from './state.js';
import type { Waker } from './wake.js';

/** How long a command may take, in ms. */
export interface CommandTiming {
  /** From its arrival to its answer, the wait for its turn included. */
  readonly commandMs: number;
  /** With less than this left a command is not sent any more: its answer could not be waited for. */
  readonly commandLeastMs: number;
  /** Until an output has woken. */
  readonly wakeMs: number;
}

const OK: Answer = { ok: true };
const NO_ANSWER: Answer = { ok: false, fault: 'timeout', detail: 'The sound server did not answer' };
const ENDED: Answer = {
  ok: false,
  fault: 'unavailable',
  detail: 'The connection to the sound server has ended',
};

/** What commands need of a connection. */
export interface Performer {
  readonly state: SoundState;
  /** `changes` is not read meanwhile: `readAgain` is called behind a success. */
  send(setting: Setting, changes: Read, deadlineMs: number): Promise<Result<unknown>>;
  /** Resolves when a read that began after this call has ended, or will not happen any more. */
  readAgain(read: Read): Promise<void>;
  /** As that of `Waker`; `Executor.proceed` is called when it ends. */
  isWaking: Waker['isWaking'];
  /** Without an answer there is no telling what else is lost: the connection is over. */
  giveUp(command: RequestName, error: RequestError): void;
}

interface Waiting {
  readonly command: SoundCommand;
  readonly latest: number;
  readonly settle: (answer: Promise<Answer>) => void;
}

export class Executor {
  readonly #performer: Performer;
  readonly #timing: CommandTiming;
  readonly #now: () => number;
  /** In the order in which they came. How many there may be is bounded by the supervisor. */
  readonly #queue: Waiting[] = [];
  #isBusy = false;

  /** `now`: milliseconds of any monotonic clock. */
  constructor(performer: Performer, timing: CommandTiming, now = () => performance.now()) {
    this.#performer = performer;
    this.#timing = timing;
    this.#now = now;
  }

  /**
   * Answers when the server has accepted the command and what it changed has been read again; an output may have to be woken
   * first. One command at a time: each is planned from what the one before it did, so that steps add up and toggles cancel out.
   */
  run(command: SoundCommand): Promise<Answer> {
    const latest = this.#now() + this.#timing.commandMs;
    return new Promise((settle) => {
      this.#queue.push({ command, latest, settle });
      this.proceed();
    });
  }

  /** Goes on with the first command whose output need not be waited for. */
  proceed(): void {
    if (this.#isBusy) return;
    const at = this.#queue.findIndex((waiting, index) => !this.#mustWait(waiting, index));
    const [next] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (next === undefined) return;
    this.#isBusy = true;
    const answer = this.#carryOut(next.command, next.latest);
    next.settle(answer);
    const over = (): void => {
      this.#isBusy = false;
      this.proceed();
    };
    // A failed command is its caller's business; those behind it go on.
    answer.then(over, over);
  }

  #mustWait({ command, ...waiting }: Waiting, index: number): boolean {
    const sink = sinkOf(this.#performer.state, command);
    if (sink === undefined || !this.#isInTime(waiting.latest) || !this.#performer.isWaking(sink))
      return false;
    // It is overtaken by others, which may make another output the default.
    this.#queue[index] = { ...waiting, command: onSink(command, sink) };
    return true;
  }

  #isInTime(latest: number): boolean {
    return latest - this.#now() >= this.#timing.commandLeastMs;
  }

  /** An output that does not wake is told all the same: it will have what it accepted when it wakes. */
  async #carryOut(command: SoundCommand, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    if (!this.#isInTime(latest))
      return { ok: false, fault: 'timeout', detail: 'The commands before this one took too long' };
    const plan = planCommand(state, command);
    if (plan.kind === 'nothing') return OK;
    if (plan.kind === 'fault') return { ok: false, ...plan.fault };
    const result = await this.#performer.send(plan.setting, plan.after, latest - this.#now());
    const missing = !result.ok && result.error.kind === 'server' && result.error.name === 'NOENTITY';
    if (result.ok && plan.remember !== undefined) state.putBalance(plan.remember.sink, plan.remember.balance);
    if (result.ok || missing) await this.#readAgain(plan.after, latest);
    if (result.ok) return OK;
    if (missing) return { ok: false, ...missingFault(state, command) };
    return this.#failure(plan.setting.command, result.error);
  }

  /** Not beyond the command's time: what the server has said is an answer even if the reading hangs. */
  #readAgain(read: Read, latest: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, latest - this.#now()));
      void this.#performer.readAgain(read).then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #failure(command: RequestName, error: RequestError): Answer {
    switch (error.kind) {
      case 'server':
        return {
          ok: false,
          fault: 'refused',
          detail: `The sound server says: ${error.meaning} (${error.name})`,
        };
      case 'timeout':
        this.#performer.giveUp(command, error);
        return NO_ANSWER;
      case 'bad-argument':
        return { ok: false, fault: 'bad-value', detail: `The value cannot be sent: ${error.detail}` };
      case 'closed':
        // A reading that was asked before us may be the first one to miss its answer.
        return error.reason.kind === 'timeout' ? NO_ANSWER : ENDED;
      case 'violation':
      case 'not-ready':
      case 'overflow':
        return ENDED;
    }
  }
}
