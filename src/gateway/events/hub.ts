// The event hub: frames each change of the journal once, and gives the same bytes to every stream whose filter matches and that keeps up.
// It does no I/O, and uses only the clock that it is given.

import type { Clock } from '../../clock.js';
import { LEVEL_BACKEND, LEVEL_EVENT } from '../../protocol/actor/collections.js';
import type { Journal, JournalEntry } from '../journal.js';
import { Cursor, type CursorContext } from './cursor.js';
import {
  encode,
  eventDataOf,
  frame,
  frameItems,
  groupItems,
  hello,
  kindOf,
  love,
  type StreamItem,
} from './frames.js';
import { accepts, bitsOf, type EventQuery, type Filter } from './query.js';
import { type ByteSink, type Ending, EventStream, type OpenStream } from './stream.js';

/** The most bytes that are written to a stream before it is checked again for back-pressure. */
const BATCH_BYTES_MAX = 256 * 1024;
/** A longer list becomes several events. In UTF-16 units. */
const LIST_LENGTH_MAX = 128 * 1024;
/** Keep-alives that are due within this time of each other share one wake-up, and stay together from then on. */
const SLACK_MS = 250;

const LEVEL_BITS = bitsOf(LEVEL_EVENT, LEVEL_BACKEND);

export interface HubOptions {
  /** Identifies this run of the daemon in event ids: letters, digits, `_`, `-`. */
  readonly boot: string;
  readonly clock: Clock;
  readonly maxClients: number;
  readonly journal: Journal;
  /** The function of `Backends`. */
  readonly watchLevels: (isWatched: boolean) => void;
}

interface FramedEvent {
  readonly bits: Filter;
  readonly bytes: Uint8Array;
}

/**
 * One timer for the keep-alives of all streams, so that an idle node can sleep; none without streams. A stream's due time only
 * ever becomes later.
 */
class KeepAlive {
  readonly #streams: ReadonlySet<EventStream>;
  readonly #clock: Clock;
  #armed: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(streams: ReadonlySet<EventStream>, clock: Clock) {
    this.#streams = streams;
    this.#clock = clock;
  }

  /** Called after `stream` was added to the set. */
  added(stream: EventStream): void {
    const at = stream.dueAt + SLACK_MS;
    if (this.#armed === undefined || at < this.#armed.at) this.#arm(at);
  }

  /** Called after a stream was removed from the set. The timer is then perhaps too early, which costs one wake-up. */
  removed(): void {
    if (this.#streams.size === 0) this.stop();
  }

  stop(): void {
    this.#armed?.cancel();
    this.#armed = undefined;
  }

  #arm(at: number): void {
    this.#armed?.cancel();
    const delayMs = Math.max(0, at - this.#clock.monotonic());
    this.#armed = { at, cancel: this.#clock.after(delayMs, () => this.#fire()) };
  }

  #fire(): void {
    this.#armed = undefined;
    const now = this.#clock.monotonic();
    for (const stream of this.#streams) if (stream.dueAt <= now) stream.keepAlive();
    let next = Number.POSITIVE_INFINITY;
    for (const stream of this.#streams) next = Math.min(next, stream.dueAt);
    if (next < Number.POSITIVE_INFINITY) this.#arm(next + SLACK_MS);
  }
}

export class EventHub {
  readonly #options: HubOptions;
  readonly #context: CursorContext;
  readonly #streams = new Set<EventStream>();
  readonly #keepAlive: KeepAlive;
  #closedSlow = 0;
  #farewell: Promise<void> | undefined;
  #allLeft: () => void = () => undefined;

  constructor(options: HubOptions) {
    const { journal, boot, clock } = options;
    this.#options = options;
    this.#context = { journal, boot, date: clock.date };
    this.#keepAlive = new KeepAlive(this.#streams, clock);
  }

  publish(entries: readonly JournalEntry[]): void {
    if (this.#streams.size === 0) return;
    let events: FramedEvent[] = [];
    let size = 0;
    for (const items of groupItems(this.#items(entries), LIST_LENGTH_MAX)) {
      const last = items.at(-1);
      if (last?.upTo === undefined) continue;
      const bytes = encode(frameItems(this.#options.boot, items));
      events.push({ bits: last.kind.bits, bytes });
      size += bytes.byteLength;
      if (size < BATCH_BYTES_MAX) continue;
      this.#deliver(events, last.upTo);
      events = [];
      size = 0;
    }
    if (events.length > 0) this.#deliver(events, entries.at(-1)?.sequence ?? 0);
  }

  *#items(entries: readonly JournalEntry[]): Iterable<StreamItem> {
    for (const entry of entries) {
      const kind = kindOf(entry, entry.since === entry.sequence);
      if (kind !== undefined)
        yield { kind, json: eventDataOf(entry, this.#context.date()), upTo: entry.sequence };
    }
  }

  /** Sends the newest levels. A stream that misses them does not count as behind. */
  publishLevel(json: string): void {
    const bytes = encode(frame(LEVEL_EVENT, json));
    for (const stream of this.#streams) if (wantsLevels(stream)) stream.deliverLevel(bytes);
  }

  /** Opens a stream and writes its first bytes before it returns. `full`: too many streams; the sink was not used. */
  open(query: EventQuery, sink: ByteSink): OpenStream | 'full' {
    if (this.#streams.size >= this.#options.maxClients) return 'full';
    const { boot, clock, journal } = this.#options;
    const { filter, keepaliveMs } = query;
    const stream = new EventStream({
      ...{ sink, filter, keepaliveMs, clock },
      love: () => love(boot, journal.newest),
      behind: (reached = journal.newest) => Cursor.behind(this.#context, filter, reached),
      onEnd: (ended, ending) => this.#ended(ended, ending),
    });
    this.#streams.add(stream);
    if (wantsLevels(stream)) this.#options.watchLevels(true);
    stream.start(hello(clock.random(), query.unknown), Cursor.opened(this.#context, query));
    if (this.#streams.has(stream)) this.#keepAlive.added(stream);
    return stream;
  }

  /**
   * Sends `bye` on every stream and ends it. Resolves when all have ended; streams that have not taken it after `withinMs` are
   * cut. Never rejects. Only the first call counts; later calls get its promise.
   */
  bye(withinMs: number): Promise<void> {
    this.#farewell ??= this.#sendBye(withinMs);
    return this.#farewell;
  }

  /** `closedSlow` counts streams that were closed because their consumer read too slowly. */
  stats(): { readonly open: number; readonly closedSlow: number } {
    return { open: this.#streams.size, closedSlow: this.#closedSlow };
  }

  /** Streams with the same filter share one buffer. `upTo` is the sequence number that a stream has reached after it. */
  #deliver(events: readonly FramedEvent[], upTo: number): void {
    const pieces = new Map<Filter, Uint8Array | undefined>();
    for (const stream of this.#streams) {
      if (!stream.isFlowing) continue;
      const { filter } = stream;
      if (!pieces.has(filter)) pieces.set(filter, joinFrames(events, filter));
      const bytes = pieces.get(filter);
      if (bytes !== undefined) stream.deliver(bytes, upTo);
    }
  }

  #sendBye(withinMs: number): Promise<void> {
    this.#keepAlive.stop();
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

  #ended(stream: EventStream, ending: Ending): void {
    this.#streams.delete(stream);
    if (wantsLevels(stream) && ![...this.#streams].some(wantsLevels)) this.#options.watchLevels(false);
    if (ending === 'slow') this.#closedSlow += 1;
    this.#keepAlive.removed();
    if (this.#streams.size === 0) this.#allLeft();
  }
}

function wantsLevels({ filter }: EventStream): boolean {
  return accepts(filter, LEVEL_BITS);
}

/** Undefined if the filter accepts none of the events. */
function joinFrames(events: readonly FramedEvent[], filter: Filter): Uint8Array | undefined {
  const passing = events.filter(({ bits }) => accepts(filter, bits)).map(({ bytes }) => bytes);
  return passing.length > 1 ? Buffer.concat(passing) : passing[0];
}
