// The event hub: gives every event its place, frames it once, and hands the same bytes to every stream that wants it.
// It does no I/O of its own and reads no clock but the one it is given.

import type { Backlog } from './backlog.js';
import { Batch, type Publication } from './batch.js';
import { checkBoot, encode, eventId, frame, hello, love } from './encode.js';
import { ACTIONS_ONLY, accepts, bitsOf } from './filter.js';
import { KeepAlive, type Schedule } from './keepalive.js';
import type { ByteSink, Occurrence, OpenStream, SnapshotSource } from './occurrence.js';
import { Outbox } from './outbox.js';
import { dataOf, type Part, partsOf } from './parts.js';
import type { EventQuery } from './query.js';
import { Replay } from './replay.js';
import { beginning } from './resume.js';
import { type FramedEvent, History } from './ring.js';
import { snapshotOf } from './snapshot.js';
import { type Ending, EventStream } from './stream.js';
import { Tombstones } from './tombstones.js';

/** The most bytes that go to a stream between two looks at whether it still takes them. */
const BATCH_BYTES_MAX = 256 * 1024;

export interface HubOptions {
  /** Names this life of the daemon within event ids: letters, digits, `_`, `-`. */
  readonly boot: string;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonic: () => number;
  /** 0 <= random() < 1. */
  readonly random: () => number;
  readonly maxClients: number;
  readonly source: SnapshotSource;
  readonly schedule: Schedule;
}

/** One for the life of the daemon. Only the constructor throws of itself. */
export class EventHub {
  readonly #options: HubOptions;
  readonly #history = new History();
  readonly #tombstones = new Tombstones();
  readonly #streams = new Set<EventStream>();
  readonly #keepAlive: KeepAlive;
  #closedSlow = 0;
  #farewell: Promise<void> | undefined;
  #allLeft: () => void = () => undefined;

  /** Throws a TypeError when `boot` cannot stand in an event id. */
  constructor(options: HubOptions) {
    checkBoot(options.boot);
    this.#options = options;
    this.#keepAlive = new KeepAlive(this.#streams, options.monotonic, options.schedule);
  }

  /** Makes events of what happened. When it is called, the snapshot source already tells of it. */
  publish(occurrences: readonly Occurrence[]): void {
    let publications: Publication[] = [];
    let size = 0;
    for (const occurrence of occurrences) {
      for (const part of partsOf(occurrence)) {
        const publication = this.#place(part);
        publications.push(publication);
        size += publication.event.frame.byteLength;
        if (size < BATCH_BYTES_MAX) continue;
        this.#deliver(publications);
        publications = [];
        size = 0;
      }
      this.#tombstones.note(occurrence, this.#history.newest);
    }
    if (publications.length > 0) this.#deliver(publications);
  }

  /**
   * Opens a stream and writes its first bytes before it returns. `full`: there are too many streams, or the daemon is
   * shutting down; the sink was not touched.
   */
  open(query: EventQuery, sink: ByteSink): OpenStream | 'full' {
    if (this.#farewell !== undefined || this.#streams.size >= this.#options.maxClients) return 'full';
    const { boot, monotonic, random } = this.#options;
    const stream = new EventStream({
      sink,
      filter: query.filter,
      keepaliveMs: query.keepaliveMs,
      boot,
      love: () => love(boot, this.#history.newest),
      monotonic,
      onEnd: (ended, ending) => this.#ended(ended, ending),
    });
    this.#streams.add(stream);
    stream.start(hello(random()), this.#backlogFor(query));
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

  #place(part: Part): Publication {
    const sequence = this.#history.newest + 1;
    const data = dataOf(
      part.listed,
      part.items.map(({ json }) => json),
    );
    const bits = bitsOf(part.type, part.backend);
    const framed = encode(frame(part.type, data, eventId(this.#options.boot, sequence)));
    const plain: FramedEvent = { sequence, bits, frame: framed };
    const event = accepts(ACTIONS_ONLY, bits) ? { ...plain, action: part } : plain;
    this.#history.push(event);
    return { event, part };
  }

  #deliver(publications: readonly Publication[]): void {
    const batch = new Batch(publications);
    for (const stream of this.#streams) stream.deliver(batch);
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
        return new Outbox(boot, snapshotOf(contents, history.newest, query.filter, after?.states));
      }
    }
  }

  #sayBye(withinMs: number): Promise<void> {
    this.#keepAlive.stop();
    for (const stream of this.#streams) stream.bye();
    if (this.#streams.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#options.schedule(withinMs, () => {
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
    if (ending === 'slow') this.#closedSlow += 1;
    this.#keepAlive.removed();
    if (this.#streams.size === 0) this.#allLeft();
  }
}
