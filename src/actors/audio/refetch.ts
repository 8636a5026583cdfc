// Decides what to read after the server's events, and has the table of the reads: the request for each kind
// of record, all of them or one, and where its reply goes in the state. Pure: others send the requests.
// Events are only hints (PipeWire drops and merges them), never data.

import type { Reply, RequestName } from '../../protocol/pulse/commands.js';
import type { RecordKind, SoundState } from './state.js';

/**
 * Per kind: above this number of dirty or running records the whole list is read instead, which costs about
 * as much.
 */
export const BURST_MAX_RECORDS = 16;

/** Removals remembered while a list is being read; beyond this the list is read again instead. */
export const REMOVALS_MAX_RECORDS = 4096;

/** Kinds that can be read: records, or the server's info, which is single and has no list. */
export type ReadKind = RecordKind | 'server';

/** One read request; without an index it reads the whole list. */
export interface ReadRequest {
  readonly of: ReadKind;
  readonly index?: number;
}

/**
 * A read request, and the method that stores its reply. For a list that method also gets the records that
 * were removed while the list was read.
 */
export interface ReadSpec<C extends RequestName, Removed extends readonly ReadonlySet<number>[] = []> {
  readonly command: C;
  put(state: SoundState, value: Reply<C>, ...removed: Removed): void;
}

export interface ReadRequests {
  readonly server: 'GET_SERVER_INFO';
  readonly sink: 'GET_SINK_INFO_LIST';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO_LIST';
  readonly card: 'GET_CARD_INFO_LIST';
  readonly source: 'GET_SOURCE_INFO_LIST';
}

/**
 * The order of reading. Sinks come after cards, so that a new profile is never read later than its outputs.
 */
export const KINDS: readonly ReadKind[] = ['server', 'card', 'sink', 'source', 'sink-input'];

export interface OneRequest {
  readonly sink: 'GET_SINK_INFO';
  readonly 'sink-input': 'GET_SINK_INPUT_INFO';
  readonly card: 'GET_CARD_INFO';
  readonly source: 'GET_SOURCE_INFO';
}

export const ALL: { readonly [K in ReadKind]: ReadSpec<ReadRequests[K], [ReadonlySet<number>]> } = {
  server: { command: 'GET_SERVER_INFO', put: (state, info) => state.putServer(info) },
  sink: { command: 'GET_SINK_INFO_LIST', put: (state, list, past) => state.replaceSinks(list, past) },
  'sink-input': {
    command: 'GET_SINK_INPUT_INFO_LIST',
    put: (state, list, past) => state.replaceInputs(list, past),
  },
  card: { command: 'GET_CARD_INFO_LIST', put: (state, list, past) => state.cards.replace(list, past) },
  source: { command: 'GET_SOURCE_INFO_LIST', put: ({ sources }, list, past) => sources.replace(list, past) },
};

export const ONE: { readonly [K in RecordKind]: ReadSpec<OneRequest[K]> } = {
  sink: { command: 'GET_SINK_INFO', put: (state, info) => state.putSink(info) },
  'sink-input': { command: 'GET_SINK_INPUT_INFO', put: (state, info) => state.putInput(info) },
  card: { command: 'GET_CARD_INFO', put: (state, info) => state.cards.put(info) },
  source: { command: 'GET_SOURCE_INFO', put: ({ sources }, info) => sources.put(info) },
};

const NONE: readonly ReadRequest[] = [];

/**
 * The reads of one kind. A list and single records are never read at the same time: PipeWire may reply out of
 * order, and an older reply about one record would then undo a newer list. An event about a record that is
 * being read needs no further read: both servers send events and replies about one record in order, so the
 * reply is newer than the event.
 */
export class Refetch {
  readonly #of: ReadKind;
  // Together at most BURST_MAX_RECORDS. These are arrays, because a set that mostly has one or two members
  // allocates a new table with each addition and deletion.
  #dirty: number[] = [];
  readonly #underWay: number[] = [];
  /** Removed since the running reads began; their replies about these records are outdated. */
  readonly #removed = new Set<number>();
  #list: 'not due' | 'due' | 'under way' = 'not due';
  #listAgain = false;
  #onHold: number | undefined;

  constructor(of: ReadKind) {
    this.#of = of;
  }

  /** Marks everything: at connect, once a minute, and after anything odd. */
  markAll(): void {
    if (this.#list === 'under way') this.#listAgain = true;
    else this.#list = 'due';
    this.#dirty = [];
  }

  changed(index: number): void {
    const isBeingRead = this.#underWay.includes(index) && !this.#removed.has(index);
    if (!isBeingRead) this.mark(index);
  }

  /** Keeps this record from being read for now: a command changes it and reads it when done. */
  hold(index: number | undefined): void {
    this.#onHold = index;
  }

  /** Has the record read by a request that begins after this call. */
  mark(index: number): void {
    if (this.#list === 'due' || this.#listAgain) return;
    if (!this.#dirty.includes(index)) this.#dirty.push(index);
    if (this.#dirty.length + this.#underWay.length > BURST_MAX_RECORDS) this.markAll();
  }

  markRemoved(index: number): void {
    this.#dirty = this.#dirty.filter((dirty) => dirty !== index);
    if (this.#list !== 'under way' && !this.#underWay.includes(index)) return;
    if (this.#removed.size < REMOVALS_MAX_RECORDS) this.#removed.add(index);
    else this.markAll();
  }

  /** Returns the reads to request now. Each of them must be settled, however it ends. */
  take(): readonly ReadRequest[] {
    if (this.#list === 'under way' || (this.#list === 'not due' && this.#dirty.length === 0)) return NONE;
    if (this.#list === 'due') {
      if (this.#underWay.length > 0) return NONE;
      this.#list = 'under way';
      return [{ of: this.#of }];
    }
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

  /** True when the reply is valid; false when the record was removed meanwhile. */
  settleOne(index: number): boolean {
    const at = this.#underWay.indexOf(index);
    if (at >= 0) this.#underWay.splice(at, 1);
    return !this.#removed.delete(index);
  }

  /** Returns the records removed meanwhile, which the list must not bring back. */
  settleList(): ReadonlySet<number> {
    const past = new Set(this.#removed);
    this.#removed.clear();
    this.#list = this.#listAgain ? 'due' : 'not due';
    this.#listAgain = false;
    return past;
  }
}

/**
 * A command that waits until its record has been read again. It is the running one, or an earlier one whose
 * time has run out meanwhile.
 */
export interface ReadWaiter {
  readonly read: ReadRequest;
  readonly done: () => void;
}

const NOBODY: readonly ReadWaiter[] = [];

export class ReadWaiters {
  #all: ReadWaiter[] = [];

  add(read: ReadRequest): Promise<void> {
    return new Promise((done) => this.#all.push({ read, done }));
  }

  /** Returns the waiters that a read settles. A list settles all waiters of its kind. */
  take({ of, index }: ReadRequest): readonly ReadWaiter[] {
    if (this.#all.length === 0) return NOBODY;
    const taken = this.#all.filter(
      ({ read }) => read.of === of && (index === undefined || index === read.index),
    );
    this.#all = this.#all.filter((waiter) => !taken.includes(waiter));
    return taken;
  }

  end(): void {
    for (const { done } of this.#all.splice(0)) done();
  }
}
