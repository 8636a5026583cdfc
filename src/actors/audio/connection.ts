// One live connection to the sound server: subscribes, reads what events mark as dirty, publishes
// differences. It neither dials nor redials.

import type { Clock } from '../../host/clock.js';
import type { Reply, RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import type { ClosedReason, RequestError, Result } from '../../protocol/pulse/outcome.js';
import { AUDIO_MASK } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
import type { Publisher } from '../runtime.js';
import type { ChangedRecords } from './changed-records.js';
import { type CommandTiming, Executor, type Performer } from './executor.js';
import { LimitKeeper } from './limit-keeper.js';
import { Meters } from './meters.js';
import { type DesiredProfile, desiredProfile, ProfileSwitch } from './profile-switch.js';
import type { SoundPublisher } from './publisher.js';
import { Reading } from './reading.js';
import type { ReadRequest } from './refetch.js';
import type { Setting } from './setting-plan.js';
import type { SoundState } from './state.js';
import { type OpenLink, Waker } from './wake.js';

interface ConnectionContext {
  readonly openLink: OpenLink;
  /** Outlives the connection (see `SoundState.enterLife`). */
  readonly state: SoundState;
  readonly publisher: SoundPublisher;
  readonly clock: Clock;
  /** `switchMs`: until a card's new profile has made its outputs. */
  readonly timing: CommandTiming & { readonly switchMs: number };
  readonly publishLevel: (level: string) => void;
  readonly log: Publisher['log'];
  /** Called when cards, outputs or inputs have come or gone, or an input has changed; and at first. */
  readonly onPublished: (changed: Pick<ChangedRecords, 'sinksCameOrWent' | 'sources'>) => void;
  readonly onClosed: (reason: ClosedReason) => void;
}

export class SoundConnection implements Performer {
  readonly state: SoundState;
  readonly executor: Executor;
  readonly meters: Meters;
  readonly #context: ConnectionContext;
  readonly #link: Link;
  readonly #waker: Waker;
  /** Undefined where the configuration limits no output. */
  readonly #limits: LimitKeeper | undefined;
  readonly #reading: Reading;
  readonly readAgain: Performer['readAgain'];
  #switch: ProfileSwitch | undefined;
  #ended = false;

  constructor(context: ConnectionContext) {
    const { openLink, state, clock, timing, publishLevel } = context;
    this.#context = context;
    this.state = state;
    this.#reading = new Reading(state, {
      onReply: this.#publishChanges,
      onFailed: (command, error) => this.giveUp(command, error),
    });
    this.readAgain = this.#reading.again;
    this.executor = new Executor(this, timing, clock);
    if (!state.limits.areNone)
      this.#limits = new LimitKeeper(state, clock, (command) => this.executor.run(command), context.log);
    this.#link = openLink({
      onReady: () => this.#begin(),
      onEvent: this.#reading.onEvent,
      // Events come in bursts: what to read is decided after the whole burst.
      onRead: this.#reading.due,
      onClosed: (reason) => {
        this.#end();
        context.onClosed(reason);
      },
    });
    this.#waker = new Waker(openLink, state, clock, timing.wakeMs, () => this.executor.proceed());
    this.meters = new Meters(openLink, state, clock, publishLevel);
  }

  close(reason: ClosedReason): void {
    this.#link.close(reason);
  }

  /**
   * Reads the server's info first: its cookie shows whether the state of an earlier connection is still
   * valid.
   */
  #begin(): void {
    this.#link.request('GET_SERVER_INFO', {}, (result) => {
      if (!result.ok) return this.giveUp('GET_SERVER_INFO', result.error);
      this.state.enterLife(result.value.cookie);
      this.#subscribe();
    });
  }

  /** Subscribes before reading: in the other order, a change in between would be missed. */
  #subscribe(): void {
    this.#link.request('SUBSCRIBE', { mask: AUDIO_MASK }, (result) => {
      if (result.ok) this.#reading.begin(this.#link);
      else this.giveUp('SUBSCRIBE', result.error);
    });
  }

  /** Reads everything again, and publishes what differs. This also shows whether the server still answers. */
  readAll(): void {
    this.#reading.all();
  }

  #end(): void {
    this.#ended = true;
    this.#limits?.end();
    this.#switch?.end();
    this.#waker.stop();
    this.meters.stop();
    this.#reading.end();
  }

  send(setting: Setting, changes: ReadRequest, deadlineMs: number): Promise<Result<unknown>> {
    const { command, args } = setting;
    const ended = this.#limits?.watch(setting);
    // PipeWire sends the change's event before its reply, PulseAudio after it: the record is read once for
    // both.
    this.#reading.hold(changes);
    const latest = this.#context.clock.monotonic() + deadlineMs;
    const desired =
      command === 'SET_CARD_PROFILE' && desiredProfile(this.state, args.index, args.profile, latest);
    return new Promise((resolve) => {
      const settle = (result: Result<unknown>): void => {
        const finish = (): void => {
          ended?.(result.ok);
          resolve(result);
        };
        if (result.ok && desired !== false) void this.#switched(desired).then(finish);
        else finish();
        // After a success, `readAgain` does this.
        if (result.ok) return;
        this.#reading.release(changes);
        this.#reading.due();
      };
      try {
        this.#link.request(command, args, settle, deadlineMs);
      } catch (error) {
        this.#reading.release(changes);
        throw error;
      }
    });
  }

  /** Requests a value that is not kept here; without `deadlineMs` it has the deadline of all requests. */
  ask<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    deadlineMs?: number,
  ): Promise<Result<Reply<C>>> {
    return new Promise((resolve) => this.#link.request(command, args, resolve, deadlineMs));
  }

  /**
   * Resolves when the new profile's outputs are there. Until then nothing is published, so that for clients
   * it is one change.
   */
  #switched(desired: DesiredProfile): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const { clock, timing } = this.#context;
    const readAgain = (): void => this.#reading.allAtOnce();
    const change = new ProfileSwitch(this.state, desired, clock, timing.switchMs, readAgain);
    this.#switch = change;
    this.#reading.isSwitching = true;
    this.#reading.release({ of: 'card' });
    this.#reading.allAtOnce();
    return change.over;
  }

  isWaking(of: 'sink' | 'source', index: number): boolean {
    return !this.#ended && this.#waker.isWaking(of, index);
  }

  giveUp(command: RequestName, error: RequestError): void {
    if (error.kind === 'timeout') this.#link.close({ kind: 'timeout', command });
    else if (error.kind !== 'closed' && error.kind !== 'violation') {
      const detail = error.kind === 'server' ? error.meaning : error.kind;
      this.#link.close({ kind: 'protocol-violation', detail: `${command} failed: ${detail}` });
    }
  }

  readonly #publishChanges = (isWhole: boolean): void => {
    if (this.#waker.waking.size > 0) this.#waker.onRead();
    if (!isWhole || this.#switch?.isStillGoing() === true) return;
    this.#switch = undefined;
    this.#reading.isSwitching = false;
    const changed = this.#context.publisher.update(this.state);
    this.#limits?.keep();
    if (this.meters.isWatched) this.meters.follow();
    if (changed === undefined) return;
    const { cards, sources, sinksCameOrWent } = changed;
    if (sinksCameOrWent || sources || cards.length > 0)
      this.#context.onPublished({ sinksCameOrWent, sources });
  };
}
