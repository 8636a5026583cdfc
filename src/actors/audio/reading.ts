// Reads the sound server's records over one connection: requests what is due, stores the replies in the
// state, and knows when everything has been read. What is due after an event is decided in refetch.ts.

import type { RequestName } from '../../protocol/pulse/commands.js';
import type { RequestError } from '../../protocol/pulse/outcome.js';
import type { SubscriptionEvent } from '../../protocol/pulse/subscription.js';
import type { Link } from '../dial.js';
import {
  KINDS,
  LIST_READS,
  type ListRequests,
  RECORD_READS,
  type ReadKind,
  type ReadRequest,
  type ReadSpec,
  type ReadWaiter,
  ReadWaiters,
  type RecordRequests,
  Refetch,
} from './refetch.js';
import type { RecordKind, SoundState } from './state.js';

interface ReadingEvents {
  /**
   * Called after each reply and each removal. `isConsistent`: all records in the state belong together, and
   * may be published.
   */
  onReply(isConsistent: boolean): void;
  /**
   * Called when a list could not be read, or when a read of one record has failed without an error of the
   * server.
   */
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
  /** Kinds whose whole list must still be read before anything is published. */
  readonly #unread = new Set(KINDS);
  /**
   * True if everything must be read before the next publication: sinks have come or gone, or a card switches
   * its profile. Streams, default and card are then published together with the sinks.
   */
  #mustReadTogether = false;
  readonly #waiters = new ReadWaiters();
  /** True while a card switches its profile. An event of the card then announces that sinks come or go. */
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
    this.readAll();
  }

  /** To be called when the connection has ended. Resolves everything that waits for a reading. */
  end(): void {
    this.#hasEnded = true;
    this.#link = undefined;
    this.#waiters.end();
  }

  /** Reads everything again. This also shows whether the server still answers. */
  readAll(): void {
    for (const refetch of this.#refetches) refetch.markAll();
    this.requestDue();
  }

  /** Reads everything again, and has nothing published until all of it has been read. */
  readAllTogether(): void {
    this.#mustReadTogether = true;
    this.requestDue();
  }

  /** To be followed by `requestDue` after the last event of a burst. */
  readonly onEvent = ({ facility, type, index }: SubscriptionEvent): void => {
    if (facility === 'server') this.#refetch.server.markAll();
    if (facility !== 'sink' && facility !== 'sink-input' && facility !== 'card' && facility !== 'source')
      return;
    // The state has no monitors, but they change whenever their sinks do. So a changed source is read only
    // if it is in the state.
    const isKnownSource = facility === 'source' && this.#state.sources.byId(index ?? -1) !== undefined;
    if (facility === 'source' && type === 'change' && !isKnownSource) return;
    const isOfSwitch = facility === 'card' && this.isSwitching;
    const hasSinkComeOrGone = facility === 'sink' && type !== 'change';
    if (isOfSwitch || hasSinkComeOrGone) this.#mustReadTogether = true;
    if (index === undefined) this.#refetch[facility].markAll();
    else if (type === 'remove') this.#onRemoved(facility, index);
    else this.#refetch[facility].onChanged(index);
  };

  /** Keeps a record from being read until `readAgain` or `release`, because a command changes it. */
  hold({ of, index }: ReadRequest): void {
    this.#refetch[of].hold(index);
  }

  /** Ends `hold`. To be followed by `requestDue`. */
  release({ of }: ReadRequest): void {
    this.#refetch[of].hold(undefined);
  }

  /**
   * Resolves when a read that began after this call has ended, or when the record is removed, or the
   * connection has ended.
   */
  readonly readAgain = (read: ReadRequest): Promise<void> => {
    if (this.#hasEnded) return Promise.resolve();
    const hasBeenRead = this.#waiters.add(read);
    this.#refetch[read.of].hold(undefined);
    if (read.index === undefined) this.#refetch[read.of].markAll();
    else this.#refetch[read.of].mark(read.index);
    this.requestDue();
    return hasBeenRead;
  };

  /** Sends the requests for all that is to be read now. */
  readonly requestDue = (): void => {
    // Events may come before the subscription is confirmed. They need no read of their own, because
    // everything is read after the confirmation.
    const link = this.#link;
    if (link === undefined) return;
    if (this.#mustReadTogether && this.#unread.size === 0) {
      this.#mustReadTogether = false;
      for (const kind of KINDS) this.#unread.add(kind);
      for (const refetch of this.#refetches) refetch.markAll();
    }
    for (const refetch of this.#refetches) {
      for (const { of, index } of refetch.takeDue()) {
        if (of === 'server' || index === undefined) this.#readList(link, of);
        else this.#readRecord(link, of, index);
      }
    }
  };

  #readList<K extends ReadKind>(link: Link, of: K): void {
    const { command, put }: ReadSpec<ListRequests[K], [ReadonlySet<number>]> = LIST_READS[of];
    const waiters = this.#waiters.take({ of });
    link.request(command, {}, (result) => {
      const removed = this.#refetch[of].settleList();
      if (result.ok) put(this.#state, result.value, removed);
      else this.#events.onFailed(command, result.error);
      this.#afterReply(waiters, result.ok ? of : undefined);
    });
  }

  #readRecord<K extends RecordKind>(link: Link, of: K, index: number): void {
    const { command, put }: ReadSpec<RecordRequests[K]> = RECORD_READS[of];
    const waiters = this.#waiters.take({ of, index });
    link.request(command, { index }, (result) => {
      const isValid = this.#refetch[of].settleRecord(index);
      if (!result.ok) this.#onRecordFailed(command, of, index, result.error);
      else if (isValid) put(this.#state, result.value);
      this.#afterReply(waiters);
    });
  }

  #onRecordFailed(command: RequestName, of: RecordKind, index: number, error: RequestError): void {
    // The record was removed between its event and the request, or is not ready yet (PipeWire). Neither is an
    // error.
    if (error.kind === 'server' && error.name === 'NOENTITY') this.#state.remove(of, index);
    else if (error.kind === 'server') this.#refetch[of].markAll();
    else this.#events.onFailed(command, error);
  }

  #onRemoved(of: RecordKind, index: number): void {
    this.#refetch[of].onRemoved(index);
    this.#state.remove(of, index);
    this.#link?.forget(index);
    this.#afterReply(this.#waiters.take({ of, index }));
  }

  /** To be called after a reply, or after a removal. `listKind`: the kind whose whole list has been read. */
  #afterReply(waiters: readonly ReadWaiter[], listKind?: ReadKind): void {
    if (!this.#hasEnded) {
      const hadUnread = this.#unread.size > 0;
      if (listKind !== undefined) this.#unread.delete(listKind);
      // The lists that are complete now are published, even if another sink has come or gone meanwhile: sinks
      // that come and go without end must not keep the other records from clients.
      const isComplete = this.#unread.size === 0 && (hadUnread || !this.#mustReadTogether);
      this.#events.onReply(isComplete);
    }
    for (const waiter of waiters) waiter.resolve();
  }
}
