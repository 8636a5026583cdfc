// One live connection to the sound server: subscribes, reads what events mark as dirty, publishes
// differences. It neither dials nor redials.

import type { Clock } from '../../host/clock.js';
import { AUDIO_MASK, type RequestName, type SubscriptionEvent } from '../../protocol/pulse/commands.js';
import type { ClosedReason, RequestError, Result } from '../../protocol/pulse/outcome.js';
import type { Link } from '../dial.js';
import type { Publisher } from '../runtime.js';
import type { Setting } from './commands.js';
import { type CommandTiming, Executor, type Performer } from './executor.js';
import { LimitKeeper } from './limit-keeper.js';
import { Meters } from './meters.js';
import { type DesiredProfile, desiredProfile, ProfileSwitch } from './profile-switch.js';
import type { SoundPublisher } from './publisher.js';
import {
  ALL,
  KINDS,
  ONE,
  type OneRequest,
  type ReadKind,
  type ReadRequest,
  type ReadRequests,
  type ReadSpec,
  type ReadWaiter,
  ReadWaiters,
  Refetch,
} from './refetch.js';
import type { RecordKind, SoundState } from './state.js';
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
  /** Called after each publication of more than streams; the first is of everything. */
  readonly onPublished: () => void;
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
  readonly #refetch: { readonly [K in ReadKind]: Refetch } = {
    server: new Refetch('server'),
    sink: new Refetch('sink'),
    'sink-input': new Refetch('sink-input'),
    card: new Refetch('card'),
  };
  readonly #refetches = Object.values(this.#refetch);
  /** Kinds that are to be read, all of them, before anything is published. */
  readonly #unread = new Set(KINDS);
  /** Sinks have come or gone since everything was last read. */
  #isShaken = false;
  #switch: ProfileSwitch | undefined;
  readonly #waiters = new ReadWaiters();
  #ended = false;

  constructor(context: ConnectionContext) {
    const { openLink, state, clock, timing, publishLevel } = context;
    this.#context = context;
    this.state = state;
    this.executor = new Executor(this, timing, clock);
    if (!state.limits.areNone)
      this.#limits = new LimitKeeper(state, clock, (command) => this.executor.run(command), context.log);
    this.#link = openLink({
      onReady: () => this.#begin(),
      onEvent: this.#onEvent,
      // Events come in bursts: what to read is decided after the whole burst.
      onRead: () => this.#pump(),
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
      if (result.ok) this.readAll();
      else this.giveUp('SUBSCRIBE', result.error);
    });
  }

  /**
   * Reads everything again; only differences are published. This also shows whether the server still answers.
   */
  readAll(): void {
    for (const refetch of this.#refetches) refetch.markAll();
    this.#pump();
  }

  readonly #onEvent = ({ facility, type, index }: SubscriptionEvent): void => {
    if (facility === 'server') this.#refetch.server.markAll();
    if (facility !== 'sink' && facility !== 'sink-input' && facility !== 'card') return;
    const isSwitching = facility === 'card' && this.#switch !== undefined;
    if (isSwitching || (facility === 'sink' && type !== 'change')) this.#isShaken = true;
    if (index === undefined) this.#refetch[facility].markAll();
    else if (type === 'remove') this.#removed(facility, index);
    else this.#refetch[facility].changed(index);
  };

  #end(): void {
    this.#ended = true;
    this.#limits?.end();
    this.#switch?.end();
    this.#waker.stop();
    this.meters.stop();
    this.#waiters.end();
  }

  send(setting: Setting, changes: ReadRequest, deadlineMs: number): Promise<Result<unknown>> {
    const { command, args } = setting;
    const ended = this.#limits?.watch(setting);
    const refetch = this.#refetch[changes.of];
    // PipeWire sends the change's event before its reply, PulseAudio after it: the record is read once for
    // both.
    refetch.hold(changes.index);
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
        refetch.hold(undefined);
        this.#pump();
      };
      try {
        this.#link.request(command, args, settle, deadlineMs);
      } catch (error) {
        refetch.hold(undefined);
        throw error;
      }
    });
  }

  /**
   * Resolves when the new profile's outputs are there. Until then nothing is published, so that for clients
   * it is one change.
   */
  #switched(desired: DesiredProfile): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const { clock, timing } = this.#context;
    const change = new ProfileSwitch(this.state, desired, clock, timing.switchMs, () => {
      this.#isShaken = true;
      this.#pump();
    });
    this.#switch = change;
    this.#isShaken = true;
    this.#refetch.card.hold(undefined);
    this.#pump();
    return change.over;
  }

  readAgain(read: ReadRequest): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const again = this.#waiters.add(read);
    this.#refetch[read.of].hold(undefined);
    if (read.index === undefined) this.#refetch[read.of].markAll();
    else this.#refetch[read.of].mark(read.index);
    this.#pump();
    return again;
  }

  isWaking(sink: number): boolean {
    return !this.#ended && this.#waker.isWaking(sink);
  }

  giveUp(command: RequestName, error: RequestError): void {
    if (error.kind === 'timeout') this.#link.close({ kind: 'timeout', command });
    else if (error.kind !== 'closed' && error.kind !== 'violation') {
      const detail = error.kind === 'server' ? error.meaning : error.kind;
      this.#link.close({ kind: 'protocol-violation', detail: `${command} failed: ${detail}` });
    }
  }

  #pump(): void {
    // Events may come before the subscription is confirmed; everything is read after it anyway.
    if (this.#ended) return;
    if (this.#isShaken && this.#unread.size === 0) {
      // Streams, the default and a card that come and go with a sink are published together with it.
      this.#isShaken = false;
      for (const kind of KINDS) this.#unread.add(kind);
      for (const refetch of this.#refetches) refetch.markAll();
    }
    for (const refetch of this.#refetches) {
      for (const { of, index } of refetch.take()) {
        if (of === 'server' || index === undefined) this.#readAllOf(of);
        else this.#readOne(of, index);
      }
    }
  }

  #readAllOf<K extends ReadKind>(of: K): void {
    const { command, put }: ReadSpec<ReadRequests[K], [ReadonlySet<number>]> = ALL[of];
    const waiters = this.#waiters.take({ of });
    this.#link.request(command, {}, (result) => {
      const past = this.#refetch[of].settleList();
      if (result.ok) put(this.state, result.value, past);
      else this.giveUp(command, result.error);
      this.#settled(waiters, result.ok ? of : undefined);
    });
  }

  #readOne<K extends RecordKind>(of: K, index: number): void {
    const { command, put }: ReadSpec<OneRequest[K]> = ONE[of];
    const waiters = this.#waiters.take({ of, index });
    this.#link.request(command, { index }, (result) => {
      const believable = this.#refetch[of].settleOne(index);
      if (!result.ok) this.#readFailed(command, of, index, result.error);
      else if (believable) put(this.state, result.value);
      this.#settled(waiters);
    });
  }

  #readFailed(command: RequestName, of: RecordKind, index: number, error: RequestError): void {
    // The record went between its event and the request, or is not ready yet (PipeWire). Neither is an error.
    if (error.kind === 'server' && error.name === 'NOENTITY') this.state.remove(of, index);
    else if (error.kind === 'server') this.#refetch[of].markAll();
    else this.giveUp(command, error);
  }

  #removed(of: RecordKind, index: number): void {
    this.#refetch[of].markRemoved(index);
    this.state.remove(of, index);
    this.#link.forget(index);
    this.#settled(this.#waiters.take({ of, index }));
  }

  /**
   * Publishes the changes, unless more has to be read before. `whole` is the kind whose records have all been
   * read.
   */
  #settled(waiters: readonly ReadWaiter[], whole?: ReadKind): void {
    if (!this.#ended) this.#publishChanges(whole);
    for (const waiter of waiters) waiter.done();
  }

  #publishChanges(whole: ReadKind | undefined): void {
    if (this.#waker.waking.size > 0) this.#waker.onRead();
    const wasWhole = this.#unread.size === 0;
    if (whole !== undefined) this.#unread.delete(whole);
    // Sinks that come and go without end do not keep what has been read from clients.
    if (this.#unread.size > 0 || (wasWhole && this.#isShaken)) return;
    if (this.#switch?.isStillGoing() === true) return;
    this.#switch = undefined;
    const changed = this.#context.publisher.update(this.state);
    this.#limits?.keep();
    if (this.meters.isWatched) this.meters.follow();
    if (changed?.server === true || changed?.cards.length !== 0) this.#context.onPublished();
  }
}
