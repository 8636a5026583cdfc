// One client's stream: its filter, its state, and its cursor while it is behind. It knows the client's
// connection only as a TextSink.

import type { Clock } from '../../host/clock.js';
import type { Cursor } from './cursor.js';
import { BYE_EVENT, type Filter } from './frames.js';

/**
 * After a refused write, uWebSockets.js aborts the response if the kernel accepts nothing for 8 to 12 s. So a
 * client counts as too slow if its connection is lost after the kernel has accepted nothing for at least this
 * time. The limit is less than 8 s, because the time that `onGone` measures is too short if the event loop is
 * late.
 */
const ABORTED_AFTER_MS = 7000;

/** One client's connection. Implemented by `ResponseStream`. */
export interface TextSink {
  /**
   * False if the kernel did not accept all of the text. Then the caller must not write again before
   * `onWritable` is called, because a further text would be buffered without a bound. The argument is a text,
   * because uWebSockets.js takes a text faster than bytes while there are few streams.
   */
  write(text: string): boolean;
  /** Ends the response after what was written. */
  end(): void;
  /** Closes the connection at once. */
  cut(): void;
}

/** Notifications from the connection about one open stream. */
export interface OpenStream {
  /** Called after a refused write, when everything has been accepted. The stream may write again. */
  onWritable(): void;
  /** Called after a refused write, when a part of it has been accepted. */
  onProgress(): void;
  /**
   * Called when the client has disconnected, or the connection was cut. The sink must not be used any more.
   */
  onGone(): void;
}

/**
 * - `flowing`: every event is written at once.
 * - `behind`: a write was refused, or the cursor has not caught up.
 * - `leaving`: like `behind`, but `bye` follows when the cursor has caught up.
 * - `ending`: `bye` is written, but not yet accepted.
 * - `closed`: the stream has ended, was cut, or has lost its client.
 */
type StreamState = 'flowing' | 'behind' | 'leaving' | 'ending' | 'closed';

export interface StreamOptions {
  readonly sink: TextSink;
  readonly filter: Filter;
  readonly keepaliveMs: number;
  /** Makes the event that is sent after a silence. */
  readonly love: () => string;
  /** Makes a cursor that begins after the sequence number `readUpTo`, by default after the newest one. */
  readonly cursorFrom: (readUpTo?: number) => Cursor;
  readonly clock: Clock;
  /** `isSlow` is true if the client read too slowly. */
  readonly onEnd: (stream: EventStream, isSlow: boolean) => void;
}

export class EventStream implements OpenStream {
  readonly filter: Filter;
  readonly #options: StreamOptions;
  #state: StreamState = 'flowing';
  #cursor: Cursor | undefined;
  /** The newest levels that could not be written. They are written when the cursor has caught up. */
  #unsentLevel: string | undefined;
  #lastEventAt: number;
  /**
   * The time of the last refused write, or the later time at which a part of its text was accepted. Before
   * the first refused write, it is the time at which the stream began.
   */
  #refusedAt: number;

  constructor(options: StreamOptions) {
    this.filter = options.filter;
    this.#options = options;
    this.#lastEventAt = options.clock.monotonic();
    this.#refusedAt = this.#lastEventAt;
  }

  /** The time of the next keep-alive, if no event except levels is sent before. */
  get keepAliveDueAt(): number {
    return this.#lastEventAt + this.#options.keepaliveMs;
  }

  /** Writes the first lines, and then the portions of `cursor`, until a write is refused. */
  start(firstLines: string, cursor: Cursor): void {
    this.#state = 'behind';
    this.#cursor = cursor;
    if (this.#writeEvent(firstLines)) this.#catchUp();
  }

  /**
   * Writes the text of one or more events at the monotonic time `now`. A stream that is behind does not write
   * it, because it reads the events from the journal later. `upTo` is the sequence number that the client
   * reaches with the last of these events.
   */
  deliver(text: string, upTo: number | undefined, now: number): void {
    if (this.#state !== 'flowing') return;
    this.#lastEventAt = now;
    if (this.#options.sink.write(text)) return;
    this.#refusedAt = now;
    this.#fallBehind(upTo);
  }

  /**
   * Called when a removal makes no event: the stream then reads the journal after `readUpTo`. Returns true if
   * the caller must call `onWritable` afterwards. Returns false for a stream that is behind, because such a
   * stream reads the journal anyway.
   */
  fallBackTo(readUpTo: number): boolean {
    if (this.#state !== 'flowing') return false;
    this.#fallBehind(readUpTo);
    return true;
  }

  /** Does not postpone the keep-alive, because clients need the id of "love", and levels have no id. */
  deliverLevel(text: string): void {
    if (this.#state === 'flowing') this.#writeText(text);
    else if (this.#state === 'behind') this.#unsentLevel = text;
  }

  /** Sends "love". A client that is behind needs no "love", because earlier bytes are still unsent. */
  keepAlive(): void {
    this.#lastEventAt = this.#options.clock.monotonic();
    if (this.#state === 'flowing') this.#writeEvent(this.#options.love());
  }

  /**
   * Sends the unread events and `bye`, and ends the stream. If the stream is behind, all this is done when
   * the stream is writable again.
   */
  bye(): void {
    const isFlowing = this.#state === 'flowing';
    if (isFlowing || this.#state === 'behind') this.#state = 'leaving';
    if (isFlowing) this.#catchUp();
  }

  cut(): void {
    if (!this.#isOpen()) return;
    this.#end();
    this.#options.sink.cut();
  }

  onWritable(): void {
    if (this.#state !== 'flowing' && this.#isOpen()) this.#catchUp();
  }

  onProgress(): void {
    this.#refusedAt = this.#options.clock.monotonic();
  }

  /**
   * An abort by uWebSockets.js looks like a disconnect of the client. So a stream that is behind counts as
   * too slow if it is lost when an abort is due.
   */
  onGone(): void {
    const refusedForMs = this.#options.clock.monotonic() - this.#refusedAt;
    this.#end(this.#state === 'behind' && refusedForMs >= ABORTED_AFTER_MS);
  }

  /** Writes the cursor's portions, then the unsent levels, until a write is refused or nothing is left. */
  #catchUp(): void {
    let portion = this.#cursor?.nextText();
    while (portion !== undefined) {
      if (!this.#writeEvent(portion)) return;
      portion = this.#cursor?.nextText();
    }
    const level = this.#unsentLevel;
    this.#unsentLevel = undefined;
    if (level !== undefined && !this.#writeText(level)) return;
    this.#flowOrEnd();
  }

  /**
   * Called when nothing is left to write: `behind` becomes `flowing`, `leaving` becomes `ending`, and
   * `ending` becomes `closed`.
   */
  #flowOrEnd(): void {
    this.#cursor = undefined;
    if (this.#state === 'behind') this.#state = 'flowing';
    if (this.#state === 'leaving') {
      this.#state = 'ending';
      if (!this.#writeEvent(BYE_EVENT)) return;
    }
    // A stream whose `bye` was refused comes here once more, from `onWritable`.
    if (this.#state === 'ending') {
      this.#end();
      this.#options.sink.end();
    }
  }

  /**
   * Writes, and postpones the keep-alive. True if more may be written now: the write was accepted, and the
   * client is still there.
   */
  #writeEvent(text: string): boolean {
    this.#lastEventAt = this.#options.clock.monotonic();
    return this.#writeText(text);
  }

  /** Writes without postponing the keep-alive. The result means the same as that of `#writeEvent`. */
  #writeText(text: string): boolean {
    const isAccepted = this.#options.sink.write(text);
    if (!isAccepted) {
      this.#refusedAt = this.#options.clock.monotonic();
      this.#fallBehind();
    }
    return isAccepted && this.#isOpen();
  }

  /** From now on the stream reads the journal after `readUpTo`, by default after the newest entry. */
  #fallBehind(readUpTo?: number): void {
    if (this.#state !== 'flowing') return;
    this.#state = 'behind';
    this.#cursor = this.#options.cursorFrom(readUpTo);
  }

  #isOpen(): boolean {
    return this.#state !== 'closed';
  }

  /** To be called before the sink's `cut` or `end`, because these may call `onGone` before they return. */
  #end(isSlow = false): void {
    if (!this.#isOpen()) return;
    this.#state = 'closed';
    this.#cursor = undefined;
    this.#options.onEnd(this, isSlow);
  }
}
