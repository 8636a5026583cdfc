// Runs commands one after another, and turns the sound server's replies into answers. A command waits while
// its device is being woken, and later commands for other devices overtake it.

import { type Clock, within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import { failed } from '../../protocol/actor/result.js';
import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, RequestResult } from '../../protocol/pulse/outcome.js';
import { loudestOf } from '../../protocol/pulse/volume.js';
import { deviceChangedBy, missingFault, planCommand, withFixedSink } from './commands.js';
import type { ReadRequest } from './refetch.js';
import type { Setting, SettingPlan, SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { streamMoves } from './stream-moves.js';
import type { Waker } from './wake.js';

export interface CommandTiming {
  /** The longest time from a command's arrival to its answer, including the time in the queue. */
  readonly commandMs: number;
  /** A command with less time left is not sent, because its reply could hardly come in time. */
  readonly commandLeastMs: number;
  /** How long a device may take to wake. */
  readonly wakeMs: number;
}

/**
 * The longest time that a command waits for its output or input to become the default. On a board with a slow
 * core, PipeWire may need seconds.
 */
const DEFAULT_MAX_MS = 3_000;
/** The pause before the first reading that checks the default. The pauses grow to `DEFAULT_PAUSE_MAX_MS`. */
const DEFAULT_FIRST_PAUSE_MS = 15;
const DEFAULT_PAUSE_GROWTH = 1.5;
const DEFAULT_PAUSE_MAX_MS = 500;

export const NO_ANSWER = failure('timeout', 'The sound server did not answer');
export const CONNECTION_ENDED = failure('unavailable', 'The connection to the sound server has ended');

/** The part of a connection that commands use. */
export interface CommandConnection {
  readonly state: SoundState;
  readonly hasEnded: boolean;
  /**
   * Sends a setting that changes the record `changed`. From then on, no event causes a read of this record,
   * until the setting fails or the caller calls `readAgain`. After a success the caller must call it.
   */
  send(setting: Setting, changed: ReadRequest, deadlineMs: number): Promise<RequestResult<unknown>>;
  /**
   * Reads the record again. Resolves when the new reading or the removal of the record is published, or
   * when the connection has ended.
   */
  readAgain(read: ReadRequest): Promise<void>;
  /**
   * Begins to wake the device if it sleeps. Returns true while the device is being woken. `Executor.proceed`
   * is called when waking ends.
   */
  readonly wakeIfAsleep: Waker['wakeIfAsleep'];
  /** Closes the connection after a request without a reply, because other replies may be missing, too. */
  closeAfterFailure(command: RequestName, error: RequestError): void;
}

interface QueuedCommand {
  readonly command: SoundCommand;
  /** The time by which the command must be answered, on the monotonic clock. */
  readonly latestMs: number;
  readonly settle: (answer: Promise<Answer>) => void;
}

export class Executor {
  readonly #connection: CommandConnection;
  readonly #timing: CommandTiming;
  readonly #clock: Clock;
  /** Commands in order of arrival. The supervisor bounds their number. */
  readonly #queue: QueuedCommand[] = [];
  isBusy = false;

  constructor(connection: CommandConnection, timing: CommandTiming, clock: Clock) {
    this.#connection = connection;
    this.#timing = timing;
    this.#clock = clock;
  }

  /**
   * Answers when the changed record has been read again. One command runs at a time, so that two volume
   * steps add up, and two toggles of a mute end where they began.
   */
  run(command: SoundCommand): Promise<Answer> {
    const latestMs = this.#clock.monotonic() + this.#timing.commandMs;
    return new Promise((settle) => {
      this.#queue.push({ command, latestMs, settle });
      this.proceed();
    });
  }

  /** Runs the next command, if no other command is running. */
  proceed(): void {
    if (this.isBusy) return;
    const next = this.#firstReady();
    if (next === undefined) return;
    this.#queue.splice(this.#queue.indexOf(next), 1);
    this.isBusy = true;
    const answer = this.#carryOut(next.command, next.latestMs);
    next.settle(answer);
    const onEnd = (): void => {
      this.isBusy = false;
      this.proceed();
    };
    // A rejection concerns only the caller, so the next command runs all the same.
    answer.then(onEnd, onEnd);
  }

  /**
   * Returns the first command that need not wait for its device. Begins to wake the devices of the commands
   * before it.
   */
  #firstReady(): QueuedCommand | undefined {
    for (const [position, queued] of this.#queue.entries()) {
      const mustWait = this.#deferIfWaking(queued, position);
      if (!mustWait) return queued;
    }
    return undefined;
  }

  /** Begins to wake the command's device if it sleeps. Returns true while the device is being woken. */
  #deferIfWaking({ command, latestMs, settle }: QueuedCommand, position: number): boolean {
    // `#carryOut` answers a late command with a timeout, so its device need not wake.
    if (!this.#isInTime(latestMs)) return false;
    const device = deviceChangedBy(this.#connection.state, command);
    if (device === undefined || !this.#connection.wakeIfAsleep(device.kind, device.index)) return false;
    // A later command may overtake this one and change the default output, but this one must keep its sink.
    if (device.kind === 'sink')
      this.#queue[position] = { command: withFixedSink(command, device.index), latestMs, settle };
    return true;
  }

  #isInTime(latestMs: number): boolean {
    return latestMs - this.#clock.monotonic() >= this.#timing.commandLeastMs;
  }

  /**
   * Sends the command even if the device did not wake, because the server applies the command when the
   * device wakes.
   */
  async #carryOut(command: SoundCommand, latestMs: number): Promise<Answer> {
    const { state } = this.#connection;
    if (!this.#isInTime(latestMs)) return failure('timeout', 'The commands before this one took too long');
    const plan = await this.#plan(command, latestMs);
    if (plan.kind === 'nothing') return DONE;
    if (plan.kind === 'fault') return failed(plan.fault);
    const { setting, changed, balance } = plan;
    // The step of a fade may replace a volume that somebody has just set. So the record is read right before
    // the step. If fade.ts finds such a volume in this reading, it sets this volume again after the step. The
    // reading need not be awaited, because its request is sent before the step.
    if (command.do === 'fade') void this.#connection.readAgain(changed);
    const result = await this.#connection.send(setting, changed, latestMs - this.#clock.monotonic());
    if (!result.ok) {
      const isMissing = result.error.kind === 'server' && result.error.name === 'NOENTITY';
      if (!isMissing) return this.#answerForError(setting.command, result.error);
      await this.#readAgain(changed, latestMs);
      return failed(missingFault(state, command));
    }
    if (balance !== undefined) state.putBalance(changed, balance);
    await this.#readAgain(changed, latestMs);
    // If the connection has ended, the last reading may be older than the step. After this answer the fade
    // does not use the reading as the result of the step.
    if (command.do === 'fade' && this.#connection.hasEnded) return CONNECTION_ENDED;
    if (setting.command === 'SET_DEFAULT_SINK') {
      // The wait leaves twice `commandLeastMs` for `#moveStreams`, because `#moveStreams` first reads the
      // streams, and then moves no stream if less than `commandLeastMs` is left. The command succeeds even
      // if the output is not the default at the end of the wait.
      const waitEndMs = latestMs - 2 * this.#timing.commandLeastMs;
      await this.#awaitDefault('defaultSink', setting.args.name, waitEndMs);
    }
    const movesStreams = command.do === 'default' && 'output' in command && command.move === true;
    if (movesStreams) return this.#moveStreams(command.output, latestMs);
    if (setting.command === 'SET_DEFAULT_SOURCE') return this.#awaitDefaultInput(setting.args.name, latestMs);
    // The requested volume is stored, because later steps begin there, and not at the volume to which the
    // mixer has rounded it.
    if (setting.command === 'SET_SINK_VOLUME')
      state.putRequestedVolume('sink', setting.args.index, loudestOf(setting.args.volume));
    if (setting.command === 'SET_SOURCE_VOLUME')
      state.putRequestedVolume('source', setting.args.index, loudestOf(setting.args.volume));
    return DONE;
  }

  /** Moves the streams to the new default output. A stream that the server does not move is no failure. */
  async #moveStreams(output: string, latestMs: number): Promise<Answer> {
    const { state } = this.#connection;
    const streams: ReadRequest = { kind: 'sink-input' };
    // The server has moved some streams by itself, so the state is out of date.
    await this.#readAgain(streams, latestMs);
    for (const setting of streamMoves(state, output)) {
      if (!this.#isInTime(latestMs)) {
        // `send` delays the reading of the stream that it has moved. This call ends the delay.
        void this.#connection.readAgain(streams);
        return failure('timeout', 'Moving the streams took too long');
      }
      const changed: ReadRequest = { kind: 'sink-input', index: setting.args.index };
      const result = await this.#connection.send(setting, changed, latestMs - this.#clock.monotonic());
      if (!result.ok && result.error.kind !== 'server')
        return this.#answerForError(setting.command, result.error);
    }
    await this.#readAgain(streams, latestMs);
    return DONE;
  }

  /** PipeWire 1.4 may keep another default input, although it has accepted the command. */
  async #awaitDefaultInput(name: string, latestMs: number): Promise<Answer> {
    const isDefault = await this.#awaitDefault('defaultSource', name, latestMs);
    if (isDefault) return DONE;
    if (this.#connection.hasEnded) return CONNECTION_ENDED;
    // If no time is left, the last reading may have got no reply, so the default may be unknown.
    if (this.#clock.monotonic() >= latestMs) return NO_ANSWER;
    return failure('refused', 'The sound server accepted the command, but keeps another default input');
  }

  /**
   * PipeWire sets a default only after its reply. Without this wait, a later command for the default
   * output would change the old default output. Returns false if the default is still another one when the
   * wait ends.
   */
  async #awaitDefault(
    field: 'defaultSink' | 'defaultSource',
    name: string,
    latestMs: number,
  ): Promise<boolean> {
    const { state } = this.#connection;
    const endMs = Math.min(latestMs, this.#clock.monotonic() + DEFAULT_MAX_MS);
    let pauseMs = DEFAULT_FIRST_PAUSE_MS;
    for (;;) {
      if (state.server?.[field] === name) return true;
      const leftMs = endMs - this.#clock.monotonic();
      if (leftMs <= 0 || this.#connection.hasEnded) return false;
      const waitMs = Math.min(pauseMs, leftMs);
      await new Promise<void>((resolve) => this.#clock.after(waitMs, resolve));
      await this.#readAgain({ kind: 'server' }, latestMs);
      pauseMs = Math.min(pauseMs * DEFAULT_PAUSE_GROWTH, DEFAULT_PAUSE_MAX_MS);
    }
  }

  /**
   * If a record is the reason for a refusal, the record is read again and the command is planned anew,
   * because the record may have changed without an event of the server.
   */
  async #plan(command: SoundCommand, latestMs: number): Promise<SettingPlan> {
    const { state } = this.#connection;
    const plan = planCommand(state, command);
    if (plan.kind !== 'fault' || plan.reason === undefined) return plan;
    await this.#readAgain(plan.reason, latestMs);
    return planCommand(state, command);
  }

  /** Waits until `latestMs` at most, so that the command is answered in time even if the reading hangs. */
  #readAgain(read: ReadRequest, latestMs: number): Promise<void> {
    const leftMs = Math.max(0, latestMs - this.#clock.monotonic());
    return within(this.#clock, leftMs, this.#connection.readAgain(read));
  }

  #answerForError(command: RequestName, error: RequestError): Answer {
    switch (error.kind) {
      case 'server':
        return failure('refused', `The sound server refused the command: ${error.meaning} (${error.name})`);
      case 'timeout':
        this.#connection.closeAfterFailure(command, error);
        return NO_ANSWER;
      case 'bad-argument':
        return failure('bad-value', `The value cannot be sent: ${error.detail}`);
      case 'closed':
        // An earlier reading without a reply may have closed the connection before this command's deadline.
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
