// A connection whose kernel takes only a limited number of bytes, so the hub sees a slow reader. It asserts
// the rules of TextSink: no write follows a refusal before `writable`, and none follows the end.

import assert from 'node:assert/strict';
import type { OpenStream, TextSink } from '../../../src/gateway/events/stream.js';

export class SimulatedConnection implements TextSink {
  /** How many writes there were. */
  writes = 0;
  stream: OpenStream | undefined;
  /** How the hub (`ended`, `cut`) or the peer (`gone`) ended the connection; undefined while it is open. */
  over: 'ended' | 'cut' | 'gone' | undefined;
  readonly #capacity: number;
  readonly #unread: Uint8Array[] = [];
  #buffered = 0;
  #isRefusing = false;

  /** `capacity`: the number of unread bytes from which on a write is refused. */
  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** Bytes written and not read. */
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
    assert.equal(this.over, undefined, 'ended once');
    this.over = 'ended';
  }

  /** Calls the stream's `gone` before it returns, as uWebSockets.js may do. */
  cut(): void {
    assert.equal(this.over, undefined, 'cut once');
    this.over = 'cut';
    this.stream?.onGone();
  }

  /** The peer goes away; unread bytes are lost. */
  breakOff(): void {
    if (this.over !== undefined) return;
    this.over = 'gone';
    this.stream?.onGone();
  }

  /** The peer reads at most `most` bytes. */
  read(most = Number.POSITIVE_INFINITY): Uint8Array {
    const pieces: Uint8Array[] = [];
    let missing = Math.min(most, this.#buffered);
    this.#buffered -= missing;
    while (missing > 0) {
      const piece = this.#unread.shift() ?? assert.fail('buffered bytes are there');
      pieces.push(piece.subarray(0, missing));
      if (piece.byteLength > missing) this.#unread.unshift(piece.subarray(missing));
      missing -= Math.min(missing, piece.byteLength);
    }
    if (this.#isRefusing && this.#buffered <= this.#capacity) {
      this.#isRefusing = false;
      if (this.over === undefined) this.stream?.onWritable();
    }
    return Buffer.concat(pieces);
  }
}
