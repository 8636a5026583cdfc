// A connection whose peer reads only when the test calls `read`. A write counts as refused if too many bytes
// are unread after it, but its bytes are kept. The connection asserts the rules of TextSink: after a refused
// write the hub waits for `onWritable` before it writes again, and it writes nothing after the end.

import assert from 'node:assert/strict';
import type { OpenStream, TextSink } from '../../../src/gateway/events/stream.js';

export class SimulatedConnection implements TextSink {
  /** How many writes there were. */
  writes = 0;
  stream: OpenStream | undefined;
  /** How the hub (`ended`, `cut`) or the peer (`gone`) ended the connection. Undefined while it is open. */
  over: 'ended' | 'cut' | 'gone' | undefined;
  readonly #capacity: number;
  readonly #unread: Uint8Array[] = [];
  #buffered = 0;
  #isRefusing = false;

  /** `capacity`: a write returns false if more bytes than this are unread after it. */
  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** The number of bytes that are written, but not read. */
  get buffered(): number {
    return this.#buffered;
  }

  write(text: string): boolean {
    const bytes = Buffer.from(text);
    assert.ok(!this.#isRefusing, 'no write follows a refused one');
    assert.equal(this.over, undefined, 'no write follows the end');
    assert.ok(bytes.byteLength > 0, 'a write has bytes');
    this.writes += 1;
    this.#unread.push(bytes);
    this.#buffered += bytes.byteLength;
    this.#isRefusing = this.#buffered > this.#capacity;
    return !this.#isRefusing;
  }

  end(): void {
    assert.equal(this.over, undefined, 'the hub ends only an open connection');
    this.over = 'ended';
  }

  /** Calls the stream's `onGone` before it returns, as uWebSockets.js may do. */
  cut(): void {
    assert.equal(this.over, undefined, 'the hub cuts only an open connection');
    this.over = 'cut';
    this.stream?.onGone();
  }

  /** The peer goes away; unread bytes are lost. */
  breakOff(): void {
    if (this.over !== undefined) return;
    this.over = 'gone';
    this.stream?.onGone();
  }

  /** The peer reads at most `maxBytes`. */
  read(maxBytes = Number.POSITIVE_INFINITY): Uint8Array {
    const pieces: Uint8Array[] = [];
    let remaining = Math.min(maxBytes, this.#buffered);
    this.#buffered -= remaining;
    while (remaining > 0) {
      const piece = this.#unread.shift() ?? assert.fail('all buffered bytes are in #unread');
      const taken = piece.subarray(0, remaining);
      pieces.push(taken);
      if (taken.byteLength < piece.byteLength) this.#unread.unshift(piece.subarray(taken.byteLength));
      remaining -= taken.byteLength;
    }
    if (this.#isRefusing && this.#buffered <= this.#capacity) {
      this.#isRefusing = false;
      if (this.over === undefined) this.stream?.onWritable();
    }
    return Buffer.concat(pieces);
  }
}
