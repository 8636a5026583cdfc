// The hub makes the text of each event once, and passes it to every stream that keeps up and whose filter
// accepts the event. It does no I/O.

import type { Clock } from '../../host/clock.js';
import { LEVEL_EVENT } from '../../protocol/actor/collections.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import type { Journal, JournalEntry } from '../journal.js';
import { Cursor, type CursorContext } from './cursor.js';
import {
  acceptsCollection,
  eventDataOf,
  firstLines,
  frame,
  kindOfEntry,
  LEVEL_KIND,
  loveEvent,
} from './frames.js';
import { type FramedEvent, Joiner } from './joiner.js';
import { DATA_MAX_BYTES } from './line-length.js';
import type { EventQuery } from './query.js';
import { EventStream, type OpenStream, type TextSink } from './stream.js';

/**
 * Events share a write only up to this size, because text that the kernel does not accept stays in user
 * memory.
 */
const JOINED_MAX_BYTES = 64 * 1024;
/** Keep-alives that are due within this time share one wake-up. */
const KEEP_ALIVE_SLACK_MS = 250;

export interface HubOptions {
  /** Identifies this run of the daemon in event ids. It may have only letters, digits, `_` and `-`. */
  readonly bootId: string;
  readonly clock: Clock;
  readonly maxClients: number;
  readonly journal: Journal;
  /**
   * Called with true when a stream that accepts levels opens, and with false when the last such stream has
   * ended.
   */
  readonly watchLevels: (isWatched: boolean) => void;
}

export class EventHub {
  readonly #options: HubOptions;
  readonly #context: CursorContext;
  readonly #joiner: Joiner;
  readonly #streams = new Set<EventStream>();
  /**
   * One timer for the keep-alives of all streams, so that an idle node wakes up rarely. Unset without
   * streams.
   */
  #wakeUp: { readonly dueAt: number; readonly cancel: () => void } | undefined;
  #closedSlow = 0;
  #published = 0;
  #onAllEnded: () => void = () => undefined;
  /**
   * The newest call of `publish` delivers the changes after the sequence number `before`, up to `after`. A
   * stream that keeps up has received everything up to `before` in earlier calls.
   */
  readonly #delivered = { before: 0, after: 0 };

  constructor(options: HubOptions) {
    const { journal, bootId, clock } = options;
    this.#options = options;
    this.#context = { journal, bootId, date: clock.date };
    this.#joiner = new Joiner(bootId, DATA_MAX_BYTES);
  }

  /** `date` is the time of the changes, in milliseconds since the epoch. */
  publish(entries: readonly JournalEntry[], date: number): void {
    this.#delivered.before = this.#delivered.after;
    this.#delivered.after = this.#options.journal.newestSequence;
    if (this.#streams.size === 0) return;
    const readingStreams: EventStream[] = [];
    const unsent: FramedEvent[] = [];
    for (const entry of entries) {
      const kind = kindOfEntry(entry, this.#delivered.before);
      if (kind !== undefined) {
        const item = { kind, json: eventDataOf(entry, date), upTo: entry.sequence };
        const event = this.#joiner.completedEvent(item);
        if (event !== undefined) unsent.push(event);
      } else if (entry.kind === 'removal') {
        // The changes before this removal are sent now, because the streams of `#makeStreamsRead` read the
        // journal from this removal on.
        this.#send(unsent.splice(0));
        readingStreams.push(...this.#makeStreamsRead(entry));
      }
    }
    this.#send(unsent);
    // `onWritable` makes a stream read the rest of `entries` from the journal. After that the stream keeps up
    // again, and a later `#send` would deliver the same entries once more. So `onWritable` is called after
    // the last `#send`.
    for (const stream of readingStreams) stream.onWritable();
  }

  /**
   * To be called with a removal that makes no event. A client notices such a removal only by a snapshot. So
   * each stream that accepts the collection gets a cursor that begins before the removal. This cursor reads
   * a snapshot, because the journal does not keep the removal. Returns the streams for which `onWritable`
   * must be called.
   */
  #makeStreamsRead({ collection, sequence }: JournalEntry): readonly EventStream[] {
    const accepting = [...this.#streams].filter(({ filter }) => acceptsCollection(filter, collection));
    // `fallBackTo` is false for a stream that is behind, because such a stream reads the journal anyway.
    return accepting.filter((stream) => stream.fallBackTo(sequence - 1));
  }

  /**
   * Sends `events`, and the event that the joiner has, to the streams that accept them. The removal of a
   * record may be followed by the record that replaces it. A client that has read only the removal would
   * conclude that nothing replaces the record. So each stream gets its events in one write, or in several if
   * they exceed `JOINED_MAX_BYTES` together.
   */
  #send(events: FramedEvent[]): void {
    // The joiner keeps the last event, because another item might join it.
    const lastEvent = this.#joiner.completedEvent(undefined);
    if (lastEvent !== undefined) events.push(lastEvent);
    this.#published += events.length;
    const now = this.#options.clock.monotonic();
    for (const stream of this.#streams) {
      let joined = '';
      let joinedBytes = 0;
      let joinedUpTo: number | undefined;
      for (const { kind, text, bytes, upTo } of events) {
        if (!stream.filter.has(kind)) continue;
        if (joined !== '' && joinedBytes + bytes > JOINED_MAX_BYTES) {
          stream.deliver(joined, joinedUpTo, now);
          joined = '';
          joinedBytes = 0;
        }
        joined += text;
        joinedBytes += bytes;
        joinedUpTo = upTo;
      }
      if (joined !== '') stream.deliver(joined, joinedUpTo, now);
    }
  }

  /** A stream that is behind gets only the newest levels, and only when it has caught up. */
  publishLevel(json: string): void {
    const text = frame(LEVEL_EVENT, json);
    for (const stream of this.#streams) if (acceptsLevels(stream)) stream.deliverLevel(text);
  }

  /** Writes the first lines before it returns. If there are too many streams, the sink is not used. */
  openStream(query: EventQuery, sink: TextSink): Result<OpenStream, 'too-many-streams'> {
    if (this.#streams.size >= this.#options.maxClients) return failed('too-many-streams');
    const { bootId, clock, journal } = this.#options;
    const { filter, keepaliveMs } = query;
    const stream = new EventStream({
      sink,
      filter,
      keepaliveMs,
      clock,
      love: () => loveEvent(bootId, journal.newestSequence),
      cursorFrom: (readUpTo) => {
        const { newestSequence } = journal;
        // A stream passes `readUpTo` only if it falls behind within `publish`, maybe inside a batch.
        if (readUpTo === undefined) return new Cursor(this.#context, filter, newestSequence);
        const knownUpTo = this.#delivered.before;
        return new Cursor(this.#context, filter, readUpTo, knownUpTo);
      },
      onEnd: (ended, isSlow) => this.#removeStream(ended, isSlow),
    });
    this.#streams.add(stream);
    try {
      if (acceptsLevels(stream)) this.#options.watchLevels(true);
      stream.start(firstLines(clock.random(), query.unknownNames), Cursor.forNewStream(this.#context, query));
    } catch (error) {
      // The caller does not get the stream, so nobody else would ever remove it.
      this.#removeStream(stream);
      throw error;
    }
    // The stream may have ended within `start`, because the client had disconnected.
    if (this.#streams.has(stream)) this.#wakeBy(stream.keepAliveDueAt + KEEP_ALIVE_SLACK_MS);
    return success(stream);
  }

  /**
   * Sends `bye` on every stream, and ends the stream. If a client has not accepted `bye` after `withinMs`,
   * its stream is cut. Resolves when all streams have ended, and never rejects. Call it once.
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
   * `closedSlow` counts streams that were closed because their client read too slowly. `published` counts the
   * events of the journal that were published while a stream was open.
   */
  stats(): { readonly open: number; readonly closedSlow: number; readonly published: number } {
    return { open: this.#streams.size, closedSlow: this.#closedSlow, published: this.#published };
  }

  /**
   * The timer changes only if `dueAt` is earlier than the timer's own time. The timer stays when a stream's
   * keep-alive is postponed, or when one of several streams ends. This may cost one needless wake-up, but
   * saves a change of the timer for each event.
   */
  #wakeBy(dueAt: number): void {
    if (this.#wakeUp !== undefined && this.#wakeUp.dueAt <= dueAt) return;
    this.#cancelWakeUp();
    const { clock } = this.#options;
    const cancel = clock.after(Math.max(0, dueAt - clock.monotonic()), () => this.#keepAlive());
    this.#wakeUp = { dueAt, cancel };
  }

  #cancelWakeUp(): void {
    this.#wakeUp?.cancel();
    this.#wakeUp = undefined;
  }

  #keepAlive(): void {
    this.#wakeUp = undefined;
    const now = this.#options.clock.monotonic();
    for (const stream of this.#streams) if (stream.keepAliveDueAt <= now) stream.keepAlive();
    for (const stream of this.#streams) this.#wakeBy(stream.keepAliveDueAt + KEEP_ALIVE_SLACK_MS);
  }

  #removeStream(stream: EventStream, isSlow = false): void {
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
