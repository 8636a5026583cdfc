// The event hub: frames each change of the journal once, and gives the same text to every stream whose filter
// matches and that keeps up. It does no I/O, and uses only the clock that it is given.

import type { Clock } from '../../host/clock.js';
import { LEVEL_EVENT } from '../../protocol/actor/collections.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Journal, JournalEntry } from '../journal.js';
import { Cursor, type CursorContext } from './cursor.js';
import { acceptsCollection, eventDataOf, frame, hello, kindOfEntry, LEVEL_KIND, love } from './frames.js';
import { type FramedEvent, Joiner } from './joiner.js';
import { DATA_MAX_BYTES } from './line-length.js';
import type { EventQuery } from './query.js';
import { EventStream, type OpenStream, type TextSink } from './stream.js';

/**
 * Keep-alives that are due within this time of each other share one wake-up, and stay together from then on.
 */
const SLACK_MS = 250;

export interface HubOptions {
  /** Identifies this run of the daemon in event ids: letters, digits, `_`, `-`. */
  readonly bootId: string;
  readonly clock: Clock;
  readonly maxClients: number;
  readonly journal: Journal;
  readonly watchLevels: (isWatched: boolean) => void;
}

export class EventHub {
  readonly #options: HubOptions;
  readonly #context: CursorContext;
  readonly #joiner: Joiner;
  readonly #streams = new Set<EventStream>();
  /** One timer for the keep-alives of all streams, so that an idle node can sleep; none without streams. */
  #armed: { readonly at: number; readonly cancel: () => void } | undefined;
  #closedSlow = 0;
  #published = 0;
  #allLeft: () => void = () => undefined;
  /**
   * Streams that kept up knew everything up to this sequence number when the newest delivery began, and up to
   * this one when it ended.
   */
  readonly #known = { before: 0, after: 0 };

  constructor(options: HubOptions) {
    const { journal, bootId, clock } = options;
    this.#options = options;
    this.#context = { journal, bootId, date: clock.date };
    this.#joiner = new Joiner(bootId, DATA_MAX_BYTES);
  }

  /** `date`: the time of the change, in milliseconds since the epoch. */
  publish(entries: readonly JournalEntry[], date: number): void {
    this.#known.before = this.#known.after;
    this.#known.after = this.#options.journal.newest;
    if (this.#streams.size === 0) return;
    const behind: EventStream[] = [];
    for (const entry of entries) {
      const kind = kindOfEntry(entry, this.#known.before);
      if (kind !== undefined)
        this.#send(this.#joiner.next({ kind, json: eventDataOf(entry, date), upTo: entry.sequence }));
      else if (entry.kind === 'removal') behind.push(...this.#fallBack(entry));
    }
    this.#send(this.#joiner.next(undefined));
    // Not earlier: they read all of these entries from the journal, so none of them may be delivered after
    // that.
    for (const stream of behind) stream.writable();
  }

  /** There is no event for this removal: streams with such records get a snapshot instead. */
  #fallBack({ collection, sequence }: JournalEntry): readonly EventStream[] {
    this.#send(this.#joiner.next(undefined));
    return [...this.#streams].filter(
      (stream) => acceptsCollection(stream.filter, collection) && stream.fallBack(sequence - 1),
    );
  }

  #send(event: FramedEvent | undefined): void {
    if (event === undefined) return;
    const { kind, text, upTo } = event;
    this.#published += 1;
    const now = this.#options.clock.monotonic();
    for (const stream of this.#streams) if (stream.filter.has(kind)) stream.deliver(text, upTo, now);
  }

  /** Sends the newest levels. A stream that misses them does not count as behind. */
  publishLevel(json: string): void {
    const text = frame(LEVEL_EVENT, json);
    for (const stream of this.#streams) if (acceptsLevels(stream)) stream.deliverLevel(text);
  }

  /**
   * Opens a stream and writes its first lines before it returns. A failure has not used the sink.
   */
  open(query: EventQuery, sink: TextSink): Result<OpenStream, 'too-many-streams'> {
    if (this.#streams.size >= this.#options.maxClients) return failed('too-many-streams');
    const { bootId, clock, journal } = this.#options;
    const { filter, keepaliveMs } = query;
    const stream = new EventStream({
      sink,
      filter,
      keepaliveMs,
      clock,
      love: () => love(bootId, journal.newest),
      behind: (reached) => {
        const known = reached === undefined ? journal.newest : this.#known.before;
        return new Cursor(this.#context, filter, reached ?? journal.newest, known);
      },
      onEnd: (ended, isSlow) => this.#ended(ended, isSlow),
    });
    this.#streams.add(stream);
    try {
      if (acceptsLevels(stream)) this.#options.watchLevels(true);
      stream.start(hello(clock.random(), query.unknown), Cursor.opened(this.#context, query));
    } catch (error) {
      // Nobody else knows the stream yet, and it would keep its place for ever.
      this.#ended(stream, false);
      throw error;
    }
    if (this.#streams.has(stream)) this.#arm(stream.dueAt + SLACK_MS);
    return success(stream);
  }

  /**
   * Sends `bye` on every stream and ends it. Resolves when all have ended; streams that have not taken it
   * after `withinMs` are cut. Never rejects. Call it once.
   */
  bye(withinMs: number): Promise<void> {
    this.#disarm();
    for (const stream of this.#streams) stream.bye();
    if (this.#streams.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(withinMs, () => {
        for (const stream of this.#streams) stream.cut();
      });
      this.#allLeft = () => {
        cancel();
        resolve();
      };
    });
  }

  /**
   * `closedSlow` counts streams that were closed because their consumer read too slowly, `published` the
   * events while there was a stream.
   */
  stats(): { readonly open: number; readonly closedSlow: number; readonly published: number } {
    return { open: this.#streams.size, closedSlow: this.#closedSlow, published: this.#published };
  }

  /**
   * Wakes at `at` or before: a stream's due time only ever becomes later, and a removed one costs one
   * wake-up.
   */
  #arm(at: number): void {
    if (this.#armed !== undefined && this.#armed.at <= at) return;
    this.#disarm();
    const { clock } = this.#options;
    const cancel = clock.after(Math.max(0, at - clock.monotonic()), () => this.#keepAlive());
    this.#armed = { at, cancel };
  }

  #disarm(): void {
    this.#armed?.cancel();
    this.#armed = undefined;
  }

  #keepAlive(): void {
    this.#armed = undefined;
    const now = this.#options.clock.monotonic();
    for (const stream of this.#streams) if (stream.dueAt <= now) stream.keepAlive();
    for (const stream of this.#streams) this.#arm(stream.dueAt + SLACK_MS);
  }

  #ended(stream: EventStream, isSlow: boolean): void {
    this.#streams.delete(stream);
    if (acceptsLevels(stream) && ![...this.#streams].some(acceptsLevels)) this.#options.watchLevels(false);
    if (isSlow) this.#closedSlow += 1;
    if (this.#streams.size > 0) return;
    this.#disarm();
    this.#allLeft();
  }
}

function acceptsLevels({ filter }: EventStream): boolean {
  return filter.has(LEVEL_KIND);
}
