// One request and its response. Only this file, kept-request.ts, response-stream.ts and server.ts use the
// objects of uWebSockets.js. So these four files must follow the rules in index.d.ts of the package:
// - A request is invalid when its handler has returned.
// - A response must not be used after an abort.
// - Writes outside the handler must be corked.
// Other rules are in docs/development/what-we-learnt.md, "uWebSockets.js".

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Clock } from '../host/clock.js';
import { BODY_LIMIT_BYTES, type ReceivedBody } from './body.js';
import { LOOPBACK_PEER, peerOf } from './connections.js';
import { KeptRequest, type RequestHead } from './kept-request.js';
import { type HeaderPairs, type HttpReply, KEEP_ALIVE, oneLine, STATUS_LINES } from './reply.js';
import { ResponseStream } from './response-stream.js';

/**
 * A body that is too large is read up to this size and discarded. Otherwise the client would get a
 * reset instead of the answer.
 */
const DISCARD_LIMIT_BYTES = 1024 * 1024;
/** The longest time for a whole body to arrive: uWebSockets.js limits only the pause between two packets. */
const BODY_DEADLINE_MS = 10_000;
/**
 * `end` of uWebSockets.js keeps a copy of the body for a slow reader. A body above this bound, such as a
 * cover, is sent by `tryEnd`, in the parts that the kernel accepts. There are three exceptions, for which
 * `end` is called: a string, a reply within the handler, and a reply that closes the connection.
 */
const COPIED_MAX_BYTES = 256 * 1024;

/**
 * `header`, `query`, `firstRepeatedHeader`, `receiveBody` and `openStream` must be called before the first
 * await of the handler, or after `keep`. All but `openStream` throw otherwise. An exchange ends in exactly
 * one way: by `answer`, by the end of a stream, by `cut`, or because the other end disconnects.
 */
export class Exchange {
  /** Methods are case-sensitive. */
  readonly method: string;
  /** Percent-encoded, without the query. */
  readonly path: string;
  /** The operation's name, or the kind of a route without an operation; `none` until a route is found. */
  routeName = 'none';
  /** Called once, with the status, when an answer or a stream begins. */
  onAnswer: (status: number) => void = () => undefined;
  readonly #response: HttpResponse;
  readonly #clock: Clock;
  #request: RequestHead | undefined;
  #keptRequest: KeptRequest | undefined;
  #keptBody: Promise<ReceivedBody> | undefined;
  /** Until the handler returns, uWebSockets.js itself corks the writes. */
  #isInHandler = true;
  /** `answered` includes the end of a stream; `gone` is an end by a disconnect or a cut. */
  #state: 'open' | 'streaming' | 'answered' | 'gone' = 'open';
  #headers: HeaderPairs = [];
  #isCollectingBody = false;
  #isReadingPaused = false;
  #stream: ResponseStream | undefined;
  #onGone: (() => void) | undefined;

  constructor(response: HttpResponse, request: HttpRequest, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    this.#request = request;
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
  }

  /** The IP address of the other end, which may be a proxy. Must not be read if `isGone` is true. */
  get peer(): string {
    return Buffer.from(this.#response.getRemoteAddressAsText()).toString();
  }

  /**
   * True if the other end has a loopback address, which means that it is on this machine. Must not be read if
   * `isGone` is true.
   */
  get isLocal(): boolean {
    return peerOf(this.#response.getRemoteAddress()) === LOOPBACK_PEER;
  }

  /**
   * True if the exchange is answered, or its stream waits until the other end reads. In both cases the other
   * end must act next, so server.ts sets the timeout for idle connections.
   */
  get isPeersTurn(): boolean {
    return (
      this.#state === 'answered' || (this.#state === 'streaming' && this.#stream?.isWriteComplete === false)
    );
  }

  /** Returns '' if the header is absent. `name` must be in lower case. */
  header(name: string): string {
    return this.#head().getHeader(name);
  }

  /** Returns the first header of `names` that comes twice; undefined if there is none. */
  firstRepeatedHeader(names: readonly string[]): string | undefined {
    const earlier = new Set<string>();
    let firstRepeated: string | undefined;
    this.#head().forEach((name) => {
      if (earlier.has(name) && names.includes(name)) firstRepeated ??= name;
      earlier.add(name);
    });
    return firstRepeated;
  }

  /** Returns the raw query without its question mark. */
  query(): string {
    return this.#head().getQuery() ?? '';
  }

  /**
   * Makes head and body of the request readable after an await. Call it at most once, before the first await
   * of the handler.
   */
  keep(): void {
    this.#keptRequest = new KeptRequest(this.#head());
    if (this.method !== 'GET' && this.method !== 'HEAD') this.#keptBody = this.#collectBody();
  }

  /** True if the exchange has ended by a disconnect or by a cut, and not by an answer. */
  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /** Sets headers that the reply or stream gets in addition to its own. */
  setHeaders(headers: HeaderPairs): void {
    this.#headers = headers;
  }

  /** Called by the server when the handler has returned. */
  handlerReturned(): void {
    this.#request = this.#keptRequest;
    this.#isInHandler = false;
    if (this.#isOver()) return;
    // `close` in `#abandon` calls this callback, too, but then the exchange is already over.
    this.#response.onAborted(() => {
      if (!this.#isOver()) this.#markGone();
    });
    // A kept request may become a stream, so its connection is not paused here: a stream would need `resume`,
    // and `resume` sets a timeout that would end the stream.
    if (!this.#isCollectingBody && this.#keptRequest === undefined) this.#pause();
  }

  /** Collects the body. Call it at most once. The promise always settles. */
  receiveBody(): Promise<ReceivedBody> {
    return this.#keptBody ?? this.#collectBody();
  }

  #collectBody(): Promise<ReceivedBody> {
    const declaredBytes = Number(this.header('content-length') || 0);
    if (declaredBytes > DISCARD_LIMIT_BYTES) return Promise.resolve({ kind: 'too-large' });
    this.#isCollectingBody = true;
    return new Promise((resolve) => {
      // `cancel` has its value when `settle` runs, because `after` never calls back at once.
      const settle = (body: ReceivedBody): void => {
        cancel();
        this.#onGone = undefined;
        resolve(body);
      };
      const cancel = this.#clock.after(BODY_DEADLINE_MS, () => settle({ kind: 'too-slow' }));
      this.#onGone = () => settle({ kind: 'gone' });
      const chunks: Buffer[] = [];
      let receivedBytes = 0;
      this.#response.onData((chunk, isLast) => {
        if (isLast) this.#pause();
        receivedBytes += chunk.byteLength;
        if (receivedBytes > BODY_LIMIT_BYTES) {
          chunks.length = 0;
          if (isLast || receivedBytes > DISCARD_LIMIT_BYTES) settle({ kind: 'too-large' });
          return;
        }
        // The chunk's memory is invalid after this callback.
        chunks.push(Buffer.from(new Uint8Array(chunk)));
        // If a second request follows in the same packet, uWebSockets.js ends the connection, and the first
        // request must have no effect. `setImmediate` lets `#onGone` settle first.
        if (isLast) setImmediate(settle, { kind: 'whole', bytes: Buffer.concat(chunks) });
      });
    });
  }

  /**
   * Only the first call answers. After a cut, a disconnect or the start of a stream, a call does nothing. If
   * the reply cannot be written, a part of its head may be written already. So the method cuts the
   * connection, and throws the error.
   */
  answer(reply: HttpReply): void {
    if (this.#state !== 'open') return;
    this.#state = 'answered';
    this.#stream?.detach();
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
   * Prepares an event stream as the answer. Nothing is sent before the first write, so until then `answer`
   * can still refuse the request.
   */
  openStream(headers: HeaderPairs): ResponseStream {
    const stream = new ResponseStream(this.#response, {
      begin: () => this.#beginStream(headers),
      onEnded: () => {
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

  /** Cuts the connection if the exchange is not over: without an answer, or in the middle of a stream. */
  cut(): void {
    if (!this.#isOver()) this.#abandon();
  }

  /**
   * Stops reading from the connection until the answer is written. If uWebSockets.js reads another request or
   * a half-close of the client while this request is pending, it ends the connection without an answer. The
   * pause comes too late for a request in the same packet as this one. Streams are not paused, because a
   * disconnect is noticed only by reading.
   */
  #pause(): void {
    if (this.#state !== 'open' || this.#isReadingPaused) return;
    this.#isReadingPaused = true;
    this.#response.pause();
  }

  #write(reply: HttpReply): void {
    const { body, closesConnection = false } = reply;
    // A `resume` without a `pause` before it would stop all further reading.
    if (this.#isReadingPaused) this.#response.resume();
    this.#isReadingPaused = false;
    this.#response.writeStatus(STATUS_LINES[reply.status]);
    this.#writeHeaders(reply.headers);
    this.#writeHeaders(this.#headers);
    if (!closesConnection) this.#writeHeaders([KEEP_ALIVE]);
    if (body !== undefined && this.method !== 'HEAD') {
      const isLarge = typeof body !== 'string' && body.byteLength > COPIED_MAX_BYTES;
      const isAsynchronous = !this.#isInHandler;
      if (isLarge && isAsynchronous && !closesConnection) this.#sendInParts(body);
      else this.#response.end(body, closesConnection);
      return;
    }
    // `end` would send the body even in reply to HEAD. The headers `Connection` and `Content-Length` are
    // written here, because `endWithoutBody` with arguments leaves the response pending. A response that is
    // left pending ends the process.
    if (closesConnection) this.#response.writeHeader('Connection', 'close');
    if (body !== undefined) this.#response.writeHeader('Content-Length', String(Buffer.byteLength(body)));
    this.#response.endWithoutBody();
  }

  #sendInParts(body: Uint8Array): void {
    const bodyStart = this.#response.getWriteOffset();
    const sendFrom = (start: number) => this.#response.tryEnd(body.subarray(start), body.byteLength);
    const [, isAllSent] = sendFrom(0);
    if (isAllSent) return;
    // `offset - bodyStart` is the number of the body's bytes that are already written.
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

  /** `close` is last, because the response is invalid after it. */
  #abandon(): void {
    this.#markGone();
    this.#response.close();
  }

  #markGone(): void {
    this.#state = 'gone';
    this.#onGone?.();
    this.#stream?.detach();
  }
}
