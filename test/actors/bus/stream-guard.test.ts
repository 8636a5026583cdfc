// Tests how long a message may take to arrive, read as dbus-next reads it; the clock is mocked.

import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { reportLateMessages } from '../../../src/actors/bus/stream-guard.js';

const DEADLINE_MS = 1000;
const HEADER_BYTES = 16;
const REST_BYTES = 24;

/** A guarded stream of messages, each with a header of 16 bytes and 24 further bytes. */
function guardedStream(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const stream = new Socket();
  t.after(() => stream.destroy());
  let late = 0;
  reportLateMessages(stream, DEADLINE_MS, () => {
    late += 1;
  });
  let requestedBytes = HEADER_BYTES;
  /** Lets this number of bytes arrive, and reads everything that is complete. */
  const receive = (bytes: number): void => {
    stream.push(Buffer.alloc(bytes));
    while (stream.read(requestedBytes) !== null)
      requestedBytes = requestedBytes === HEADER_BYTES ? REST_BYTES : HEADER_BYTES;
  };
  return { receive, wait: (ms: number) => t.mock.timers.tick(ms), late: () => late, stream };
}

const WHOLE = HEADER_BYTES + REST_BYTES;
/**
 * Pieces that arrive one after the other, half a deadline apart; `late` counts the reports after one more
 * deadline.
 */
const ROWS: readonly (readonly [what: string, pieces: readonly number[], late: number])[] = [
  ['nothing', [], 0],
  ['whole messages', [WHOLE, WHOLE, 2 * WHOLE], 0],
  ['a message in two pieces', [5, WHOLE - 5], 0],
  ['a header and then the remaining bytes', [HEADER_BYTES, REST_BYTES], 0],
  ['a message with the beginning of the next, which ends', [WHOLE + 3, WHOLE - 3], 0],
  ['the beginning of a header', [3], 1],
  ['a header', [HEADER_BYTES], 1],
  ['a message and a header', [WHOLE + HEADER_BYTES], 1],
  ['a header and a part of the remaining bytes', [WHOLE - 1], 1],
];
for (const [what, pieces, late] of ROWS) {
  test(`${what}: ${late === 0 ? 'in time' : 'late'}`, (t) => {
    const stream = guardedStream(t);
    for (const bytes of pieces) {
      stream.receive(bytes);
      stream.wait(DEADLINE_MS / 2);
    }
    stream.wait(DEADLINE_MS);
    assert.equal(stream.late(), late);
  });
}

test('a message that arrives byte by byte is late when its deadline has passed, which does not begin anew', (t) => {
  const stream = guardedStream(t);
  for (let byte = 0; byte < 4; byte += 1) {
    assert.equal(stream.late(), 0);
    stream.receive(1);
    stream.wait(DEADLINE_MS / 4);
  }
  assert.equal(stream.late(), 1);
});
