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
  /** One timer for the keep-alives of all streams, so that an idle node can sleep. Unset without streams. */
  #wakeUp: { readonly at: number; readonly cancel: () => void } | undefined;
  #closedSlow = 0;
  #published = 0;
  #onAllEnded: () => void = () => undefined;
  /**
   * The sequence numbers up to which streams that keep up have received everything: before the newest
   * delivery, and after it.
   */
  readonly #delivered = { before: 0, after: 0 };

  constructor(options: HubOptions) {
    const { journal, bootId, clock } = options;
    this.#options = options;
    this.#context = { journal, bootId, date: clock.date };
    this.#joiner = new Joiner(bootId, DATA_MAX_BYTES);
  }

  /** `date`: the time of the change, in milliseconds since the epoch. */
  publish(entries: readonly JournalEntry[], date: number): void {
    this.#delivered.before = this.#delivered.after;
    this.#delivered.after = this.#options.journal.newest;
    if (this.#streams.size === 0) return;
    const behind: EventStream[] = [];
    for (const entry of entries) {
      const kind = kindOfEntry(entry, this.#delivered.before);
      if (kind !== undefined)
        this.#send(this.#joiner.next({ kind, json: eventDataOf(entry, date), upTo: entry.sequence }));
      else if (entry.kind === 'removal') behind.push(...this.#fallBack(entry));
    }
    this.#send(this.#joiner.next(undefined));
    // These streams come last, because they read all of `entries` from the journal: an entry that was
    // delivered to them afterwards would come twice.
    for (const stream of behind) stream.writable();
  }

  /**
   * Makes streams with such records read a snapshot, because there is no event for this removal. Returns the
   * streams that must read it now.
   */
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

  /** Sends the newest levels. A stream that cannot take them does not fall behind. */
  publishLevel(json: string): void {
    const text = frame(LEVEL_EVENT, json);
    for (const stream of this.#streams) if (acceptsLevels(stream)) stream.deliverLevel(text);
  }

  /** Opens a stream and writes its first lines before it returns. `too-many-streams`: the sink is unused. */
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
      cursorFrom: (reached) => {
        const knownUpTo = reached === undefined ? journal.newest : this.#delivered.before;
        return new Cursor(this.#context, filter, reached ?? journal.newest, knownUpTo);
      },
      onEnd: (ended, isSlow) => this.#ended(ended, isSlow),
    });
    this.#streams.add(stream);
    try {
      if (acceptsLevels(stream)) this.#options.watchLevels(true);
      stream.start(hello(clock.random(), query.unknown), Cursor.forNewStream(this.#context, query));
    } catch (error) {
      // The caller does not get the stream, so nobody else would ever end it.
      this.#ended(stream, false);
      throw error;
    }
    if (this.#streams.has(stream)) this.#wakeBy(stream.dueAt + SLACK_MS);
    return success(stream);
  }

  /**
   * Sends `bye` on every stream and ends it. Resolves when all have ended; streams that have not accepted
   * `bye` after `withinMs` are cut. Never rejects. Call it once.
   */
  bye(withinMs: number): Promise<void> {
    this.#cancelWakeUp();
    for (const stream of this.#streams) stream.bye();
    if (this.#streams.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.clock.after(withinMs, () => {
        for (const stream of this.#streams) stream.cut();
      });
      this.#onAllEnded = () => {
        cancel();
        resolve();
      };
    });
  }

  /**
   * `closedSlow` counts streams that were closed because their consumer read too slowly. `published` counts
   * the events while a stream was open.
   */
  stats(): { readonly open: number; readonly closedSlow: number; readonly published: number } {
    return { open: this.#streams.size, closedSlow: this.#closedSlow, published: this.#published };
  }

  /**
   * Sets the timer to `at`, unless it is set to an earlier time. The timer is not changed when a stream's
   * keep-alive is postponed, or when the stream ends. This costs one wake-up, but saves a change of the
   * timer for each event.
   */
  #wakeBy(at: number): void {
    if (this.#wakeUp !== undefined && this.#wakeUp.at <= at) return;
    this.#cancelWakeUp();
    const { clock } = this.#options;
    const cancel = clock.after(Math.max(0, at - clock.monotonic()), () => this.#keepAlive());
    this.#wakeUp = { at, cancel };
  }

  #cancelWakeUp(): void {
    this.#wakeUp?.cancel();
    this.#wakeUp = undefined;
  }

  #keepAlive(): void {
    this.#wakeUp = undefined;
    const now = this.#options.clock.monotonic();
    for (const stream of this.#streams) if (stream.dueAt <= now) stream.keepAlive();
    for (const stream of this.#streams) this.#wakeBy(stream.dueAt + SLACK_MS);
  }

  #ended(stream: EventStream, isSlow: boolean): void {
    this.#streams.delete(stream);
    if (acceptsLevels(stream) && ![...this.#streams].some(acceptsLevels)) this.#options.watchLevels(false);
    if (isSlow) this.#closedSlow += 1;
    if (this.#streams.size > 0) return;
    this.#cancelWakeUp();
    this.#onAllEnded();
  }
}

function acceptsLevels({ filter }: EventStream): boolean {
  return filter.has(LEVEL_KIND);
}
