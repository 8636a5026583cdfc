// Runs commands one after another, except that commands for a sleeping output wait while others overtake
// them. Turns the sound server's replies into answers. It does not plan commands (commands.ts does) and reads
// nothing itself (the connection does).

import { type Clock, within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { failed } from '../../protocol/actor/result.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, Result } from '../../protocol/pulse/outcome.js';
import { loudestOf } from '../../protocol/pulse/volume.js';
import { deviceOf, missingFault, onSink, planCommand } from './commands.js';
import type { ReadRequest } from './refetch.js';
import type { Setting, SettingPlan, SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { streamMoves } from './stream-moves.js';
import type { Waker } from './wake.js';

export interface CommandTiming {
  /** From a command's arrival to its answer, including the wait for its turn. */
  readonly commandMs: number;
  /**
   * With less time left than this a command is not sent, because there would be no time to wait for its
   * answer.
   */
  readonly commandLeastMs: number;
  readonly wakeMs: number;
}

/** The readings that check whether an input has become the default, and the pause between them. */
const DEFAULT_TRIES = 10;
const DEFAULT_PAUSE_MS = 100;

const NO_ANSWER = failure('timeout', 'The sound server did not answer');
const ENDED = failure('unavailable', 'The connection to the sound server has ended');

/** The part of a connection that commands use. */
export interface Performer {
  readonly state: SoundState;
  /** `changes` is not read meanwhile; after a success the caller calls `readAgain`. */
  send(setting: Setting, changes: ReadRequest, deadlineMs: number): Promise<Result<unknown>>;
  /** Resolves when a read that began after this call has ended, or when there will be none any more. */
  readAgain(read: ReadRequest): Promise<void>;
  /** See `Waker.isWaking`; `Executor.proceed` is called when waking ends. */
  readonly isWaking: Waker['isWaking'];
  /** Closes the connection after a missing answer, because more may have been lost. */
  giveUp(command: RequestName, error: RequestError): void;
}

interface QueuedCommand {
  readonly command: SoundCommand;
  readonly latest: number;
  readonly settle: (answer: Promise<Answer>) => void;
}

export class Executor {
  readonly #performer: Performer;
  readonly #timing: CommandTiming;
  readonly #clock: Clock;
  /** In order of arrival. The supervisor bounds their number. */
  readonly #queue: QueuedCommand[] = [];
  isBusy = false;

  constructor(performer: Performer, timing: CommandTiming, clock: Clock) {
    this.#performer = performer;
    this.#timing = timing;
    this.#clock = clock;
  }

  /**
   * Answers when the changed record has been read again. One command runs at a time, so that steps add up and
   * toggles cancel out.
   */
  run(command: SoundCommand): Promise<Answer> {
    const latest = this.#clock.monotonic() + this.#timing.commandMs;
    return new Promise((settle) => {
      this.#queue.push({ command, latest, settle });
      this.proceed();
    });
  }

  /** Runs the first command whose output is not being woken. */
  proceed(): void {
    if (this.isBusy) return;
    const at = this.#queue.findIndex((queued, index) => !this.#mustWait(queued, index));
    const [next] = at < 0 ? [] : this.#queue.splice(at, 1);
    if (next === undefined) return;
    this.isBusy = true;
    const answer = this.#carryOut(next.command, next.latest);
    next.settle(answer);
    const over = (): void => {
      this.isBusy = false;
      this.proceed();
    };
    // A failed command concerns only its caller; the next ones go on.
    answer.then(over, over);
  }

  #mustWait({ command, ...waiting }: QueuedCommand, index: number): boolean {
    const { state } = this.#performer;
    if (!this.#isInTime(waiting.latest)) return false;
    const device = deviceOf(state, command);
    if (device === undefined || !this.#performer.isWaking(device.of, device.index)) return false;
    // Other commands overtake it and may change the default output.
    if (device.of === 'sink') this.#queue[index] = { ...waiting, command: onSink(command, device.index) };
    return true;
  }

  #isInTime(latest: number): boolean {
    return latest - this.#clock.monotonic() >= this.#timing.commandLeastMs;
  }

  /** The command is sent even to an output that did not wake: it applies when the output wakes. */
  async #carryOut(command: SoundCommand, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    if (!this.#isInTime(latest)) return failure('timeout', 'The commands before this one took too long');
    const plan = await this.#planned(command, latest);
    if (plan.kind === 'nothing') return DONE;
    if (plan.kind === 'fault') return failed(plan.fault);
    const result = await this.#performer.send(plan.setting, plan.after, latest - this.#clock.monotonic());
    const missing = !result.ok && result.error.kind === 'server' && result.error.name === 'NOENTITY';
    if (result.ok && plan.remember !== undefined) state.putBalance(plan.after, plan.remember);
    // No longer than the command's deadline: the server's reply is the answer even if the read hangs.
    if (result.ok || missing) await this.#readAgain(plan.after, latest);
    if (result.ok && command.do === 'default' && 'output' in command && command.move === true)
      return this.#moveStreams(command.output, latest);
    const { setting } = plan;
    if (result.ok && setting.command === 'SET_DEFAULT_SOURCE')
      return this.#untilDefaultInput(setting.args.name, latest);
    if (result.ok && setting.command === 'SET_SINK_VOLUME')
      state.putRequested(setting.args.index, loudestOf(setting.args.volume));
    if (result.ok) return DONE;
    if (missing) return failed(missingFault(state, command));
    return this.#failure(plan.setting.command, result.error);
  }

  /** A stream that the server does not move stays where it is, which is no failure. */
  async #moveStreams(output: string, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    const read: ReadRequest = { of: 'sink-input' };
    // The server has moved some of them by itself.
    await this.#readAgain(read, latest);
    for (const setting of streamMoves(state, output)) {
      if (!this.#isInTime(latest)) return failure('timeout', 'Moving the streams took too long');
      const { index } = setting.args;
      const result = await this.#performer.send(
        setting,
        { ...read, index },
        latest - this.#clock.monotonic(),
      );
      if (!result.ok && result.error.kind !== 'server') return this.#failure(setting.command, result.error);
    }
    await this.#readAgain(read, latest);
    return DONE;
  }

  /** PipeWire sets a default after its reply, and 1.4 may keep another one, though it has accepted this. */
  async #untilDefaultInput(name: string, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    for (let left = DEFAULT_TRIES; left > 0; left -= 1) {
      if (state.server?.defaultSource === name) return DONE;
      await new Promise<void>((resolve) => this.#clock.after(DEFAULT_PAUSE_MS, resolve));
      await this.#readAgain({ of: 'server' }, latest);
    }
    return failure('refused', 'The sound server accepted the command, but keeps another default input');
  }

  /**
   * Servers do not announce every change. So if a command is refused because of an earlier reading, the
   * record is read again, and the command planned anew.
   */
  async #planned(command: SoundCommand, latest: number): Promise<SettingPlan> {
    const { state } = this.#performer;
    const plan = planCommand(state, command);
    if (plan.kind !== 'fault' || plan.basis === undefined) return plan;
    await this.#readAgain(plan.basis, latest);
    return planCommand(state, command);
  }

  #readAgain(read: ReadRequest, latest: number): Promise<void> {
    return within(
      this.#clock,
      Math.max(0, latest - this.#clock.monotonic()),
      this.#performer.readAgain(read),
    );
  }

  #failure(command: RequestName, error: RequestError): Answer {
    switch (error.kind) {
      case 'server':
        return failure('refused', `The sound server refused the command: ${error.meaning} (${error.name})`);
      case 'timeout':
        this.#performer.giveUp(command, error);
        return NO_ANSWER;
      case 'bad-argument':
        return failure('bad-value', `The value cannot be sent: ${error.detail}`);
      case 'closed':
        // An earlier read may be the first to miss its reply and close the connection.
        return error.reason.kind === 'timeout' ? NO_ANSWER : ENDED;
      case 'violation':
      case 'not-ready':
      case 'overflow':
        return ENDED;
    }
  }
}
