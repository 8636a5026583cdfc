// Writes the texts of an event stream to uWebSockets.js' response. Calls the stream when the connection can
// take more, or is lost. The rules of uWebSockets.js at the top of exchange.ts apply here, too.

import type { OpenStream, TextSink } from './events/stream.js';

/**
 * A comment line, which clients ignore. It is written for two reasons, both because of uWebSockets.js.
 *
 * - It follows each text, because the end of a chunk is sent only with the next chunk. Without the comment,
 *   clients that read whole chunks, such as Python's `urllib3` and `requests`, would get each event only
 *   when the next event is sent.
 * - It is written when the connection is writable again, because uWebSockets.js may still buffer bytes that
 *   the kernel did not accept. This is possible even if all writes returned true. Only another write sends
 *   these bytes, and returns true if the kernel has accepted all of them.
 */
const COMMENT = ':\n';

/** A response of uWebSockets.js has these methods. */
interface StreamedResponse {
  cork(write: () => void): unknown;
  /**
   * False if the kernel did not take everything. Even after true, uWebSockets.js may still buffer bytes
   * (see `COMMENT`).
   */
  write(text: string): boolean;
  end(): unknown;
  /** `handler` must return true. */
  onWritable(handler: () => boolean): unknown;
}

/** The parts of an exchange that its stream needs. */
export interface StreamedExchange {
  /** Writes the head. */
  begin(): void;
  /** To be called just before the response is ended. */
  onEnded(): void;
  cut(): void;
}

/**
 * Nothing is sent before the first write, so until then the exchange may get an answer in place of the
 * stream.
 */
export class ResponseStream implements TextSink {
  readonly #response: StreamedResponse;
  readonly #exchange: StreamedExchange;
  #state: 'prepared' | 'begun' | 'over' = 'prepared';
  #textToWrite = '';
  #isWriteComplete = true;
  #stream: OpenStream | undefined;

  constructor(response: StreamedResponse, exchange: StreamedExchange) {
    this.#response = response;
    this.#exchange = exchange;
  }

  /** The result of the last write; true before the first one. */
  get isWriteComplete(): boolean {
    return this.#isWriteComplete;
  }

  write(text: string): boolean {
    if (this.#state === 'over') return false;
    this.#textToWrite = text;
    this.#response.cork(this.#writeCorked);
    return this.#isWriteComplete;
  }

  readonly #writeCorked = (): void => {
    if (this.#state === 'prepared') this.#begin();
    // After an incomplete write the comment is sent later, by the handler that `attach` sets.
    this.#isWriteComplete = this.#response.write(this.#textToWrite) && this.#response.write(COMMENT);
  };

  end(): void {
    if (this.#state === 'over') return;
    if (this.#state === 'prepared') this.#begin();
    this.#state = 'over';
    this.#exchange.onEnded();
    this.#response.cork(() => this.#response.end());
  }

  cut(): void {
    this.#exchange.cut();
  }

  /** From now on the stream is called when the connection can take more, or is lost. */
  attach(stream: OpenStream): void {
    // The stream has written its first lines before this call, and the response may have ended meanwhile.
    if (this.#state !== 'begun') return;
    this.#stream = stream;
    this.#response.onWritable(() => {
      // This write only makes uWebSockets.js send what it still buffers. `write` adds a second comment,
      // which does no harm. If the result is false, the kernel has accepted only a part of the bytes.
      if (this.write(COMMENT)) stream.onWritable();
      else stream.onProgress();
      return true;
    });
  }

  /**
   * To be called when the other end has left, the connection was cut, or the exchange got an answer in place
   * of the stream.
   */
  detach(): void {
    this.#state = 'over';
    this.#stream?.onGone();
  }

  #begin(): void {
    this.#state = 'begun';
    this.#exchange.begin();
  }
}
