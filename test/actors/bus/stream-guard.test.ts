// Tests how long a message may take to arrive. The test reads the stream as dbus-next does, and the clock is
// mocked.

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { reportLateMessages } from '../../../src/actors/bus/stream-guard.js';

const DEADLINE_MS = 1000;
const HEADER_BYTES = 16;
const REST_BYTES = 24;

/** A guarded stream of messages, each with a header of 16 bytes and 24 further bytes. */
class GuardedStream {
  readonly #timers: TestContext['mock']['timers'];
  readonly #stream = new Socket();
  #requestedBytes = HEADER_BYTES;
  #lateCount = 0;

  constructor(t: TestContext) {
    this.#timers = t.mock.timers;
    this.#timers.enable({ apis: ['setTimeout'] });
    t.after(() => this.#stream.destroy());
    reportLateMessages(this.#stream, DEADLINE_MS, () => {
      this.#lateCount += 1;
    });
  }

  /** The number of messages that were reported as late. */
  get lateCount(): number {
    return this.#lateCount;
  }

  /** Lets this number of bytes arrive. Reads each header and each rest that is complete. */
  receive(bytes: number): void {
    this.#stream.push(Buffer.alloc(bytes));
    while (this.#stream.read(this.#requestedBytes) !== null)
      this.#requestedBytes = this.#requestedBytes === HEADER_BYTES ? REST_BYTES : HEADER_BYTES;
  }

  wait(ms: number): void {
    this.#timers.tick(ms);
  }
}

const WHOLE = HEADER_BYTES + REST_BYTES;
/**
 * The sizes of pieces that arrive one after the other, half a deadline apart. `lateCount` messages have been
 * reported as late when one more deadline has passed.
 */
const ROWS: readonly (readonly [what: string, pieces: readonly number[], lateCount: number])[] = [
  ['nothing', [], 0],
  ['whole messages', [WHOLE, WHOLE, 2 * WHOLE], 0],
  ['a message in two pieces', [5, WHOLE - 5], 0],
  ['a header and then the remaining bytes', [HEADER_BYTES, REST_BYTES], 0],
  ['one message and the beginning of a second, and later the end of the second', [WHOLE + 3, WHOLE - 3], 0],
  ['the beginning of a header', [3], 1],
  ['a header', [HEADER_BYTES], 1],
  ['a message and a header', [WHOLE + HEADER_BYTES], 1],
  ['a header and a part of the remaining bytes', [WHOLE - 1], 1],
];
for (const [what, pieces, lateCount] of ROWS) {
  test(`if the bus sends ${what}, ${lateCount === 0 ? 'no message' : 'one message'} is late`, (t) => {
    const stream = new GuardedStream(t);
    for (const bytes of pieces) {
      stream.receive(bytes);
      stream.wait(DEADLINE_MS / 2);
    }
    stream.wait(DEADLINE_MS);
    assert.equal(stream.lateCount, lateCount);
  });
}

test('the deadline of a message that arrives byte by byte does not begin anew with each byte', (t) => {
  const stream = new GuardedStream(t);
  for (let byte = 0; byte < 4; byte += 1) {
    assert.equal(stream.lateCount, 0);
    stream.receive(1);
    stream.wait(DEADLINE_MS / 4);
  }
  assert.equal(stream.lateCount, 1);
});
