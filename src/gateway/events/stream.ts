// One consumer's stream: what it wants, whether it keeps up, what it is owed. It holds no uWS object, only a ByteSink.

import type { Clock } from '../../clock.js';
import type { EventType } from '../../protocol/actor/collections.js';
import { BYE, type FramedEvent } from './event.js';
import type { Filter } from './query.js';
import { type Backlog, Queue } from './queue.js';

/** One consumer's connection, as little of it as the hub needs. Implemented by the file that holds uWebSockets.js objects. */
export interface ByteSink {
  /**
   * Takes the bytes. False: the kernel would not take them all, so the caller must not write again before
   * it is told that the connection is writable (facts measured: an ignored `false` buffers without bound).
   */
  write(bytes: Uint8Array): boolean;
  /** Runs `writes` so that they leave as few packets as possible. */
  cork(writes: () => void): void;
  /** Ends the response in order, after what was written. */
  end(): void;
  /** Cuts the connection at once. */
  cut(): void;
}

/** What the connection tells the hub about one open stream. */
export interface OpenStream {
  /** After a refused write: everything written has been taken, so writing may go on. */
  writable(): void;
  /** The peer is gone; the sink must not be touched any more. */
  gone(): void;
}

/**
 * flowing: every event is written as it happens. behind: a write was refused, or something older is still owed.
 * leaving: as behind, but nothing new is owed, and `bye` follows. ending: `bye` is written but not yet taken.
 */
type StreamState = 'flowing' | 'behind' | 'leaving' | 'ending' | 'closed';

/** `left`: after `bye`. `gone`: the peer's doing. `slow`: the consumer could not be served in time. `cut`: `bye` took too long. */
export type Ending = 'left' | 'gone' | 'slow' | 'cut';

export interface StreamOptions {
  readonly sink: ByteSink;
  readonly filter: Filter;
  readonly keepaliveMs: number;
  readonly boot: string;
  /** What breaks the silence of a stream that has been told everything. */
  readonly love: () => Uint8Array;
  readonly clock: Clock;
  /** Called once. */
  readonly onEnd: (stream: EventStream, ending: Ending) => void;
}

export class EventStream implements OpenStream {
  readonly #options: StreamOptions;
  #state: StreamState = 'flowing';
  #backlog: Backlog | undefined;
  /** Of each gauge the newest reading that could not be written: told when nothing else is owed. */
  #readings: Map<EventType, Uint8Array> | undefined;
  #spokeAt: number;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.#spokeAt = options.clock.monotonic();
  }

  get filter(): Filter {
    return this.#options.filter;
  }

  /** When silence will have lasted long enough for a keep-alive. */
  get dueAt(): number {
    return this.#spokeAt + this.#options.keepaliveMs;
  }

  /** Writes the first bytes, then `backlog`, as far as the consumer takes them. */
  start(hello: Uint8Array, backlog: Backlog | undefined): void {
    this.#state = 'behind';
    this.#backlog = backlog;
    this.#options.sink.cork(() => {
      if (this.#write(hello)) this.#pump();
    });
  }

  /** `bytes` are the frames of those of `events` that pass the filter; undefined when none does. */
  deliver(bytes: Uint8Array | undefined, events: readonly FramedEvent[]): void {
    if (bytes === undefined) return;
    if (this.#state === 'flowing') {
      this.#options.sink.cork(() => this.#write(bytes));
    } else if (this.#state === 'behind') {
      this.#backlog ??= new Queue(this.#options.boot, this.#options.filter);
      if (!this.#backlog.add(events)) this.#cut('slow');
    }
  }

  /**
   * A gauge's reading, framed. It does not count as speech: it has no id, and the id of "love" must come however long sound plays.
   */
  deliverReading(gauge: EventType, bytes: Uint8Array): void {
    if (this.#state === 'flowing') {
      this.#options.sink.cork(() => this.#put(bytes));
    } else if (this.#state === 'behind') {
      this.#readings ??= new Map();
      this.#readings.set(gauge, bytes);
    }
  }

  /** Breaks the silence. A consumer that is behind has bytes coming, so there is none. */
  keepAlive(): void {
    this.#spokeAt = this.#options.clock.monotonic();
    if (this.#state === 'flowing') this.#options.sink.cork(() => this.#write(this.#options.love()));
  }

  /** Ends the stream after what is owed and `bye`. */
  bye(): void {
    if (this.#state === 'flowing') {
      this.#state = 'leaving';
      this.#options.sink.cork(() => this.#pump());
    } else if (this.#state === 'behind') {
      this.#state = 'leaving';
    }
  }

  /** Ends the stream now, whatever is owed. */
  cut(): void {
    this.#cut('cut');
  }

  writable(): void {
    if (this.#state !== 'flowing' && this.#isOpen()) this.#options.sink.cork(() => this.#pump());
  }

  /**
   * uWebSockets.js aborts a response that makes no progress for 10 s (measured), and that looks like a peer that left.
   * So whoever is gone while behind was too slow: a peer that leaves by itself in that state cannot be told apart.
   */
  gone(): void {
    this.#end(this.#state === 'behind' ? 'slow' : 'gone');
  }

  /** Writes what is owed until a write is refused. */
  #pump(): void {
    while (this.#backlog !== undefined) {
      const portion = this.#backlog.take();
      if (portion === 'overtaken') {
        this.#cut('slow');
        return;
      }
      const taken = portion === undefined || this.#write(portion);
      // Dropped even when refused: from here on a queue conflates, where a replay would go on word by word.
      if (this.#backlog?.drained) this.#backlog = undefined;
      if (!taken) return;
    }
    for (const [gauge, bytes] of this.#readings ?? []) {
      this.#readings?.delete(gauge);
      if (!this.#put(bytes)) return;
    }
    this.#caughtUp();
  }

  #caughtUp(): void {
    if (this.#state === 'behind') this.#state = 'flowing';
    if (this.#state === 'leaving') {
      this.#state = 'ending';
      if (!this.#write(BYE)) return;
    }
    if (this.#state === 'ending') {
      this.#end('left');
      this.#options.sink.end();
    }
  }

  /** False: refused, or the peer went away meanwhile; either way nothing more may be written now. */
  #write(bytes: Uint8Array): boolean {
    this.#spokeAt = this.#options.clock.monotonic();
    return this.#put(bytes);
  }

  /** As `#write`, without breaking the silence. */
  #put(bytes: Uint8Array): boolean {
    const taken = this.#options.sink.write(bytes);
    if (!taken && this.#state === 'flowing') this.#state = 'behind';
    return taken && this.#isOpen();
  }

  #isOpen(): boolean {
    return this.#state !== 'closed';
  }

  #cut(ending: Ending): void {
    if (!this.#isOpen()) return;
    this.#end(ending);
    this.#options.sink.cut();
  }

  /** First of all, because a sink may answer `cut` or `end` with `gone` before it returns. */
  #end(ending: Ending): void {
    if (!this.#isOpen()) return;
    this.#state = 'closed';
    this.#backlog = undefined;
    this.#options.onEnd(this, ending);
  }
}
