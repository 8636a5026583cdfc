// One request and its response. This file and response-stream.ts, for event streams, are the only ones that
// use uWebSockets.js' request and response objects. They follow its rules, so that no other file has to: a
// request is invalid when the handler returns, a response must not be used after an abort, writes outside
// the handler are corked. This file decides nothing. How uWebSockets.js behaves is in
// docs/development/what-we-learnt.md, "uWebSockets.js".

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Clock } from '../host/clock.js';
import { BODY_LIMIT_BYTES, type ReceivedBody } from './body.js';
import { LOOPBACK, peerOf } from './connections.js';
import { KeptRequest, type RequestHead } from './kept-request.js';
import { type HeaderPairs, type HttpReply, KEEP_ALIVE, oneLine, STATUS_LINES } from './reply.js';
import { ResponseStream } from './response-stream.js';

/**
 * So much of a body that is too large is read and discarded, so that the client can read the answer instead
 * of getting a reset.
 */
const DISCARD_LIMIT_BYTES = 1024 * 1024;
/** For the whole body to arrive: uWebSockets.js limits only the pause between two packets. */
const BODY_DEADLINE_MS = 10_000;
/**
 * A larger asynchronous reply, such as a cover, is sent as the kernel accepts it: `end` would keep a copy for
 * each slow reader.
 */
const COPIED_MAX_BYTES = 256 * 1024;

/**
 * Made by the server for each request, and passed to the handler once. Methods that read the request
 * (`header`, `query`, `repeated`, `receiveBody`, `openStream`) must be called before the handler's first
 * await, or after `keep`. Ends in exactly one of: `answer`, a stream's end, `cut`, or the peer's disconnect.
 */
export class Exchange {
  /** Methods are case-sensitive. */
  readonly method: string;
  /** Percent-encoded, without the query. */
  readonly path: string;
  /** The name of the operation that answers it; `none` until a route is found. */
  operation = 'none';
  /** Called once, with the status, when an answer or a stream begins. */
  onAnswer: (status: number) => void = () => undefined;
  readonly #response: HttpResponse;
  readonly #clock: Clock;
  #request: RequestHead | undefined;
  #kept: KeptRequest | undefined;
  #keptBody: Promise<ReceivedBody> | undefined;
  /** True while the handler runs for the first time: writes are corked then. */
  #isInHandler = true;
  #state: 'open' | 'streaming' | 'answered' | 'gone' = 'open';
  #headers: HeaderPairs = [];
  #isCollecting = false;
  #isPaused = false;
  #stream: ResponseStream | undefined;
  #onGone: (() => void) | undefined;

  constructor(response: HttpResponse, request: HttpRequest, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    this.#request = request;
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
  }

  /** The IP address of the other end, which may be a proxy. Must not be read once the exchange is gone. */
  get peer(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString();
  }

  /** True if the other end is on this machine, and came by loopback. Same rule as `peer`. */
  get isLocal(): boolean {
    return peerOf(this.#response.getRemoteAddress()) === LOOPBACK;
  }

  /** True if the other end has to act next. If it does nothing for a time, the connection may be closed. */
  get isPeersTurn(): boolean {
    return (
      this.#state === 'answered' || (this.#state === 'streaming' && this.#stream?.isWriteComplete === false)
    );
  }

  /** '' when absent; `name` in lower case. Calls after the handler's first await throw. */
  header(name: string): string {
    return this.#head().getHeader(name);
  }

  /** The first of these headers that is repeated. Same rule as `header`. */
  repeated(names: readonly string[]): string | undefined {
    const earlier = new Set<string>();
    let firstRepeated: string | undefined;
    this.#head().forEach((name) => {
      if (earlier.has(name) && names.includes(name)) firstRepeated ??= name;
      earlier.add(name);
    });
    return firstRepeated;
  }

  /** The raw query without its question mark. Same rule as `header`. */
  query(): string {
    return this.#head().getQuery() ?? '';
  }

  /** Makes the request readable after an await. Call it in the handler's synchronous part, at most once. */
  keep(): void {
    this.#kept = new KeptRequest(this.#head());
    if (this.method !== 'GET' && this.method !== 'HEAD') this.#keptBody = this.#collectBody();
  }

  /** True if the other end has left, or the connection was cut. */
  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /** Headers for the reply or stream of this exchange, in addition to the reply's own. */
  setHeaders(headers: HeaderPairs): void {
    this.#headers = headers;
  }

  /** Called by the server when the handler has returned. */
  handlerReturned(): void {
    this.#request = this.#kept;
    this.#isInHandler = false;
    if (this.#isOver()) return;
    // uWebSockets.js calls this also when this side closes the connection; the exchange is over by then.
    this.#response.onAborted(() => {
      if (!this.#isOver()) this.#markGone();
    });
    // A kept request is not paused: it may become a stream, and the `resume` after a pause sets a timeout
    // that would end the stream.
    if (!this.#isCollecting && this.#kept === undefined) this.#pause();
  }

  /**
   * Collects the body. Call at most once, in the handler's synchronous part or after `keep`. Always settles.
   */
  receiveBody(): Promise<ReceivedBody> {
    return this.#keptBody ?? this.#collectBody();
  }

  #collectBody(): Promise<ReceivedBody> {
    const declared = Number(this.header('content-length') || 0);
    if (declared > DISCARD_LIMIT_BYTES) return Promise.resolve({ kind: 'too-large' });
    this.#isCollecting = true;
    return new Promise((resolve) => {
      const settle = (body: ReceivedBody): void => {
        cancel();
        this.#onGone = undefined;
        resolve(body);
      };
      const cancel = this.#clock.after(BODY_DEADLINE_MS, () => settle({ kind: 'too-slow' }));
      this.#onGone = () => settle({ kind: 'gone' });
      const chunks: Buffer[] = [];
      let size = 0;
      this.#response.onData((chunk, isLast) => {
        if (isLast) this.#pause();
        size += chunk.byteLength;
        if (size > BODY_LIMIT_BYTES) {
          chunks.length = 0;
          if (isLast || size > DISCARD_LIMIT_BYTES) settle({ kind: 'too-large' });
          return;
        }
        // The chunk's memory is invalid after this callback.
        chunks.push(Buffer.from(new Uint8Array(chunk)));
        // Waits until the rest of the packet is parsed: if another request follows in it, the connection
        // ends, and that should happen before this request has an effect.
        if (isLast) setImmediate(settle, { kind: 'whole', bytes: Buffer.concat(chunks) });
      });
    });
  }

  /**
   * Answers once: later calls, and calls after a disconnect or the start of a stream, do nothing. If the
   * reply cannot be written, it throws and cuts the connection, because half of the head may be written
   * already.
   */
  answer(reply: HttpReply): void {
    if (this.#state !== 'open') return;
    this.#state = 'answered';
    this.#stream?.leave();
    this.onAnswer(reply.status);
    try {
      if (this.#isInHandler) this.#write(reply);
      else this.#response.cork(() => this.#write(reply));
    } catch (error) {
      this.#abandon();
      throw error;
    }
  }

  /**
   * Prepares an event stream as the answer. Call it in the handler's synchronous part. Nothing is sent before
   * the first write, so it can still be refused.
   */
  openStream(headers: HeaderPairs): ResponseStream {
    const stream = new ResponseStream(this.#response, {
      begin: () => this.#beginStream(headers),
      ended: () => {
        this.#state = 'answered';
      },
      cut: () => this.cut(),
    });
    this.#stream = stream;
    return stream;
  }

  #beginStream(headers: HeaderPairs): void {
    this.#state = 'streaming';
    this.onAnswer(200);
    this.#response.writeStatus(STATUS_LINES[200]);
    this.#writeHeaders([...headers, ...this.#headers]);
  }

  /** Cuts the connection without an answer, or in the middle of a stream. Does nothing after the end. */
  cut(): void {
    if (!this.#isOver()) this.#abandon();
  }

  /**
   * Stops reading until the answer is written, because a next request, or the end of the client's side, that
   * is read while this request is pending has uWebSockets.js end the connection without an answer. For a next
   * request in the same packet that cannot be prevented. While reading is paused, a disconnect is noticed
   * only when the answer is written, so streams are not paused.
   */
  #pause(): void {
    if (this.#state !== 'open' || this.#isPaused) return;
    this.#isPaused = true;
    this.#response.pause();
  }

  #write(reply: HttpReply): void {
    const { body, close = false } = reply;
    // A `resume` without a `pause` before it would stop all further reading.
    if (this.#isPaused) this.#response.resume();
    this.#isPaused = false;
    this.#response.writeStatus(STATUS_LINES[reply.status]);
    this.#writeHeaders(reply.headers);
    this.#writeHeaders(this.#headers);
    if (!close) this.#writeHeaders([KEEP_ALIVE]);
    if (body !== undefined && this.method !== 'HEAD') {
      const isLarge = typeof body !== 'string' && body.byteLength > COPIED_MAX_BYTES;
      if (isLarge && !close && !this.#isInHandler) this.#sendAsAccepted(body);
      else this.#response.end(body, close);
      return;
    }
    // `end` would send a body to HEAD too, and `endWithoutBody` with any argument leaves the response
    // pending, which ends the process.
    if (close) this.#response.writeHeader('Connection', 'close');
    if (body !== undefined) this.#response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#response.endWithoutBody();
  }

  #sendAsAccepted(body: Uint8Array): void {
    const bodyStart = this.#response.getWriteOffset();
    const sendFrom = (start: number) => this.#response.tryEnd(body.subarray(start), body.byteLength);
    const [, isAllSent] = sendFrom(0);
    if (isAllSent) return;
    this.#response.onWritable((offset) => {
      const [isAccepted] = sendFrom(offset - bodyStart);
      return isAccepted;
    });
  }

  #writeHeaders(headers: HeaderPairs): void {
    for (const [name, value] of headers) this.#response.writeHeader(name, oneLine(value));
  }

  #head(): RequestHead {
    if (this.#request !== undefined) return this.#request;
    throw new Error('The request is read after its handler has returned');
  }

  #isOver(): boolean {
    return this.#state === 'answered' || this.#state === 'gone';
  }

  /** Closes from this side. `close` is last, because the response is invalid after it. */
  #abandon(): void {
    this.#markGone();
    this.#response.close();
  }

  #markGone(): void {
    this.#state = 'gone';
    this.#onGone?.();
    this.#stream?.leave();
  }
}
