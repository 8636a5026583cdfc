// Reads the journal for one client that is behind, in portions, until the client has caught up. A cursor is
// a filter and a sequence number. It copies nothing: unread entries stay in the journal, so what is read is
// the newest text of each record.
//
// A snapshot begins with the removals and actions since the client's id, if that id is from this run of the
// daemon. Then it has a mark for each backend, the backend's detail if there is one, and its records. A mark
// is a `backend.updated` with detail "snapshot", which no filter keeps back: the client forgets what it
// knows of this backend. Only the last event of a snapshot has an id, so a client that loses the connection
// in between gets the whole snapshot again.

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
 * Bytes that the kernel does not accept stay in user memory, so a single write is not much larger than this.
 */
const PORTION_BYTES_MAX = 64 * 1024;

export interface CursorContext {
  readonly journal: Journal;
  /** Identifies this run of the daemon in event ids: letters, digits, `_`, `-`. */
  readonly bootId: string;
  readonly date: () => number;
}

export class Cursor {
  readonly #context: CursorContext;
  readonly #filter: Filter;
  /** Everything up to this sequence number has been read; undefined during a snapshot. */
  #reached: number | undefined;
  /**
   * When `#items` has ended, reading goes on after this sequence number. This was the newest one when the
   * snapshot began, or when the last change was found.
   */
  #readFrom = 0;
  /**
   * Records whose `added` event the client has received since `#items` began. Their next change is an
   * `updated` event, although they are newer than `knownUpTo`.
   */
  readonly #introduced = new Set<string>();
  #items: Generator<StreamItem, undefined>;
  #joiner: Joiner;

  /**
   * `reached`: the client has all events up to this sequence number of this run of the daemon; without it the
   * client gets a snapshot. `knownUpTo`: the client knows all records up to this sequence number. It is
   * smaller than `reached` if the client fell behind in the middle of a delivery: of the records in between,
   * the client knows only those whose events it has received.
   */
  constructor(context: CursorContext, filter: Filter, reached: number | undefined, knownUpTo = reached) {
    this.#context = context;
    this.#filter = filter;
    this.#reached = reached;
    const { journal } = context;
    if (reached === undefined || knownUpTo === undefined)
      this.#items = this.#snapshot(undefined, journal.newest);
    else {
      for (const entry of journal.after(knownUpTo))
        if (entry.sequence <= reached) this.#noteIntroduction(entry, knownUpTo);
      this.#items = this.#changesAfter(reached, knownUpTo);
    }
    this.#joiner = new Joiner(context.bootId, PORTION_BYTES_MAX);
  }

  /**
   * The cursor of a new stream. A resumable id wins over `snapshot=1`, because a browser's EventSource
   * reconnects to the URL that it started with. If an id cannot be resumed, the stream starts with a
   * snapshot, even without `snapshot=1`.
   */
  static forNewStream(context: CursorContext, query: EventQuery): Cursor {
    const { filter, lastEventId, snapshot } = query;
    const { newest } = context.journal;
    if (lastEventId === undefined) return new Cursor(context, filter, snapshot ? undefined : newest);
    const sequence = sequenceIn(lastEventId, context.bootId);
    const isKnown = sequence !== undefined && sequence <= newest;
    return new Cursor(context, filter, isKnown ? sequence : undefined);
  }

  /** The next text; undefined when the client has caught up. */
  nextText(): string | undefined {
    for (;;) {
      this.#fallBackIfIncomplete();
      const text = this.#readPortion();
      if (text !== '') return text;
      if (this.#reached === this.#context.journal.newest) return undefined;
    }
  }

  /** The text of events of about `PORTION_BYTES_MAX` in all; '' if there is no event for the client. */
  #readPortion(): string {
    let text = '';
    while (text.length < PORTION_BYTES_MAX) {
      const item = this.#items.next().value;
      const event = this.#joiner.next(item);
      text += event?.text ?? '';
      this.#reached = event?.upTo ?? this.#reached;
      if (item === undefined) {
        // `#items` has ended, so the next portion begins with what has changed since.
        this.#reached = this.#readFrom;
        this.#items = this.#changesAfter(this.#readFrom, this.#readFrom);
        return text;
      }
    }
    return text;
  }

  /** Starts a snapshot if the journal has dropped an entry that was not read yet. */
  #fallBackIfIncomplete(): void {
    const reached = this.#reached;
    const { journal, bootId } = this.#context;
    const isAccepted = (collection: Collection) => acceptsCollection(this.#filter, collection);
    if (reached === undefined || journal.isCompleteAfter(reached, isAccepted)) return;
    this.#reached = undefined;
    this.#introduced.clear();
    this.#items = this.#snapshot(reached, journal.newest);
    this.#joiner = new Joiner(bootId, PORTION_BYTES_MAX);
  }

  /** Also reads changes that arrive during the iteration, as they are appended to the journal. */
  *#changesAfter(from: number, knownUpTo: number): Generator<StreamItem, undefined> {
    for (const entry of this.#context.journal.after(from)) {
      const isIntroduced = this.#introduced.has(recordOf(entry));
      const item = this.#itemOf(entry, isIntroduced ? entry.since : knownUpTo, entry.sequence);
      if (item !== undefined) yield item;
      this.#noteIntroduction(entry, knownUpTo);
    }
    this.#introduced.clear();
    // The iteration is over, so the next iteration reads entries that come while the last item waits.
    this.#readFrom = this.#context.journal.newest;
    return undefined;
  }

  /** Gives the last item the id of the whole snapshot. Changes after `newest` follow behind the snapshot. */
  *#snapshot(knownUpTo: number | undefined, newest: number): Generator<StreamItem, undefined> {
    this.#readFrom = newest;
    let last: StreamItem | undefined;
    for (const item of this.#snapshotItems(knownUpTo, newest)) {
      if (last !== undefined) yield last;
      last = item;
    }
    if (last !== undefined) yield { ...last, upTo: newest };
    return undefined;
  }

  /** `knownUpTo`: the client gets the removals and actions after this sequence number, too. */
  *#snapshotItems(knownUpTo: number | undefined, newest: number): Iterable<StreamItem> {
    const { journal } = this.#context;
    if (knownUpTo !== undefined) {
      for (const entry of journal.after(knownUpTo)) {
        if (entry.sequence > newest) break;
        const item = entry.kind === 'record' ? undefined : this.#itemOf(entry, newest, undefined);
        if (item !== undefined) yield item;
      }
    }
    for (const backend of journal.records('backends')) {
      const { backend: name, state, detail } = JSON.parse(backend.json) as BackendRecord;
      const kind = kindOf('backend.updated', name);
      // The mark is sent whatever the filter.
      if (kind !== undefined) yield { kind, json: backendData(name, state, 'snapshot'), upTo: undefined };
      // The mark has a detail of its own, so the backend's detail is an event behind it.
      const reason = detail === undefined ? undefined : this.#itemOf(backend, newest, undefined);
      if (reason !== undefined) yield reason;
      for (const collection of COLLECTION_NAMES) {
        const spec = COLLECTION_SPECS[collection];
        if (spec.backend !== backend.key || spec.keeps !== undefined) continue;
        for (const entry of journal.records(collection)) {
          // A record that came later is a change after the snapshot.
          const item = entry.since > newest ? undefined : this.#itemOf(entry, undefined, undefined);
          if (item !== undefined) yield item;
        }
      }
    }
  }

  /** Updates `#introduced` after an event for `entry`. */
  #noteIntroduction(entry: JournalEntry, knownUpTo: number): void {
    if (COLLECTION_SPECS[entry.collection].added === undefined) return;
    if (entry.kind === 'removal') this.#introduced.delete(recordOf(entry));
    else if (entry.since > knownUpTo) this.#introduced.add(recordOf(entry));
  }

  #itemOf(
    entry: JournalEntry,
    knownUpTo: number | undefined,
    upTo: number | undefined,
  ): StreamItem | undefined {
    const kind = kindOfEntry(entry, knownUpTo);
    if (kind === undefined || !this.#filter.has(kind)) return undefined;
    return { kind, json: eventDataOf(entry, this.#context.date()), upTo };
  }
}

function recordOf({ collection, key }: JournalEntry): string {
  return `${collection} ${key}`;
}
