// Reads the journal in portions for one client that is behind, until the client has caught up. A cursor
// copies no entries, so it always reads the newest text of a record.

import { COLLECTION_NAMES, COLLECTION_SPECS, type Collection } from '../../protocol/actor/collections.js';
import type { BackendRecord } from '../../protocol/actor/messages.js';
import type { Journal, JournalEntry } from '../journal.js';
import {
  acceptsCollection,
  backendData,
  eventDataOf,
  type Filter,
  kindOf,
  kindOfEntry,
  sequenceIn,
} from './frames.js';
import { Joiner, type StreamItem } from './joiner.js';
import type { EventQuery } from './query.js';

/**
 * A portion ends with the event that reaches this size. The limit is needed because bytes that the kernel
 * does not accept stay in user memory.
 */
const PORTION_MAX_BYTES = 64 * 1024;

export interface CursorContext {
  readonly journal: Journal;
  /** Identifies this run of the daemon in event ids. It may have only letters, digits, `_` and `-`. */
  readonly bootId: string;
  readonly date: () => number;
}

export class Cursor {
  readonly #context: CursorContext;
  readonly #filter: Filter;
  /** Everything up to this sequence number has been read; undefined during a snapshot. */
  #readUpTo: number | undefined;
  /**
   * The sequence number up to which `#items` has read everything. It is valid only when `#items` has ended.
   * The next `#items` are the changes after this number.
   */
  #itemsUpTo = 0;
  /**
   * The ids of records whose `added` event the client already has, although the records' first sequence
   * number is above `knownUpTo` (see the constructor). The next change of such a record makes an `updated`
   * event.
   */
  readonly #introduced = new Set<string>();
  #items: Generator<StreamItem, undefined>;
  #joiner: Joiner;

  /**
   * The client has all events up to the sequence number `readUpTo`. If `readUpTo` is undefined, the client
   * gets a snapshot. The client knows all records whose first number is at most `knownUpTo`.
   *
   * Both numbers are equal, unless the client fell behind in the middle of a batch. For example, a batch has
   * the numbers 5 to 9, and the client has read up to 7. The batch puts a new record with number 5, and puts
   * it again with number 9. Only number 9 has an event, so the client does not know this record yet,
   * although its first number, 5, is below 7. Therefore `knownUpTo` is 4, the number before the batch.
   */
  constructor(context: CursorContext, filter: Filter, readUpTo: number | undefined, knownUpTo = readUpTo) {
    this.#context = context;
    this.#filter = filter;
    this.#readUpTo = readUpTo;
    const { journal } = context;
    if (readUpTo === undefined || knownUpTo === undefined)
      this.#items = this.#snapshot(undefined, journal.newestSequence);
    else {
      // The client already has the events of the entries up to `readUpTo`, so it knows their records.
      for (const entry of journal.entriesAfter(knownUpTo))
        if (entry.sequence <= readUpTo) this.#noteIntroduction(entry, knownUpTo);
      this.#items = this.#changesAfter(readUpTo, knownUpTo);
    }
    // Items are joined only up to `PORTION_MAX_BYTES`. This size is below `DATA_MAX_BYTES`, so the lines of
    // lists are short enough.
    this.#joiner = new Joiner(context.bootId, PORTION_MAX_BYTES);
  }

  /**
   * A last event id of this run of the daemon wins over `snapshot=1`, because a browser's EventSource
   * reconnects to its first URL, which may have `snapshot=1`. With any other id the stream begins with a
   * snapshot, even without `snapshot=1`.
   */
  static forNewStream(context: CursorContext, query: EventQuery): Cursor {
    const { filter, lastEventId, snapshot } = query;
    const { newestSequence } = context.journal;
    if (lastEventId === undefined) return new Cursor(context, filter, snapshot ? undefined : newestSequence);
    const sequence = sequenceIn(lastEventId, context.bootId);
    const canResume = sequence !== undefined && sequence <= newestSequence;
    return new Cursor(context, filter, canResume ? sequence : undefined);
  }

  /** The text of the next portion; undefined when the client has caught up. */
  nextText(): string | undefined {
    for (;;) {
      this.#startSnapshotIfIncomplete();
      const text = this.#readPortion();
      // An empty portion does not mean that the client has caught up: the filter may have accepted no event
      // of `#items`.
      if (text !== '') return text;
      if (this.#readUpTo === this.#context.journal.newestSequence) return undefined;
    }
  }

  /**
   * Concatenates the texts of events until they have at least `PORTION_MAX_BYTES`, or until `#items` ends.
   * Returns '' if `#items` ends without an event.
   */
  #readPortion(): string {
    let text = '';
    let bytes = 0;
    while (bytes < PORTION_MAX_BYTES) {
      const item = this.#items.next().value;
      const completeEvent = this.#joiner.completedEvent(item);
      text += completeEvent?.text ?? '';
      bytes += completeEvent?.bytes ?? 0;
      this.#readUpTo = completeEvent?.upTo ?? this.#readUpTo;
      const haveItemsEnded = item === undefined;
      if (haveItemsEnded) {
        this.#readUpTo = this.#itemsUpTo;
        this.#items = this.#changesAfter(this.#itemsUpTo, this.#itemsUpTo);
        return text;
      }
    }
    return text;
  }

  /** Starts a snapshot if an unread removal or action is not in the journal. */
  #startSnapshotIfIncomplete(): void {
    const readUpTo = this.#readUpTo;
    const { journal, bootId } = this.#context;
    const isAccepted = (collection: Collection) => acceptsCollection(this.#filter, collection);
    if (readUpTo === undefined || journal.isCompleteAfter(readUpTo, isAccepted)) return;
    this.#readUpTo = undefined;
    this.#introduced.clear();
    this.#items = this.#snapshot(readUpTo, journal.newestSequence);
    this.#joiner = new Joiner(bootId, PORTION_MAX_BYTES);
  }

  /** Changes that arrive during the iteration are appended to the journal, so they are read, too. */
  *#changesAfter(sequence: number, knownUpTo: number): Generator<StreamItem, undefined> {
    for (const entry of this.#context.journal.entriesAfter(sequence)) {
      const isIntroduced = this.#introduced.has(recordId(entry));
      // An introduced record has its own first number as `recordKnownUpTo`. So `kindOfEntry` counts the
      // record as known, and the client gets an `updated` event.
      const recordKnownUpTo = isIntroduced ? entry.firstSequence : knownUpTo;
      const item = this.#itemOf(entry, recordKnownUpTo, entry.sequence);
      if (item !== undefined) yield item;
      this.#noteIntroduction(entry, knownUpTo);
    }
    // The next call of `#changesAfter` reads the entries that arrive from now on. Its `knownUpTo` is
    // `#itemsUpTo`, so it counts all earlier records as known without `#introduced`.
    this.#introduced.clear();
    this.#itemsUpTo = this.#context.journal.newestSequence;
    return undefined;
  }

  /**
   * Only the last event of a snapshot has an id, so a client that loses the connection before this event gets
   * the whole snapshot again. Each item is delayed until it is known whether another item follows, because
   * only the last item gets the id. Changes after `newest` come after the snapshot.
   */
  *#snapshot(readUpTo: number | undefined, newest: number): Generator<StreamItem, undefined> {
    this.#itemsUpTo = newest;
    let delayed: StreamItem | undefined;
    for (const item of this.#snapshotItems(readUpTo, newest)) {
      if (delayed !== undefined) yield delayed;
      delayed = item;
    }
    if (delayed !== undefined) yield { ...delayed, upTo: newest };
    return undefined;
  }

  /**
   * The items come in this order:
   * - the removals and actions after `readUpTo`, if `readUpTo` is defined
   * - for each enabled child: a mark, an event with the child's detail if it has a detail, and its records
   *
   * A mark is a `backend.updated` with the detail "snapshot". It makes the client forget the child's records.
   */
  *#snapshotItems(readUpTo: number | undefined, newest: number): Iterable<StreamItem> {
    if (readUpTo !== undefined) yield* this.#removalsAndActions(readUpTo, newest);
    for (const childEntry of this.#context.journal.records('backends')) {
      const { backend: child, state, detail } = JSON.parse(childEntry.json) as BackendRecord;
      const kind = kindOf('backend.updated', child);
      // The filter does not apply to marks. Every child has a kind of `backend.updated`, so the condition is
      // only for the compiler.
      if (kind !== undefined) yield { kind, json: backendData(child, state, 'snapshot'), upTo: undefined };
      const detailItem = detail === undefined ? undefined : this.#itemOf(childEntry, newest);
      if (detailItem !== undefined) yield detailItem;
      yield* this.#recordsOf(childEntry.key, newest);
    }
  }

  *#removalsAndActions(readUpTo: number, newest: number): Iterable<StreamItem> {
    for (const entry of this.#context.journal.entriesAfter(readUpTo)) {
      if (entry.sequence > newest) break;
      const item = entry.kind === 'record' ? undefined : this.#itemOf(entry, newest);
      if (item !== undefined) yield item;
    }
  }

  /**
   * Records of collections with `keeps` are in no snapshot (protocol/actor/collections.ts). A record whose
   * first sequence number is above `newest` comes after the snapshot, as a change.
   */
  *#recordsOf(child: string, newest: number): Iterable<StreamItem> {
    for (const collection of COLLECTION_NAMES) {
      const spec = COLLECTION_SPECS[collection];
      if (spec.backend !== child || spec.keeps !== undefined) continue;
      for (const entry of this.#context.journal.records(collection)) {
        const isLater = entry.firstSequence > newest;
        const item = isLater ? undefined : this.#itemOf(this.#inSnapshot(entry), undefined);
        if (item !== undefined) yield item;
      }
    }
  }

  /**
   * The entry with the text that a snapshot has for it. If the entry's collection has `inSnapshots`, this is
   * the text of the record with the same key in that other collection, if there is one. For example, the run
   * in `upgrade.info` gets the text of `upgrade.run`, which includes the progress.
   */
  #inSnapshot(entry: JournalEntry): JournalEntry {
    const { inSnapshots } = COLLECTION_SPECS[entry.collection];
    const record = inSnapshots && this.#context.journal.record(inSnapshots, entry.key);
    return record === undefined ? entry : { ...entry, json: record.json };
  }

  #noteIntroduction(entry: JournalEntry, knownUpTo: number): void {
    if (COLLECTION_SPECS[entry.collection].added === undefined) return;
    if (entry.kind === 'removal') this.#introduced.delete(recordId(entry));
    else if (entry.firstSequence > knownUpTo) this.#introduced.add(recordId(entry));
  }

  /**
   * Undefined if the filter does not accept the entry, or if the entry makes no event. `knownUpTo` only
   * decides whether the event of a record is `added` or `updated`. If `knownUpTo` is undefined, all records
   * are new to the client. Removals, actions and backends have no `added` event, so `knownUpTo` has no effect
   * on them.
   */
  #itemOf(entry: JournalEntry, knownUpTo: number | undefined, upTo?: number): StreamItem | undefined {
    const kind = kindOfEntry(entry, knownUpTo);
    if (kind === undefined || !this.#filter.has(kind)) return undefined;
    return { kind, json: eventDataOf(entry, this.#context.date()), upTo };
  }
}

function recordId({ collection, key }: JournalEntry): string {
  return `${collection} ${key}`;
}
