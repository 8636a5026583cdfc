// Decides what to read after the server's events, and which callers wait for which read. Pure: reading.ts
// sends the requests.

import type { Reply } from '../../protocol/pulse/commands.js';
import type { RecordKind, SoundState } from './state.js';

/**
 * At most this many records of one kind are due or being read, counted together. If there are more, the whole
 * list is read instead, which costs about as much as this many single reads.
 */
export const BURST_MAX_RECORDS = 16;

/**
 * At most this many removals are remembered while records are being read. After a further removal, the whole
 * list is read again.
 */
export const REMOVALS_MAX_RECORDS = 4096;

/** The kinds of records, and the server's info, which is a single record. */
export type ReadKind = RecordKind | 'server';

/** One read request; without an index it reads the whole list. */
export interface ReadRequest {
  readonly kind: ReadKind;
  readonly index?: number;
}

export const READ_KINDS: readonly ReadKind[] = ['server', 'card', 'sink', 'source', 'sink-input'];

interface RecordRequests {
  readonly sink: 'GET_SINK_INFO';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO';
  readonly card: 'GET_CARD_INFO';
  readonly source: 'GET_SOURCE_INFO';
}

/** How one record is read: the request, and the method that stores its reply. */
export interface RecordRead<K extends RecordKind> {
  readonly command: RecordRequests[K];
  put(state: SoundState, record: Reply<RecordRequests[K]>): void;
}

export const RECORD_READS: { readonly [K in RecordKind]: RecordRead<K> } = {
  sink: { command: 'GET_SINK_INFO', put: (state, info) => state.putSink(info) },
  'sink-input': { command: 'GET_SINK_INPUT_INFO', put: (state, info) => state.putSinkInput(info) },
  card: { command: 'GET_CARD_INFO', put: (state, info) => state.cards.put(info) },
  source: { command: 'GET_SOURCE_INFO', put: ({ sources }, info) => sources.put(info) },
};

interface ListRequests {
  readonly server: 'GET_SERVER_INFO';
  readonly sink: 'GET_SINK_INFO_LIST';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO_LIST';
  readonly card: 'GET_CARD_INFO_LIST';
  readonly source: 'GET_SOURCE_INFO_LIST';
}

/**
 * How a whole list is read. `removed` has the indices of the records that were removed while the list was
 * read.
 */
export interface ListRead<K extends ReadKind> {
  readonly command: ListRequests[K];
  put(state: SoundState, list: Reply<ListRequests[K]>, removed: ReadonlySet<number>): void;
}

export const LIST_READS: { readonly [K in ReadKind]: ListRead<K> } = {
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

const NO_READS: readonly ReadRequest[] = [];

/**
 * The reads of one kind. A removal is applied at once. Every other event only causes a read, whether it says
 * `new` or `change`, because PipeWire drops and merges events.
 *
 * A list is never read at the same time as single records. PipeWire may reply to both out of order, and an
 * older record would then replace a newer one from the list.
 *
 * If an event comes while a single read of its record is under way, the record is not read again
 * (`onChanged`). PulseAudio and PipeWire keep events and replies about one record in order, so the reply to
 * this read contains the change.
 */
export class Refetch {
  readonly #kind: ReadKind;
  // `#dueRecords` and `#recordsUnderWay` together have at most BURST_MAX_RECORDS indices. They are arrays,
  // because a set that mostly has one or two members allocates a new table with each addition and deletion.
  #dueRecords: number[] = [];
  readonly #recordsUnderWay: number[] = [];
  /**
   * The indices of records that were removed since the reads under way began. If a reply to these reads
   * still has such a record, the record is outdated.
   */
  readonly #removed = new Set<number>();
  #listState: 'not due' | 'due' | 'under way' = 'not due';
  /** True if the list must be read once more after the read that is under way. */
  #isListStale = false;
  /**
   * The index of a record for which no single read begins, because a command changes the record now and
   * reads it afterwards. A read of the whole list may still contain the record.
   */
  #delayedRecord: number | undefined;

  constructor(kind: ReadKind) {
    this.#kind = kind;
  }

  /** Makes the whole list due. */
  markList(): void {
    if (this.#listState === 'under way') this.#isListStale = true;
    else this.#listState = 'due';
    this.#dueRecords = [];
  }

  /** To be called when an event says that the record is new or has changed. */
  onChanged(index: number): void {
    // If the record was removed during the read, the reply to this read is not used (`settleRecord`). A new
    // record may have the same index now, and must be read.
    const isChangeInReply = this.#recordsUnderWay.includes(index) && !this.#removed.has(index);
    if (!isChangeInReply) this.markRecord(index);
  }

  /**
   * No single read of this record begins until `release` is called. Without an index, no read is delayed.
   */
  hold(index: number | undefined): void {
    this.#delayedRecord = index;
  }

  release(): void {
    this.#delayedRecord = undefined;
  }

  /** Makes the record due, even if it is being read now. */
  markRecord(index: number): void {
    const willListBeRead = this.#listState === 'due' || this.#isListStale;
    if (willListBeRead) return;
    if (!this.#dueRecords.includes(index)) this.#dueRecords.push(index);
    if (this.#dueRecords.length + this.#recordsUnderWay.length > BURST_MAX_RECORDS) this.markList();
  }

  /** To be called when an event says that the record is gone. */
  onRemoved(index: number): void {
    this.#dueRecords = this.#dueRecords.filter((due) => due !== index);
    const isBeingRead = this.#listState === 'under way' || this.#recordsUnderWay.includes(index);
    if (!isBeingRead) return;
    if (this.#removed.size < REMOVALS_MAX_RECORDS) this.#removed.add(index);
    else this.markList();
  }

  /**
   * Returns the reads to request now. `settleList` or `settleRecord` must be called for each of them, even
   * if the read fails.
   */
  takeDue(): readonly ReadRequest[] {
    if (this.#listState === 'under way') return NO_READS;
    if (this.#listState === 'due') {
      if (this.#recordsUnderWay.length > 0) return NO_READS;
      this.#listState = 'under way';
      return [{ kind: this.#kind }];
    }
    if (this.#dueRecords.length === 0) return NO_READS;
    const reads: ReadRequest[] = [];
    const stillDue: number[] = [];
    for (const index of this.#dueRecords) {
      if (this.#recordsUnderWay.includes(index) || index === this.#delayedRecord) {
        stillDue.push(index);
        continue;
      }
      this.#recordsUnderWay.push(index);
      reads.push({ kind: this.#kind, index });
    }
    this.#dueRecords = stillDue;
    return reads;
  }

  /** Returns false if the record was removed meanwhile, which makes the reply invalid. */
  settleRecord(index: number): boolean {
    const position = this.#recordsUnderWay.indexOf(index);
    if (position >= 0) this.#recordsUnderWay.splice(position, 1);
    return !this.#removed.delete(index);
  }

  /**
   * Returns the indices of the records that were removed meanwhile. These records are outdated in the list.
   */
  settleList(): ReadonlySet<number> {
    const removed = new Set(this.#removed);
    this.#removed.clear();
    this.#listState = this.#isListStale ? 'due' : 'not due';
    this.#isListStale = false;
    return removed;
  }
}

/**
 * A caller that waits until a record or list has been read again, mostly the command that runs now. If the
 * time of a command runs out, its client is answered, but its waiter stays until the read ends.
 */
export interface ReadWaiter {
  readonly read: ReadRequest;
  readonly resolve: () => void;
}

const NO_WAITERS: readonly ReadWaiter[] = [];

export class ReadWaiters {
  #waiters: ReadWaiter[] = [];

  add(read: ReadRequest): Promise<void> {
    return new Promise((resolve) => this.#waiters.push({ read, resolve }));
  }

  /**
   * Removes and returns the waiters of this record, or all waiters of the kind if `index` is absent. To be
   * called when a read begins, and when the record is removed. Waiters that are added after the beginning
   * wait for the next read. The caller resolves the returned waiters after the reply to the read, or after
   * the removal.
   */
  take({ kind, index }: ReadRequest): readonly ReadWaiter[] {
    if (this.#waiters.length === 0) return NO_WAITERS;
    const taken = this.#waiters.filter(({ read }) => {
      const coversRecord = index === undefined || index === read.index;
      return read.kind === kind && coversRecord;
    });
    this.#waiters = this.#waiters.filter((waiter) => !taken.includes(waiter));
    return taken;
  }

  /** Resolves all waiters, because nothing will be read any more. */
  end(): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve();
  }
}
