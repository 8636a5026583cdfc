// Reads the journal for one client that is behind: a filter and a sequence number, read in portions until it
// has caught up. It copies nothing: unread entries stay in the journal, and the newest text is read.
//
// A snapshot consists of the removals and actions since the client's id, if that is from this run of the
// daemon; then for each backend, whatever the filter, a mark (a `backend.updated` with detail "snapshot":
// forget what you know of this backend), the detail of the backend if it has one, and its records.
// Only its last event has an id, so a client that loses the connection in between gets the whole snapshot
// again.

import { COLLECTION_NAMES, type Collection, SPECS } from '../../protocol/actor/collections.js';
import type { BackendRecord } from '../../protocol/actor/messages.js';
import type { Journal, JournalEntry } from '../journal.js';
import {
  acceptsCollection,
  backendWords,
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
   * Where to read on behind `#items`: the newest sequence number when its snapshot began, or when the last
   * entry was found.
   */
  #next = 0;
  /**
   * Records that the client has got as new since `#items` began, of collections that have an event for that.
   */
  readonly #introduced = new Set<string>();
  #items: Generator<StreamItem, undefined>;
  #joiner: Joiner;

  /**
   * `reached`: the client has all events up to this sequence number of this run of the daemon; without it the
   * client gets a snapshot. `known`: the client knows all records up to this sequence number. It is smaller
   * than `reached` if the client fell behind in the middle of a delivery: of the records in between, the
   * client knows only those that it has read.
   */
  constructor(context: CursorContext, filter: Filter, reached: number | undefined, known = reached) {
    this.#context = context;
    this.#filter = filter;
    this.#reached = reached;
    const { journal } = context;
    if (reached === undefined || known === undefined) this.#items = this.#snapshot(undefined, journal.newest);
    else {
      for (const entry of journal.after(known)) if (entry.sequence <= reached) this.#note(entry, known);
      this.#items = this.#follow(reached, known);
    }
    this.#joiner = new Joiner(context.bootId, PORTION_BYTES_MAX);
  }

  /**
   * For a new stream. A resumable id wins over `snapshot=1`, because a browser's EventSource reconnects to
   * the URL that it started with. For an id that cannot be resumed it starts with a snapshot, even without
   * `snapshot=1`.
   */
  static opened(context: CursorContext, query: EventQuery): Cursor {
    const { filter, lastEventId, snapshot } = query;
    const { newest } = context.journal;
    if (lastEventId === undefined) return new Cursor(context, filter, snapshot ? undefined : newest);
    const sequence = sequenceIn(lastEventId, context.bootId);
    const isKnown = sequence !== undefined && sequence <= newest;
    return new Cursor(context, filter, isKnown ? sequence : undefined);
  }

  /** The next text; undefined when it has caught up. */
  take(): string | undefined {
    for (;;) {
      this.#fallBack();
      const text = this.#portion();
      if (text !== '') return text;
      if (this.#reached === this.#context.journal.newest) return undefined;
    }
  }

  #portion(): string {
    let text = '';
    while (text.length < PORTION_BYTES_MAX) {
      const item = this.#items.next().value;
      const event = this.#joiner.next(item);
      text += event?.text ?? '';
      this.#reached = event?.upTo ?? this.#reached;
      if (item !== undefined) continue;
      this.#reached = this.#next;
      this.#items = this.#follow(this.#next, this.#next);
      break;
    }
    return text;
  }

  /** Starts a snapshot if the journal lacks an entry that was not read yet. */
  #fallBack(): void {
    const reached = this.#reached;
    const { journal, bootId } = this.#context;
    const isAccepted = (collection: Collection) => acceptsCollection(this.#filter, collection);
    if (reached === undefined || journal.reaches(reached, isAccepted)) return;
    this.#reached = undefined;
    this.#introduced.clear();
    this.#items = this.#snapshot(reached, journal.newest);
    this.#joiner = new Joiner(bootId, PORTION_BYTES_MAX);
  }

  /** Also reads changes that arrive during the iteration, as they are appended to the journal. */
  *#follow(from: number, known: number): Generator<StreamItem, undefined> {
    for (const entry of this.#context.journal.after(from)) {
      const isAgain = this.#introduced.has(recordOf(entry));
      const item = this.#item(entry, isAgain ? entry.since : known, entry.sequence);
      if (item !== undefined) yield item;
      this.#note(entry, known);
    }
    this.#introduced.clear();
    // Entries that come while the last items wait to be written are not read by this iteration any more.
    this.#next = this.#context.journal.newest;
    return undefined;
  }

  /** Gives the last item the id of the whole snapshot; later changes than `newest` follow it. */
  *#snapshot(known: number | undefined, newest: number): Generator<StreamItem, undefined> {
    this.#next = newest;
    let last: StreamItem | undefined;
    for (const item of this.#snapshotItems(known, newest)) {
      if (last !== undefined) yield last;
      last = item;
    }
    if (last !== undefined) yield { ...last, upTo: newest };
    return undefined;
  }

  *#snapshotItems(known: number | undefined, newest: number): Iterable<StreamItem> {
    const { journal } = this.#context;
    if (known !== undefined) {
      for (const entry of journal.after(known)) {
        if (entry.sequence > newest) break;
        const item = entry.kind === 'record' ? undefined : this.#item(entry, newest, undefined);
        if (item !== undefined) yield item;
      }
    }
    for (const backend of journal.records('backends')) {
      const { backend: name, state, detail } = JSON.parse(backend.json) as BackendRecord;
      const kind = kindOf('backend.updated', name);
      // Sent whatever the filter.
      if (kind !== undefined) yield { kind, json: backendWords(name, state, 'snapshot'), upTo: undefined };
      // The mark has no room for the reason.
      const reason = detail === undefined ? undefined : this.#item(backend, newest, undefined);
      if (reason !== undefined) yield reason;
      for (const collection of COLLECTION_NAMES) {
        const spec = SPECS[collection];
        if (spec.backend !== backend.key || spec.keeps !== undefined) continue;
        for (const entry of journal.records(collection)) {
          // One that came later follows behind the snapshot.
          const item = entry.since > newest ? undefined : this.#item(entry, undefined, undefined);
          if (item !== undefined) yield item;
        }
      }
    }
  }

  #note(entry: JournalEntry, known: number): void {
    if (SPECS[entry.collection].added === undefined) return;
    if (entry.kind === 'removal') this.#introduced.delete(recordOf(entry));
    else if (entry.since > known) this.#introduced.add(recordOf(entry));
  }

  #item(entry: JournalEntry, known: number | undefined, upTo: number | undefined): StreamItem | undefined {
    const kind = kindOfEntry(entry, known);
    if (kind === undefined || !this.#filter.has(kind)) return undefined;
    return { kind, json: eventDataOf(entry, this.#context.date()), upTo };
  }
}

function recordOf({ collection, key }: JournalEntry): string {
  return `${collection} ${key}`;
}
