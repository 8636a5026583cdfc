// The connection of an event stream: writes each text of the stream to uWebSockets.js' response, and calls
// the stream when the connection can take more, or is lost. The rules of exchange.ts hold here, too.

import type { OpenStream, TextSink } from './events/stream.js';

/**
 * A comment line, which clients ignore. uWebSockets.js makes it necessary in two places.
 *
 * - After each text: the end of a chunk is sent only with the next chunk. Clients that read whole chunks,
 *   such as Python's urllib3 and requests, would get every event one event late.
 * - Before the first text when the connection is writable again: bytes that the kernel did not accept are in
 *   a buffer, also when no write was refused. Only the next write flushes the buffer, and its result shows
 *   whether the buffer is empty.
 */
const COMMENT = ':\n';

/** A response of uWebSockets.js has these methods. */
interface StreamedResponse {
  cork(write: () => void): unknown;
  /** False if the kernel did not take everything that was written so far. */
  write(text: string): boolean;
  end(): unknown;
  onWritable(handler: () => boolean): unknown;
}

/** The parts of an exchange that its stream needs. */
export interface StreamedExchange {
  /** Writes the head. */
  begin(): void;
  /** To be called when the response has been ended. */
  ended(): void;
  cut(): void;
}

/** Nothing is sent before the first write, so until then the exchange may still get another answer. */
export class ResponseStream implements TextSink {
  readonly #response: StreamedResponse;
  readonly #exchange: StreamedExchange;
  #state: 'prepared' | 'begun' | 'over' = 'prepared';
  #pending = '';
  #isWriteComplete = true;
  #stream: OpenStream | undefined;

  constructor(response: StreamedResponse, exchange: StreamedExchange) {
    this.#response = response;
    this.#exchange = exchange;
  }

  /** False if the kernel did not take the whole of the last write. */
  get isWriteComplete(): boolean {
    return this.#isWriteComplete;
  }

  write(text: string): boolean {
    if (this.#state === 'over') return false;
    this.#pending = text;
    this.#response.cork(this.#writeCorked);
    return this.#isWriteComplete;
  }

  readonly #writeCorked = (): void => {
    if (this.#state === 'prepared') this.#begin();
    this.#isWriteComplete = this.#response.write(this.#pending) && this.#response.write(COMMENT);
  };

  end(): void {
    if (this.#state === 'over') return;
    if (this.#state === 'prepared') this.#begin();
    this.#state = 'over';
    this.#exchange.ended();
    this.#response.cork(() => this.#response.end());
  }

  cut(): void {
    this.#exchange.cut();
  }

  /** From now on the stream gets the connection's notifications. */
  attach(stream: OpenStream): void {
    // A stream that ended within its first write has no connection any more.
    if (this.#state !== 'begun') return;
    this.#stream = stream;
    this.#response.onWritable(() => {
      if (this.write(COMMENT)) stream.writable();
      return true;
    });
  }

  /**
   * To be called when the other end has left, the connection was cut, or the exchange got another answer.
   */
  leave(): void {
    this.#state = 'over';
    this.#stream?.gone();
  }

  #begin(): void {
    this.#state = 'begun';
    this.#exchange.begin();
  }
}
