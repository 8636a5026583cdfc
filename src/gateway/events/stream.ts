// One client's stream: its filter, its state, and its cursor while it is behind. It knows the client's
// connection only as a TextSink.

import type { Clock } from '../../host/clock.js';
import type { Cursor } from './cursor.js';
import { BYE, type Filter } from './frames.js';

/** One client's connection, as the hub sees it. Implemented by `ResponseStream`. */
export interface TextSink {
  /**
   * Takes the text and sends it. False: the kernel did not accept all of it, so the caller must not write
   * again before `writable` is called, because a further text would be buffered without a bound. The
   * argument is a text, because uWebSockets.js takes a text faster than bytes while there are few streams.
   */
  write(text: string): boolean;
  /** Ends the response after what was written. */
  end(): void;
  cut(): void;
}

/** Notifications from the connection about one open stream. */
export interface OpenStream {
  /** Called after a refused write, when everything written was accepted. The stream may write again. */
  writable(): void;
  /** The peer has disconnected; the sink must not be used any more. */
  gone(): void;
}

/**
 * flowing: every event is written at once. behind: a write was refused, or the cursor has not caught up.
 * leaving: the same as behind, and `bye` follows. ending: `bye` is written but not yet accepted.
 */
type StreamState = 'flowing' | 'behind' | 'leaving' | 'ending' | 'closed';

export interface StreamOptions {
  readonly sink: TextSink;
  readonly filter: Filter;
  readonly keepaliveMs: number;
  /** The keep-alive event, sent after silence. */
  readonly love: () => string;
  /** A cursor for a client that has everything up to `reached`; by default up to the newest entry. */
  readonly cursorFrom: (reached?: number) => Cursor;
  readonly clock: Clock;
  /** `isSlow`: the client read too slowly. */
  readonly onEnd: (stream: EventStream, isSlow: boolean) => void;
}

export class EventStream implements OpenStream {
  readonly filter: Filter;
  readonly #options: StreamOptions;
  #state: StreamState = 'flowing';
  #cursor: Cursor | undefined;
  /** The newest levels that could not be written; written once the cursor has caught up. */
  #level: string | undefined;
  #lastEventAt: number;

  constructor(options: StreamOptions) {
    this.filter = options.filter;
    this.#options = options;
    this.#lastEventAt = options.clock.monotonic();
  }

  /** The time of the next keep-alive, if nothing is sent before. */
  get dueAt(): number {
    return this.#lastEventAt + this.#options.keepaliveMs;
  }

  /** Writes the first lines, then what `cursor` reads, as far as the client accepts it. */
  start(hello: string, cursor: Cursor): void {
    this.#state = 'behind';
    this.#cursor = cursor;
    if (this.#writeEvent(hello)) this.#catchUp();
  }

  /**
   * Writes an event at the monotonic time `now`; a stream that is behind reads it later. `upTo` is the
   * sequence number that the client reaches with the event.
   */
  deliver(text: string, upTo: number | undefined, now: number): void {
    if (this.#state !== 'flowing') return;
    this.#lastEventAt = now;
    if (!this.#options.sink.write(text)) this.#fallBehind(upTo);
  }

  /**
   * Makes a flowing stream read the journal after `reached`, because a change has no event. True if the
   * caller must call `writable` then. False for a stream that is behind, which reads the journal anyway.
   */
  fallBack(reached: number): boolean {
    if (this.#state !== 'flowing') return false;
    this.#fallBehind(reached);
    return true;
  }

  /**
   * Does not postpone the keep-alive: levels have no id, so the id of "love" must be sent even while levels
   * come all the time.
   */
  deliverLevel(text: string): void {
    if (this.#state === 'flowing') this.#writeText(text);
    else if (this.#state === 'behind') this.#level = text;
  }

  /** Sends "love" after a silence. A client that is behind has bytes pending, so it needs no event. */
  keepAlive(): void {
    this.#lastEventAt = this.#options.clock.monotonic();
    if (this.#state === 'flowing') this.#writeEvent(this.#options.love());
  }

  /** Ends the stream after the unread events and `bye`. */
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

  writable(): void {
    if (this.#state !== 'flowing' && this.#isOpen()) this.#catchUp();
  }

  /**
   * uWebSockets.js aborts a response that makes no progress for 10 s. This looks like a peer that
   * disconnects, so each stream that is lost while it is behind counts as too slow, even if the peer has
   * left by itself.
   */
  gone(): void {
    this.#end(this.#state === 'behind');
  }

  /** Writes the cursor's portions until a write is refused. */
  #catchUp(): void {
    let portion = this.#cursor?.nextText();
    while (portion !== undefined) {
      if (!this.#writeEvent(portion)) return;
      portion = this.#cursor?.nextText();
    }
    const level = this.#level;
    this.#level = undefined;
    if (level !== undefined && !this.#writeText(level)) return;
    this.#caughtUp();
  }

  #caughtUp(): void {
    this.#cursor = undefined;
    if (this.#state === 'behind') this.#state = 'flowing';
    if (this.#state === 'leaving') {
      this.#state = 'ending';
      if (!this.#writeEvent(BYE)) return;
    }
    if (this.#state === 'ending') {
      this.#end();
      this.#options.sink.end();
    }
  }

  /** False if the write was refused or the peer has disconnected; nothing more may be written now. */
  #writeEvent(text: string): boolean {
    this.#lastEventAt = this.#options.clock.monotonic();
    return this.#writeText(text);
  }

  /** Writes without postponing the keep-alive. The result is that of `#writeEvent`. */
  #writeText(text: string): boolean {
    const isAccepted = this.#options.sink.write(text);
    if (!isAccepted) this.#fallBehind();
    return isAccepted && this.#isOpen();
  }

  /** From now on the stream reads the journal after `upTo`, by default after its newest entry. */
  #fallBehind(upTo?: number): void {
    if (this.#state !== 'flowing') return;
    this.#state = 'behind';
    this.#cursor = this.#options.cursorFrom(upTo);
  }

  #isOpen(): boolean {
    return this.#state !== 'closed';
  }

  /** Called before the sink's `cut` or `end`, as the sink may call `gone` before it returns. */
  #end(isSlow = false): void {
    if (!this.#isOpen()) return;
    this.#state = 'closed';
    this.#cursor = undefined;
    this.#options.onEnd(this, isSlow);
  }
}
