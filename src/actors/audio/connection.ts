// One live connection to the sound server: subscribes, reads what its events make dirty, and publishes the differences.
// It does not dial, and what happens after its end is not its business.

import type { Answer } from '../../protocol/actor/commands.js';
import type { Reply, RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError, Result } from '../../protocol/pulse/outcome.js';
import { AUDIO_MASK, type SubscriptionEvent } from '../../protocol/pulse/records.js';
import type { Link } from '../dial.js';
import type { Catalogue } from './catalogue.js';
import type { Setting, SoundCommand } from './commands.js';
import { type CommandTiming, Executor, type Performer } from './executor.js';
import { type AfterRead, type Read, type RecordKind, Refetch } from './refetch.js';
import type { SoundState } from './state.js';
import { type OpenLink, Waker } from './wake.js';

type Part = 'server' | RecordKind;

/** Somebody who waits until a record is read again: the command that runs, and those before it whose time was up meanwhile. */
interface Waiter {
  readonly read: AfterRead;
  readonly done: () => void;
}

/** Whether a read answers what a waiter wants to know. */
function covers(read: Read, wanted: AfterRead): boolean {
  if (read.what === 'server' || wanted.what === 'server') return read.what === wanted.what;
  return read.of === wanted.of && (read.what === 'list' || read.index === wanted.index);
}

interface ListRequest {
  readonly sink: 'GET_SINK_INFO_LIST';
  readonly input: 'GET_SINK_INPUT_INFO_LIST';
}

interface OneRequest {
  readonly sink: 'GET_SINK_INFO';
  readonly input: 'GET_SINK_INPUT_INFO';
}

/** How records of a kind are asked for, and where the answers go. */
interface Reading<K extends RecordKind> {
  readonly list: ListRequest[K];
  readonly one: OneRequest[K];
  replace(state: SoundState, list: Reply<ListRequest[K]>, past: ReadonlySet<number>): void;
  put(state: SoundState, info: Reply<OneRequest[K]>): void;
}

const READS: { readonly [K in RecordKind]: Reading<K> } = {
  sink: {
    list: 'GET_SINK_INFO_LIST',
    one: 'GET_SINK_INFO',
    replace: (state, list, past) => state.replaceSinks(list, past),
    put: (state, info) => state.putSink(info),
  },
  input: {
    list: 'GET_SINK_INPUT_INFO_LIST',
    one: 'GET_SINK_INPUT_INFO',
    replace: (state, list, past) => state.replaceInputs(list, past),
    put: (state, info) => state.putInput(info),
  },
};

/** What a connection lives in. */
interface Surroundings {
  readonly link: Link;
  readonly openLink: OpenLink;
  /** Outlives the connection: see `SoundState.enterLife`. */
  readonly state: SoundState;
  readonly catalogue: Catalogue;
  readonly timing: CommandTiming;
  /** Called once, when everything has been read and published for the first time. */
  readonly onWhole: () => void;
}

export class SoundConnection {
  readonly state: SoundState;
  readonly #link: Link;
  readonly #catalogue: Catalogue;
  readonly #waker: Waker;
  readonly #onWhole: () => void;
  readonly #refetch = new Refetch();
  readonly #executor: Executor;
  /** What has not been read yet. Nothing is published before it is empty. */
  readonly #unread = new Set<Part>(['server', 'sink', 'input']);
  #waiters: Waiter[] = [];
  #pumping = false;
  #ended = false;

  constructor({ link, openLink, state, catalogue, timing, onWhole }: Surroundings) {
    this.state = state;
    this.#link = link;
    this.#catalogue = catalogue;
    this.#waker = new Waker(openLink, state);
    this.#onWhole = onWhole;
    const performer: Performer = {
      state,
      send: (setting, deadlineMs) => this.#send(setting, deadlineMs),
      readAgain: (read) => this.#readAgain(read),
      wake: async (sink, limitMs) => {
        if (!this.#ended) await this.#waker.wake(sink, limitMs);
      },
      giveUp: (command, error) => this.#giveUp(command, error),
    };
    this.#executor = new Executor(performer, timing);
  }

  /** Asks first of all which life of the server this is, because what is known of another one says nothing about it. */
  begin(): void {
    this.#link.request('GET_SERVER_INFO', {}, (result) => {
      if (!result.ok) return this.#giveUp('GET_SERVER_INFO', result.error);
      this.state.enterLife(result.value.cookie);
      this.#subscribe();
    });
  }

  /** Subscribes first and reads then: in the other order, a change in between would be missed. */
  #subscribe(): void {
    this.#link.request('SUBSCRIBE', { mask: AUDIO_MASK }, (result) => {
      if (result.ok) this.readAll();
      else this.#giveUp('SUBSCRIBE', result.error);
    });
  }

  /** Reads everything again; only differences are published. Also finds out whether the server still answers. */
  readAll(): void {
    this.#refetch.markAll();
    this.#pump();
  }

  onEvent({ facility, type, index }: SubscriptionEvent): void {
    if (facility === 'server') this.#refetch.markServer();
    else if (facility === 'sink' || facility === 'sink-input') {
      const of: RecordKind = facility === 'sink' ? 'sink' : 'input';
      if (index === undefined) this.#refetch.markList(of);
      else if (type === 'remove') this.#removed(of, index);
      else this.#refetch.markChanged(of, index);
    }
    this.#pumpSoon();
  }

  /** As `Executor.run`. */
  command(command: SoundCommand): Promise<Answer> {
    return this.#executor.run(command);
  }

  /** The link has ended: nothing more will be read. */
  end(): void {
    this.#ended = true;
    this.#waker.stop();
    for (const waiter of this.#takeWaiters(() => true)) waiter.done();
  }

  #send({ command, args }: Setting, deadlineMs: number): Promise<Result<unknown>> {
    return new Promise((resolve) => this.#link.request(command, args, resolve, deadlineMs));
  }

  #readAgain(read: AfterRead): Promise<void> {
    return new Promise((done) => {
      if (this.#ended) return done();
      this.#waiters.push({ read, done });
      if (read.what === 'server') this.#refetch.markServer();
      else this.#refetch.markChanged(read.of, read.index);
      this.#pump();
    });
  }

  /** Events come in bursts, many in one chunk of the socket: what to read is decided when all of them are known. */
  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    // Events may come before the subscription is confirmed; everything is read after it anyway.
    for (const read of this.#ended ? [] : this.#refetch.take()) {
      const waiters = this.#takeWaiters((waiter) => covers(read, waiter.read));
      this.#ask(read, (part) => {
        this.#settled(part);
        for (const waiter of waiters) waiter.done();
        this.#pump();
      });
    }
  }

  /** `settled` is called however the read ends; with the part that is whole now, if one is. */
  #ask(read: Read, settled: (part?: Part) => void): void {
    if (read.what === 'list') this.#askList(read.of, settled);
    else if (read.what === 'one') this.#askOne(read.of, read.index, settled);
    else this.#askServer(settled);
  }

  #askServer(settled: (part?: Part) => void): void {
    this.#link.request('GET_SERVER_INFO', {}, (result) => {
      this.#refetch.settleServer();
      if (result.ok) this.state.putServer(result.value);
      else this.#giveUp('GET_SERVER_INFO', result.error);
      settled(result.ok ? 'server' : undefined);
    });
  }

  #askList<K extends RecordKind>(of: K, settled: (part?: Part) => void): void {
    const { list, replace }: Reading<K> = READS[of];
    this.#link.request(list, {}, (result) => {
      const past = this.#refetch.settleList(of);
      if (result.ok) replace(this.state, result.value, past);
      else this.#giveUp(list, result.error);
      settled(result.ok ? of : undefined);
    });
  }

  #askOne<K extends RecordKind>(of: K, index: number, settled: () => void): void {
    const { one, put }: Reading<K> = READS[of];
    this.#link.request(one, { index }, (result) => {
      const believable = this.#refetch.settleOne(of, index);
      if (!result.ok) this.#readFailed(one, of, index, result.error);
      else if (believable) put(this.state, result.value);
      settled();
    });
  }

  #readFailed(command: RequestName, of: RecordKind, index: number, error: RequestError): void {
    // It ended between its event and our question; on PipeWire it may also not be ready yet. Neither is an error.
    if (error.kind === 'server' && error.name === 'NOENTITY') this.state.remove(of, index);
    else if (error.kind === 'server') this.#refetch.markList(of);
    else this.#giveUp(command, error);
  }

  #removed(of: RecordKind, index: number): void {
    this.#refetch.markRemoved(of, index);
    this.state.remove(of, index);
    this.#settled();
    const ended: Read = { what: 'one', of, index };
    for (const waiter of this.#takeWaiters(({ read }) => covers(ended, read))) waiter.done();
  }

  #settled(part?: Part): void {
    if (this.#ended) return;
    const before = this.#unread.size;
    if (part !== undefined) this.#unread.delete(part);
    if (this.#unread.size > 0) return;
    this.#catalogue.update(this.state);
    this.#waker.look();
    if (before > 0) this.#onWhole();
  }

  #giveUp(command: RequestName, error: RequestError): void {
    if (error.kind === 'timeout') this.#link.close({ kind: 'timeout', command });
    else if (error.kind !== 'closed' && error.kind !== 'violation') {
      const detail = error.kind === 'server' ? error.meaning : error.kind;
      this.#link.close({ kind: 'protocol-violation', detail: `${command} failed: ${detail}` });
    }
  }

  #takeWaiters(wanted: (waiter: Waiter) => boolean): readonly Waiter[] {
    const taken = this.#waiters.filter(wanted);
    this.#waiters = this.#waiters.filter((waiter) => !wanted(waiter));
    return taken;
  }
}
