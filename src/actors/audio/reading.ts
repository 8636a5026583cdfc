// Reads the sound server's records over one connection: requests what is due, stores the replies in the
// state, and knows when everything has been read. What is due after an event is decided in refetch.ts.

import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError } from '../../protocol/pulse/outcome.js';
import type { SubscriptionEvent } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
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

interface ReadingEvents {
  /** Called after each reply. `isWhole`: what is known belongs together, and may be published. */
  onReply(isWhole: boolean): void;
  /** A list could not be read. */
  onFailed(command: RequestName, error: RequestError): void;
}

export class Reading {
  readonly #state: SoundState;
  readonly #events: ReadingEvents;
  readonly #refetch: { readonly [K in ReadKind]: Refetch } = {
    server: new Refetch('server'),
    sink: new Refetch('sink'),
    'sink-input': new Refetch('sink-input'),
    card: new Refetch('card'),
    source: new Refetch('source'),
  };
  readonly #refetches = Object.values(this.#refetch);
  /** Kinds that are to be read, all of them, before anything is published. */
  readonly #unread = new Set(KINDS);
  /** Sinks have come or gone since everything was last read. */
  #isShaken = false;
  readonly #waiters = new ReadWaiters();
  /** True while a card switches its profile: everything that follows belongs together, too. */
  isSwitching = false;
  /** Undefined before the subscription is confirmed, and after the end. */
  #link: Link | undefined;
  #hasEnded = false;

  constructor(state: SoundState, events: ReadingEvents) {
    this.#state = state;
    this.#events = events;
  }

  /** To be called once the subscription is confirmed; reads everything. */
  begin(link: Link): void {
    this.#link = link;
    this.all();
  }

  /** To be called when the connection has ended; nobody waits any more. */
  end(): void {
    this.#hasEnded = true;
    this.#link = undefined;
    this.#waiters.end();
  }

  /** Reads everything again. This also shows whether the server still answers. */
  all(): void {
    for (const refetch of this.#refetches) refetch.markAll();
    this.due();
  }

  /** Reads everything again, and nothing is published before. */
  allAtOnce(): void {
    this.#isShaken = true;
    this.due();
  }

  /** To be followed by `due` after the last event of a burst. */
  readonly onEvent = ({ facility, type, index }: SubscriptionEvent): void => {
    if (facility === 'server') this.#refetch.server.markAll();
    if (facility !== 'sink' && facility !== 'sink-input' && facility !== 'card' && facility !== 'source')
      return;
    // Monitors change with their sinks, and none is read.
    if (facility === 'source' && type === 'change' && this.#state.sources.byId(index ?? -1) === undefined)
      return;
    const isSwitching = facility === 'card' && this.isSwitching;
    if (isSwitching || (facility === 'sink' && type !== 'change')) this.#isShaken = true;
    if (index === undefined) this.#refetch[facility].markAll();
    else if (type === 'remove') this.#removed(facility, index);
    else this.#refetch[facility].changed(index);
  };

  /** Keeps a record from being read until `again` or `release`: a command changes it. */
  hold({ of, index }: ReadRequest): void {
    this.#refetch[of].hold(index);
  }

  /** To be followed by `due`. */
  release({ of }: ReadRequest): void {
    this.#refetch[of].hold(undefined);
  }

  /** Resolves when a read that began after this call has ended, or when there will be none any more. */
  readonly again = (read: ReadRequest): Promise<void> => {
    if (this.#hasEnded) return Promise.resolve();
    const again = this.#waiters.add(read);
    this.#refetch[read.of].hold(undefined);
    if (read.index === undefined) this.#refetch[read.of].markAll();
    else this.#refetch[read.of].mark(read.index);
    this.due();
    return again;
  };

  /** Requests what is due. */
  readonly due = (): void => {
    // Events may come before the subscription is confirmed; everything is read after it anyway.
    const link = this.#link;
    if (link === undefined) return;
    if (this.#isShaken && this.#unread.size === 0) {
      // Streams, the default and a card that come and go with a sink are published together with it.
      this.#isShaken = false;
      for (const kind of KINDS) this.#unread.add(kind);
      for (const refetch of this.#refetches) refetch.markAll();
    }
    for (const refetch of this.#refetches) {
      for (const { of, index } of refetch.take()) {
        if (of === 'server' || index === undefined) this.#readAllOf(link, of);
        else this.#readOne(link, of, index);
      }
    }
  };

  #readAllOf<K extends ReadKind>(link: Link, of: K): void {
    const { command, put }: ReadSpec<ReadRequests[K], [ReadonlySet<number>]> = ALL[of];
    const waiters = this.#waiters.take({ of });
    link.request(command, {}, (result) => {
      const past = this.#refetch[of].settleList();
      if (result.ok) put(this.#state, result.value, past);
      else this.#events.onFailed(command, result.error);
      this.#settled(waiters, result.ok ? of : undefined);
    });
  }

  #readOne<K extends RecordKind>(link: Link, of: K, index: number): void {
    const { command, put }: ReadSpec<OneRequest[K]> = ONE[of];
    const waiters = this.#waiters.take({ of, index });
    link.request(command, { index }, (result) => {
      const believable = this.#refetch[of].settleOne(index);
      if (!result.ok) this.#readFailed(command, of, index, result.error);
      else if (believable) put(this.#state, result.value);
      this.#settled(waiters);
    });
  }

  #readFailed(command: RequestName, of: RecordKind, index: number, error: RequestError): void {
    // The record went between its event and the request, or is not ready yet (PipeWire). Neither is an error.
    if (error.kind === 'server' && error.name === 'NOENTITY') this.#state.remove(of, index);
    else if (error.kind === 'server') this.#refetch[of].markAll();
    else this.#events.onFailed(command, error);
  }

  #removed(of: RecordKind, index: number): void {
    this.#refetch[of].markRemoved(index);
    this.#state.remove(of, index);
    this.#link?.forget(index);
    this.#settled(this.#waiters.take({ of, index }));
  }

  /** `whole` is the kind whose records have all been read. */
  #settled(waiters: readonly ReadWaiter[], whole?: ReadKind): void {
    if (!this.#hasEnded) {
      const wasWhole = this.#unread.size === 0;
      if (whole !== undefined) this.#unread.delete(whole);
      // Sinks that come and go without end must not keep the other records from clients.
      this.#events.onReply(this.#unread.size === 0 && !(wasWhole && this.#isShaken));
    }
    for (const waiter of waiters) waiter.done();
  }
}
