// Runs commands one after another, and turns the sound server's replies into answers. While a device is
// being woken, later commands overtake the commands for it. commands.ts plans the commands, and the
// connection reads records.

import { type Clock, within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { failed } from '../../protocol/actor/result.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, Result } from '../../protocol/pulse/outcome.js';
import { loudestOf } from '../../protocol/pulse/volume.js';
import { deviceOf, missingFault, planCommand, withFixedSink } from './commands.js';
import type { ReadRequest } from './refetch.js';
import type { Setting, SettingPlan, SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { streamMoves } from './stream-moves.js';
import type { Waker } from './wake.js';

export interface CommandTiming {
  /** From a command's arrival to its answer, including the time in the queue. */
  readonly commandMs: number;
  /** A command with less time left is not sent, because its reply could hardly come in time. */
  readonly commandLeastMs: number;
  readonly wakeMs: number;
}

/** The number of readings that check whether an input has become the default, and the pause before each. */
const DEFAULT_INPUT_TRIES = 10;
const DEFAULT_INPUT_PAUSE_MS = 100;

export const NO_ANSWER = failure('timeout', 'The sound server did not answer');
export const CONNECTION_ENDED = failure('unavailable', 'The connection to the sound server has ended');

/** The part of a connection that commands use. */
export interface Performer {
  readonly state: SoundState;
  /**
   * Sends a setting. The record `changed` is not read until the reply. After a success the caller must call
   * `readAgain` for it.
   */
  send(setting: Setting, changed: ReadRequest, deadlineMs: number): Promise<Result<unknown>>;
  /**
   * Resolves when a read that began after this call has ended, or when the record is removed, or the
   * connection has ended.
   */
  readAgain(read: ReadRequest): Promise<void>;
  /** See `Waker.isWaking`; `Executor.proceed` is called when waking ends. */
  readonly isWaking: Waker['isWaking'];
  /** Closes the connection after a missing answer, because other replies may be missing, too. */
  giveUp(command: RequestName, error: RequestError): void;
}

interface QueuedCommand {
  readonly command: SoundCommand;
  /** When it must be answered, on the monotonic clock. */
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
   * Answers when the changed record has been read again. One command runs at a time, so that two steps add
   * up, and two toggles of a mute end where they began.
   */
  run(command: SoundCommand): Promise<Answer> {
    const latest = this.#clock.monotonic() + this.#timing.commandMs;
    return new Promise((settle) => {
      this.#queue.push({ command, latest, settle });
      this.proceed();
    });
  }

  /** Runs the first command whose device is not being woken. */
  proceed(): void {
    if (this.isBusy) return;
    const next = this.#queue.find((queued, position) => !this.#mustWait(queued, position));
    if (next === undefined) return;
    this.#queue.splice(this.#queue.indexOf(next), 1);
    this.isBusy = true;
    const answer = this.#carryOut(next.command, next.latest);
    next.settle(answer);
    const onEnd = (): void => {
      this.isBusy = false;
      this.proceed();
    };
    // A failed command concerns only its caller; the next ones go on.
    answer.then(onEnd, onEnd);
  }

  /** True if the device of the command is being woken; begins to wake it if needed. */
  #mustWait({ command, latest, settle }: QueuedCommand, position: number): boolean {
    if (!this.#isInTime(latest)) return false;
    const device = deviceOf(this.#performer.state, command);
    if (device === undefined || !this.#performer.isWaking(device.of, device.index)) return false;
    // A command that overtakes this one may change the default output, while this command keeps its sink.
    if (device.of === 'sink')
      this.#queue[position] = { command: withFixedSink(command, device.index), latest, settle };
    return true;
  }

  #isInTime(latest: number): boolean {
    return latest - this.#clock.monotonic() >= this.#timing.commandLeastMs;
  }

  /** The command is sent even to an output that did not wake: the server applies it when the output wakes. */
  async #carryOut(command: SoundCommand, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    if (!this.#isInTime(latest)) return failure('timeout', 'The commands before this one took too long');
    const plan = await this.#plan(command, latest);
    if (plan.kind === 'nothing') return DONE;
    if (plan.kind === 'fault') return failed(plan.fault);
    const { setting, changed, balance } = plan;
    const result = await this.#performer.send(setting, changed, latest - this.#clock.monotonic());
    if (!result.ok) {
      const isMissing = result.error.kind === 'server' && result.error.name === 'NOENTITY';
      if (!isMissing) return this.#answerTo(setting.command, result.error);
      await this.#readAgain(changed, latest);
      return failed(missingFault(state, command));
    }
    if (balance !== undefined) state.putBalance(changed, balance);
    await this.#readAgain(changed, latest);
    if (command.do === 'default' && 'output' in command && command.move === true)
      return this.#moveStreams(command.output, latest);
    if (setting.command === 'SET_DEFAULT_SOURCE') return this.#awaitDefaultInput(setting.args.name, latest);
    if (setting.command === 'SET_SINK_VOLUME')
      state.putRequested(setting.args.index, loudestOf(setting.args.volume));
    return DONE;
  }

  /** Moves the streams to the new default output. A stream that the server does not move is no failure. */
  async #moveStreams(output: string, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    const streams: ReadRequest = { of: 'sink-input' };
    // The server has moved some streams by itself, so the state is out of date.
    await this.#readAgain(streams, latest);
    for (const setting of streamMoves(state, output)) {
      if (!this.#isInTime(latest)) return failure('timeout', 'Moving the streams took too long');
      const changed: ReadRequest = { of: 'sink-input', index: setting.args.index };
      const result = await this.#performer.send(setting, changed, latest - this.#clock.monotonic());
      if (!result.ok && result.error.kind !== 'server') return this.#answerTo(setting.command, result.error);
    }
    await this.#readAgain(streams, latest);
    return DONE;
  }

  /**
   * Answers when the input is the default. PipeWire sets a default after its reply, and PipeWire 1.4 may
   * keep another default input, although it has accepted the command.
   */
  async #awaitDefaultInput(name: string, latest: number): Promise<Answer> {
    const { state } = this.#performer;
    let readings = 0;
    while (state.server?.defaultSource !== name) {
      if (readings === DEFAULT_INPUT_TRIES)
        return failure('refused', 'The sound server accepted the command, but keeps another default input');
      await new Promise<void>((resolve) => this.#clock.after(DEFAULT_INPUT_PAUSE_MS, resolve));
      await this.#readAgain({ of: 'server' }, latest);
      readings += 1;
    }
    return DONE;
  }

  /**
   * Servers do not announce every change. So if a command is to be refused because of a record, that record
   * is read again, and the command is planned anew.
   */
  async #plan(command: SoundCommand, latest: number): Promise<SettingPlan> {
    const { state } = this.#performer;
    const plan = planCommand(state, command);
    if (plan.kind !== 'fault' || plan.reason === undefined) return plan;
    await this.#readAgain(plan.reason, latest);
    return planCommand(state, command);
  }

  /** Waits until `latest` at most, because the server's reply is the answer even if the reading hangs. */
  #readAgain(read: ReadRequest, latest: number): Promise<void> {
    const leftMs = Math.max(0, latest - this.#clock.monotonic());
    return within(this.#clock, leftMs, this.#performer.readAgain(read));
  }

  #answerTo(command: RequestName, error: RequestError): Answer {
    switch (error.kind) {
      case 'server':
        return failure('refused', `The sound server refused the command: ${error.meaning} (${error.name})`);
      case 'timeout':
        this.#performer.giveUp(command, error);
        return NO_ANSWER;
      case 'bad-argument':
        return failure('bad-value', `The value cannot be sent: ${error.detail}`);
      case 'closed':
        // An earlier reading may miss its reply before this command does, and close the connection.
        return error.reason.kind === 'timeout' ? NO_ANSWER : CONNECTION_ENDED;
      case 'violation':
        return CONNECTION_ENDED;
      case 'not-ready':
        return failure('unavailable', 'The connection to the sound server is not ready yet');
      case 'overflow':
        return failure('unavailable', 'Too many earlier requests wait for the sound server');
    }
  }
}
