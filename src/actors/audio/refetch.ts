// Decides what to read after the server's events, and which waiting commands a read settles. Its tables have
// the requests for one record and for the list of each kind, and where their replies go in the state. Pure:
// reading.ts sends the requests. Events other than removals only cause reads, because PipeWire drops and
// merges events.

import type { Reply, RequestName } from '../../protocol/pulse/commands.js';
import type { RecordKind, SoundState } from './state.js';

/**
 * At most this many records of one kind are read one by one, or wait for that. If there are more, the whole
 * list is read instead, which costs about as much.
 */
export const BURST_MAX_RECORDS = 16;

/**
 * At most this many removals are remembered while a list is being read. After more of them, the list is read
 * again.
 */
export const REMOVALS_MAX_RECORDS = 4096;

/** Kinds that can be read: records, or the server's info, which is single and has no list. */
export type ReadKind = RecordKind | 'server';

/** One read request; without an index it reads the whole list. */
export interface ReadRequest {
  readonly of: ReadKind;
  readonly index?: number;
}

/**
 * A read request, and the method that stores its reply. For a list that method also gets the indices that
 * were removed while the list was read.
 */
export interface ReadSpec<C extends RequestName, Removed extends readonly ReadonlySet<number>[] = []> {
  readonly command: C;
  put(state: SoundState, value: Reply<C>, ...removed: Removed): void;
}

export interface ListRequests {
  readonly server: 'GET_SERVER_INFO';
  readonly sink: 'GET_SINK_INFO_LIST';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO_LIST';
  readonly card: 'GET_CARD_INFO_LIST';
  readonly source: 'GET_SOURCE_INFO_LIST';
}

export const KINDS: readonly ReadKind[] = ['server', 'card', 'sink', 'source', 'sink-input'];

export interface RecordRequests {
  readonly sink: 'GET_SINK_INFO';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO';
  readonly card: 'GET_CARD_INFO';
  readonly source: 'GET_SOURCE_INFO';
}

export const LIST_READS: { readonly [K in ReadKind]: ReadSpec<ListRequests[K], [ReadonlySet<number>]> } = {
  server: { command: 'GET_SERVER_INFO', put: (state, info) => state.putServer(info) },
  sink: { command: 'GET_SINK_INFO_LIST', put: (state, list, removed) => state.replaceSinks(list, removed) },
  'sink-input': {
    command: 'GET_SINK_INPUT_INFO_LIST',
    put: (state, list, removed) => state.replaceSinkInputs(list, removed),
  },
  card: { command: 'GET_CARD_INFO_LIST', put: (state, list, removed) => state.cards.replace(list, removed) },
  source: {
    command: 'GET_SOURCE_INFO_LIST',
    put: ({ sources }, list, removed) => sources.replace(list, removed),
  },
};

export const RECORD_READS: { readonly [K in RecordKind]: ReadSpec<RecordRequests[K]> } = {
  sink: { command: 'GET_SINK_INFO', put: (state, info) => state.putSink(info) },
  'sink-input': { command: 'GET_SINK_INPUT_INFO', put: (state, info) => state.putSinkInput(info) },
  card: { command: 'GET_CARD_INFO', put: (state, info) => state.cards.put(info) },
  source: { command: 'GET_SOURCE_INFO', put: ({ sources }, info) => sources.put(info) },
};

const NO_READS: readonly ReadRequest[] = [];

/**
 * The reads of one kind. A list and single records are never read at the same time, because PipeWire may
 * reply to them out of order, and an older reply about one record would then undo a newer list. An event
 * about a record that is being read needs no further read, because both servers send events and replies
 * about one record in order, so that the reply is newer than the event.
 */
export class Refetch {
  readonly #of: ReadKind;
  // `#dirty` and `#underWay` together have at most BURST_MAX_RECORDS. They are arrays, because a set that
  // mostly has one or two members allocates a new table with each addition and deletion.
  #dirty: number[] = [];
  readonly #underWay: number[] = [];
  /**
   * The indices that were removed since the reads under way began; what a reply has about them is outdated.
   */
  readonly #removed = new Set<number>();
  #list: 'not due' | 'due' | 'under way' = 'not due';
  /** True if the list that is being read must be read once more. */
  #isListStale = false;
  /** The record that is not to be read for now. */
  #onHold: number | undefined;

  constructor(of: ReadKind) {
    this.#of = of;
  }

  /**
   * Marks the whole list for reading. To be called when everything is due, or when reads of single records
   * are too many or not enough.
   */
  markAll(): void {
    if (this.#list === 'under way') this.#isListStale = true;
    else this.#list = 'due';
    this.#dirty = [];
  }

  /** To be called for an event that says that the record is new or has changed. */
  onChanged(index: number): void {
    const isBeingRead = this.#underWay.includes(index) && !this.#removed.has(index);
    if (!isBeingRead) this.mark(index);
  }

  /**
   * Keeps one record from being read, because a command changes it now and reads it afterwards. Undefined
   * ends this.
   */
  hold(index: number | undefined): void {
    this.#onHold = index;
  }

  /** Has the record read by a request that begins after this call. */
  mark(index: number): void {
    if (this.#list === 'due' || this.#isListStale) return;
    if (!this.#dirty.includes(index)) this.#dirty.push(index);
    if (this.#dirty.length + this.#underWay.length > BURST_MAX_RECORDS) this.markAll();
  }

  /** To be called for an event that says that the record is gone. */
  onRemoved(index: number): void {
    this.#dirty = this.#dirty.filter((dirty) => dirty !== index);
    const isBeingRead = this.#list === 'under way' || this.#underWay.includes(index);
    if (!isBeingRead) return;
    if (this.#removed.size < REMOVALS_MAX_RECORDS) this.#removed.add(index);
    else this.markAll();
  }

  /** Returns the reads to request now. Each of them must be settled, however it ends. */
  takeDue(): readonly ReadRequest[] {
    if (this.#list === 'under way') return NO_READS;
    if (this.#list === 'due') {
      if (this.#underWay.length > 0) return NO_READS;
      this.#list = 'under way';
      return [{ of: this.#of }];
    }
    if (this.#dirty.length === 0) return NO_READS;
    const reads: ReadRequest[] = [];
    const later: number[] = [];
    for (const index of this.#dirty) {
      if (this.#underWay.includes(index) || index === this.#onHold) {
        later.push(index);
        continue;
      }
      this.#underWay.push(index);
      reads.push({ of: this.#of, index });
    }
    this.#dirty = later;
    return reads;
  }

  /** True if the reply is valid; false if the record was removed meanwhile. */
  settleRecord(index: number): boolean {
    const position = this.#underWay.indexOf(index);
    if (position >= 0) this.#underWay.splice(position, 1);
    return !this.#removed.delete(index);
  }

  /** Returns the indices that were removed meanwhile: the list must not bring them back. */
  settleList(): ReadonlySet<number> {
    const removed = new Set(this.#removed);
    this.#removed.clear();
    this.#list = this.#isListStale ? 'due' : 'not due';
    this.#isListStale = false;
    return removed;
  }
}

/**
 * A command that waits until its record has been read again. It is the running command, or an earlier one
 * whose time ran out, so that it has been answered already.
 */
export interface ReadWaiter {
  readonly read: ReadRequest;
  readonly resolve: () => void;
}

const NO_WAITERS: readonly ReadWaiter[] = [];

export class ReadWaiters {
  #all: ReadWaiter[] = [];

  add(read: ReadRequest): Promise<void> {
    return new Promise((resolve) => this.#all.push({ read, resolve }));
  }

  /** Returns the waiters that a read settles. A list settles all waiters of its kind. */
  take({ of, index }: ReadRequest): readonly ReadWaiter[] {
    if (this.#all.length === 0) return NO_WAITERS;
    const settled = this.#all.filter(
      ({ read }) => read.of === of && (index === undefined || index === read.index),
    );
    this.#all = this.#all.filter((waiter) => !settled.includes(waiter));
    return settled;
  }

  /** Resolves all waiters, because nothing will be read any more. */
  end(): void {
    for (const { resolve } of this.#all.splice(0)) resolve();
  }
}
