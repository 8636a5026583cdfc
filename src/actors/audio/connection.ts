// One connection to the sound server: it subscribes to events, reads the records that have changed, and
// publishes what differs. It does not decide whether and when there is a connection (backend.ts).

import type { Clock } from '../../host/clock.js';
import type { Reply, RequestArgs, RequestName } from '../../protocol/pulse/commands.js';
import type { ClosedReason, RequestError, RequestResult } from '../../protocol/pulse/outcome.js';
import { AUDIO_MASK } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
import type { Publisher } from '../runtime.js';
import type { ChangedRecords } from './changed-records.js';
import { type CommandConnection, type CommandTiming, Executor } from './executor.js';
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
  /** The state outlives the connection (see `SoundState.enterLife`). */
  readonly state: SoundState;
  readonly publisher: SoundPublisher;
  readonly clock: Clock;
  /** `switchMs` is the longest time that the server may take to make the outputs of a card's new profile. */
  readonly timing: CommandTiming & { readonly switchMs: number };
  readonly publishLevel: (level: string) => void;
  readonly log: Publisher['log'];
  /**
   * Called after the first publication, and after each later one in which outputs have come or gone, or
   * inputs or cards may have changed. The argument does not mention cards, because upkeep.ts reads them from
   * the state.
   */
  readonly onPublished: (
    changedRecords: Pick<ChangedRecords, 'haveSinksComeOrGone' | 'mayInputsHaveChanged'>,
  ) => void;
  readonly onClosed: (reason: ClosedReason) => void;
}

export class SoundConnection implements CommandConnection {
  readonly state: SoundState;
  readonly executor: Executor;
  readonly meters: Meters;
  hasEnded = false;
  readonly #context: ConnectionContext;
  readonly #link: Link;
  readonly #waker: Waker;
  /** Undefined where the configuration limits no output. */
  readonly #limitKeeper: LimitKeeper | undefined;
  readonly #reading: Reading;
  readonly readAgain: CommandConnection['readAgain'];
  #profileSwitch: ProfileSwitch | undefined;

  constructor(context: ConnectionContext) {
    const { openLink, state, clock, timing, publishLevel } = context;
    this.#context = context;
    this.state = state;
    this.#reading = new Reading(state, clock, {
      onReply: this.#publishChanges,
      onFailed: (command, error) => this.closeAfterFailure(command, error),
    });
    this.readAgain = this.#reading.readAgain;
    this.executor = new Executor(this, timing, clock);
    if (state.limits.areConfigured)
      this.#limitKeeper = new LimitKeeper(state, clock, (command) => this.executor.run(command), context.log);
    this.#link = openLink({
      onReady: () => this.#begin(),
      onEvent: this.#reading.onEvent,
      // Events come in bursts. The link calls `onRead` after a burst, and then the records of all its events
      // are requested together.
      onRead: this.#reading.requestDue,
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
   * Reads the server's info first. The cookie in the info shows whether the state of the earlier connection
   * is still valid.
   */
  #begin(): void {
    this.#link.request('GET_SERVER_INFO', {}, (result) => {
      if (!result.ok) return this.closeAfterFailure('GET_SERVER_INFO', result.error);
      this.state.enterLife(result.value.cookie);
      this.#subscribe();
    });
  }

  /**
   * Subscribes before any record is read. In the other order, a change between reading and subscription
   * would be missed.
   */
  #subscribe(): void {
    this.#link.request('SUBSCRIBE', { mask: AUDIO_MASK }, (result) => {
      if (result.ok) this.#reading.begin(this.#link);
      else this.closeAfterFailure('SUBSCRIBE', result.error);
    });
  }

  /**
   * Reads everything again, and publishes what differs. This also shows whether the server still answers.
   */
  readAll(): void {
    this.#reading.readAll();
  }

  #end(): void {
    this.hasEnded = true;
    this.#limitKeeper?.end();
    this.#profileSwitch?.end();
    this.#waker.stop();
    this.meters.stop();
    this.#reading.end();
  }

  send(setting: Setting, changed: ReadRequest, deadlineMs: number): Promise<RequestResult<unknown>> {
    const { command, args } = setting;
    // After some commands, the server may raise sinks above their limit. The watch finds such sinks.
    const endLimitWatch = this.#limitKeeper?.watch(setting);
    // PipeWire sends the event of the change before the reply, PulseAudio after it. The record is not read
    // before the reply, so that one reading serves both the event and the reply. After a success the caller
    // calls `readAgain`, which also releases the record.
    this.#reading.hold(changed);
    const latestMs = this.#context.clock.monotonic() + deadlineMs;
    const newProfile =
      command === 'SET_CARD_PROFILE'
        ? desiredProfile(this.state, args.index, args.profile, latestMs)
        : undefined;
    return new Promise((resolve) => {
      const finish = (result: RequestResult<unknown>): void => {
        endLimitWatch?.(result.ok);
        resolve(result);
      };
      const onReply = (result: RequestResult<unknown>): void => {
        if (!result.ok) {
          finish(result);
          this.#reading.release(changed);
          this.#reading.requestDue();
          return;
        }
        if (newProfile === undefined) finish(result);
        else void this.#awaitProfile(newProfile).then(() => finish(result));
      };
      try {
        this.#link.request(command, args, onReply, deadlineMs);
      } catch (error) {
        // Without this, the record would not be read until a later command releases it.
        this.#reading.release(changed);
        throw error;
      }
    });
  }

  /**
   * Sends a request. Unlike `send`, it delays no reading and watches no limit. Without `deadlineMs`, the
   * request has the link's usual deadline.
   */
  ask<C extends RequestName>(
    command: C,
    args: RequestArgs<C>,
    deadlineMs?: number,
  ): Promise<RequestResult<Reply<C>>> {
    return new Promise((resolve) => this.#link.request(command, args, resolve, deadlineMs));
  }

  /**
   * Resolves when the new profile's outputs are there, when the time for them is over, or when the connection
   * has ended. Until then nothing is published, so that clients get the new profile and its outputs as one
   * change.
   */
  #awaitProfile(desired: DesiredProfile): Promise<void> {
    if (this.hasEnded) return Promise.resolve();
    const { clock, timing } = this.#context;
    const readTogether = (): void => this.#reading.readAllTogether();
    const profileSwitch = new ProfileSwitch(this.state, desired, clock, timing.switchMs, readTogether);
    this.#profileSwitch = profileSwitch;
    this.#reading.isSwitching = true;
    // `hold` in `send` has delayed the reading of this card. `release` takes no index, because `hold` delays
    // at most one record of each kind.
    this.#reading.release({ kind: 'card' });
    readTogether();
    return profileSwitch.ended;
  }

  wakeIfAsleep(kind: 'sink' | 'source', index: number): boolean {
    return !this.hasEnded && this.#waker.wakeIfAsleep(kind, index);
  }

  closeAfterFailure(command: RequestName, error: RequestError): void {
    const hasLinkEnded = error.kind === 'closed' || error.kind === 'violation';
    if (hasLinkEnded) return;
    if (error.kind === 'timeout') {
      this.#link.close({ kind: 'timeout', command });
      return;
    }
    // After a failure of any other kind, the state may lack records, so the connection is not usable.
    const detail = error.kind === 'server' ? error.meaning : error.kind;
    this.#link.close({ kind: 'protocol-violation', detail: `${command} failed: ${detail}` });
  }

  /** `isConsistent` is false while other records must still be read before the state may be published. */
  readonly #publishChanges = (isConsistent: boolean): void => {
    // A device may be awake now. If so, its waking ends at once, even if other records must still be read.
    if (this.#waker.devicesBeingWoken.size > 0) this.#waker.onRead();
    if (!isConsistent) return;
    const profileSwitch = this.#profileSwitch;
    // Nothing is published until the switch of the profile has ended (see `#awaitProfile`).
    const isSwitchIncomplete = profileSwitch !== undefined && !profileSwitch.endIfComplete();
    if (isSwitchIncomplete) return;
    this.#profileSwitch = undefined;
    this.#reading.isSwitching = false;
    const changedRecords = this.#context.publisher.update(this.state);
    this.#limitKeeper?.check();
    if (this.meters.isWatched) this.meters.update();
    if (changedRecords === undefined) return;
    // The first publication always concerns the upkeep, because the server's info is new, and new info sets
    // `mayInputsHaveChanged`.
    const { cards, mayInputsHaveChanged, haveSinksComeOrGone } = changedRecords;
    const concernsUpkeep = haveSinksComeOrGone || mayInputsHaveChanged || cards.length > 0;
    if (concernsUpkeep) this.#context.onPublished(changedRecords);
  };
}
