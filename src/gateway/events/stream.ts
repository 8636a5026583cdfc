// One consumer's stream: what it wants, whether it keeps up, and the cursor of one that does not. It holds no uWS object, only a ByteSink.

import type { Clock } from '../../clock.js';
import type { Cursor } from './cursor.js';
import { BYE } from './frames.js';
import type { Filter } from './query.js';

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
 * flowing: every event is written as it happens. behind: a write was refused, or the cursor has not caught up.
 * leaving: as behind, and `bye` follows. ending: `bye` is written but not yet taken.
 */
type StreamState = 'flowing' | 'behind' | 'leaving' | 'ending' | 'closed';

/** `left`: after `bye`. `gone`: the peer's doing. `slow`: the consumer could not be served in time. `cut`: `bye` took too long. */
export type Ending = 'left' | 'gone' | 'slow' | 'cut';

export interface StreamOptions {
  readonly sink: ByteSink;
  readonly filter: Filter;
  readonly keepaliveMs: number;
  /** What breaks the silence of a stream that keeps up. */
  readonly love: () => Uint8Array;
  /** A cursor for a consumer that has everything up to a sequence number; without one, everything that there is. */
  readonly behind: (reached?: number) => Cursor;
  readonly clock: Clock;
  /** Called once. */
  readonly onEnd: (stream: EventStream, ending: Ending) => void;
}

export class EventStream implements OpenStream {
  readonly #options: StreamOptions;
  #state: StreamState = 'flowing';
  #cursor: Cursor | undefined;
  /** The newest reading of the meters that could not be written: it is, when nothing else is to be. */
  #level: Uint8Array | undefined;
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

  /** Takes events at once. */
  get isFlowing(): boolean {
    return this.#state === 'flowing';
  }

  /** Writes the first bytes, then what `cursor` reads, as far as the consumer takes it. Without a cursor it begins now. */
  start(hello: Uint8Array, cursor: Cursor = this.#options.behind()): void {
    this.#state = 'behind';
    this.#cursor = cursor;
    this.#options.sink.cork(() => {
      if (this.#write(hello)) this.#pump();
    });
  }

  /** To be called while it flows. `upTo` is the sequence number that has been reached with `bytes`. */
  deliver(bytes: Uint8Array, upTo: number): void {
    this.#options.sink.cork(() => this.#write(bytes, upTo));
  }

  /** It does not break the silence: it has no id, and the id of "love" must come however long sound plays. */
  deliverLevel(bytes: Uint8Array): void {
    if (this.#state === 'flowing') this.#options.sink.cork(() => this.#put(bytes));
    else if (this.#state === 'behind') this.#level = bytes;
  }

  /** Breaks the silence. A consumer that is behind has bytes coming, so there is none. */
  keepAlive(): void {
    this.#spokeAt = this.#options.clock.monotonic();
    if (this.#state === 'flowing') this.#options.sink.cork(() => this.#write(this.#options.love()));
  }

  /** Ends the stream after what it has not read yet and `bye`. */
  bye(): void {
    if (this.#state === 'flowing') {
      this.#state = 'leaving';
      this.#options.sink.cork(() => this.#pump());
    } else if (this.#state === 'behind') {
      this.#state = 'leaving';
    }
  }

  /** Ends the stream now, whatever it has not read. */
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

  /** Writes what the cursor reads until a write is refused. */
  #pump(): void {
    for (let portion = this.#cursor?.take(); portion !== undefined; portion = this.#cursor?.take()) {
      if (!this.#write(portion)) return;
    }
    const level = this.#level;
    this.#level = undefined;
    if (level !== undefined && !this.#put(level)) return;
    this.#caughtUp();
  }

  #caughtUp(): void {
    this.#cursor = undefined;
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
  #write(bytes: Uint8Array, upTo?: number): boolean {
    this.#spokeAt = this.#options.clock.monotonic();
    return this.#put(bytes, upTo);
  }

  /** As `#write`, without breaking the silence. */
  #put(bytes: Uint8Array, upTo?: number): boolean {
    const taken = this.#options.sink.write(bytes);
    if (!taken && this.#state === 'flowing') {
      this.#state = 'behind';
      this.#cursor = this.#options.behind(upTo);
    }
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
    this.#cursor = undefined;
    this.#options.onEnd(this, ending);
  }
}
