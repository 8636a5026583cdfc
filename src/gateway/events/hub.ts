// The event hub: numbers every event, frames it once, and hands the same bytes to every stream that wants it.
// It does no I/O of its own and reads no clock but the one it is given.

import type { Clock } from '../../clock.js';
import { GAUGES, type GaugeEvent } from '../../protocol/actor/collections.js';
import {
  dataOf,
  encode,
  eventId,
  type FramedEvent,
  frame,
  hello,
  love,
  type SnapshotSource,
  type StreamEvent,
} from './event.js';
import { accepts, bitsOf, type EventQuery, type Filter, GAUGES_ONLY } from './query.js';
import { type Backlog, entriesOf, Queue } from './queue.js';
import { History, Replay, Tombstones } from './ring.js';
import { beginning, snapshotOf } from './snapshot.js';
import { type ByteSink, type Ending, EventStream, type OpenStream } from './stream.js';

/** The most bytes that go to a stream between two looks at whether it still takes them. */
const BATCH_BYTES_MAX = 256 * 1024;
/** Keep-alives that fall due within this time after each other share one wake-up, and stay together from then on. */
const SLACK_MS = 250;

const GAUGE_NAMES = Object.keys(GAUGES) as readonly GaugeEvent[];

export interface HubOptions {
  /** Names this life of the daemon within event ids: letters, digits, `_`, `-`. */
  readonly boot: string;
  readonly clock: Clock;
  readonly maxClients: number;
  readonly source: SnapshotSource;
  /** As of `Backends`. */
  readonly watch: (gauge: GaugeEvent, watched: boolean) => void;
}

/**
 * One timer for the keep-alives of all streams: a node at rest should sleep, so there is no timer per stream, and none at all
 * without streams. When a stream is due only ever moves later.
 */
class KeepAlive {
  readonly #streams: ReadonlySet<EventStream>;
  readonly #clock: Clock;
  #armed: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(streams: ReadonlySet<EventStream>, clock: Clock) {
    this.#streams = streams;
    this.#clock = clock;
  }

  /** `stream` was added to the set. */
  added(stream: EventStream): void {
    const at = stream.dueAt + SLACK_MS;
    if (this.#armed === undefined || at < this.#armed.at) this.#arm(at);
  }

  /** A stream was taken from the set. The timer may be too early then, which costs one wake-up, unless none is left. */
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

/** One for the life of the daemon. */
export class EventHub {
  readonly #options: HubOptions;
  readonly #history = new History();
  readonly #tombstones = new Tombstones();
  readonly #streams = new Set<EventStream>();
  readonly #keepAlive: KeepAlive;
  #closedSlow = 0;
  #farewell: Promise<void> | undefined;
  #allLeft: () => void = () => undefined;

  constructor(options: HubOptions) {
    this.#options = options;
    this.#keepAlive = new KeepAlive(this.#streams, options.clock);
  }

  /** Sends what happened. When it is called, the snapshot source already tells of it. */
  publish(events: readonly StreamEvent[]): void {
    let batch: FramedEvent[] = [];
    let size = 0;
    for (const event of events) {
      if (accepts(GAUGES_ONLY, event.bits)) {
        this.#deliverReading(event);
        continue;
      }
      const framed = this.#frame(event);
      batch.push(framed);
      size += framed.frame.byteLength;
      if (size < BATCH_BYTES_MAX) continue;
      this.#deliver(batch);
      batch = [];
      size = 0;
    }
    if (batch.length > 0) this.#deliver(batch);
  }

  /** Opens a stream and writes its first bytes before it returns. `full`: there are too many streams; the sink was not touched. */
  open(query: EventQuery, sink: ByteSink): OpenStream | 'full' {
    if (this.#streams.size >= this.#options.maxClients) return 'full';
    const { boot, clock } = this.#options;
    const stream = new EventStream({
      sink,
      filter: query.filter,
      keepaliveMs: query.keepaliveMs,
      boot,
      love: () => love(boot, this.#history.newest),
      clock,
      onEnd: (ended, ending) => this.#ended(ended, ending),
    });
    this.#streams.add(stream);
    for (const gauge of gaugesIn(query.filter)) this.#options.watch(gauge, true);
    stream.start(hello(clock.random(), query.unknown), this.#backlogFor(query));
    if (this.#streams.has(stream)) this.#keepAlive.added(stream);
    return stream;
  }

  /**
   * Says `bye` on every stream and ends it. Resolves when all have ended; those that have not taken it after `withinMs` are
   * cut. Never rejects. The first call counts; later ones get its promise.
   */
  bye(withinMs: number): Promise<void> {
    this.#farewell ??= this.#sayBye(withinMs);
    return this.#farewell;
  }

  /** `closedSlow` counts streams that were closed because their consumers read too slowly. */
  stats(): { readonly open: number; readonly closedSlow: number } {
    return { open: this.#streams.size, closedSlow: this.#closedSlow };
  }

  #frame(event: StreamEvent): FramedEvent {
    const { type, bits, listed, removal, records } = event;
    const sequence = this.#history.newest + 1;
    const text = frame(type, dataOf(listed, records), eventId(this.#options.boot, sequence));
    const framed = { sequence, bits, frame: encode(text), entries: entriesOf(event, sequence) };
    this.#history.push(framed);
    this.#tombstones.note(removal, framed.entries);
    return framed;
  }

  /** One piece of bytes for all streams that want the same. */
  #deliver(events: readonly FramedEvent[]): void {
    const pieces = new Map<Filter, Uint8Array | undefined>();
    for (const stream of this.#streams) {
      const { filter } = stream;
      if (!pieces.has(filter)) pieces.set(filter, joined(events, filter));
      stream.deliver(pieces.get(filter), events);
    }
  }

  /** Without a number, and known to nothing but the streams that want it: behind those of the same batch it may be out of order. */
  #deliverReading({ type, bits, records }: StreamEvent): void {
    const bytes = encode(frame(type, dataOf(false, records)));
    for (const stream of this.#streams) if (accepts(stream.filter, bits)) stream.deliverReading(type, bytes);
  }

  #backlogFor(query: EventQuery): Backlog | undefined {
    const { boot, source } = this.#options;
    const history = this.#history;
    const begin = beginning(query, boot, history);
    switch (begin.from) {
      case 'live':
        return undefined;
      case 'replay':
        return new Replay(history, query.filter, begin.after);
      case 'snapshot': {
        const { after } = begin;
        const contents = {
          actions: after === undefined ? [] : history.actionsAfter(after.actions),
          removals: after === undefined ? [] : this.#tombstones.since(after.states),
          state: source.snapshot(),
        };
        return new Queue(
          boot,
          query.filter,
          snapshotOf(contents, history.newest, query.filter, after?.states),
        );
      }
    }
  }

  #sayBye(withinMs: number): Promise<void> {
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
    for (const gauge of gaugesIn(stream.filter)) {
      const isWatched = [...this.#streams].some(({ filter }) => gaugesIn(filter).includes(gauge));
      if (!isWatched) this.#options.watch(gauge, false);
    }
    if (ending === 'slow') this.#closedSlow += 1;
    this.#keepAlive.removed();
    if (this.#streams.size === 0) this.#allLeft();
  }
}

function gaugesIn(filter: Filter): readonly GaugeEvent[] {
  return GAUGE_NAMES.filter((gauge) => accepts(filter, bitsOf(gauge, GAUGES[gauge])));
}

/** Undefined: none of the events passes. */
function joined(events: readonly FramedEvent[], filter: Filter): Uint8Array | undefined {
  const frames = events.filter(({ bits }) => accepts(filter, bits)).map((event) => event.frame);
  return frames.length > 1 ? Buffer.concat(frames) : frames[0];
}
