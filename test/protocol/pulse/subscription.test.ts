// Words of the server that are in no table: events, versions and error codes. Those that are: golden.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEvent } from '../../../src/protocol/pulse/commands.js';
import { serverFault } from '../../../src/protocol/pulse/outcome.js';
import { negotiate, WireError } from '../../../src/protocol/pulse/wire.js';

for (const word of [0x0a, 0x0f, 0x30, 0x40, 0x100, 0x80000000, 0xffffffff]) {
  test(`event 0x${word.toString(16)} is none`, () => assert.throws(() => decodeEvent(word, 1), WireError));
}

const VERSIONS = [
  [35, 35],
  [32, 32],
  [36, 35],
  [0xc0000023, 35],
  [31, undefined],
  [0x80000000, undefined],
] as const;
for (const [answered, expected] of VERSIONS) {
  test(`a server that answers version ${answered} is addressed in ${expected ?? 'none'}`, () => {
    assert.equal(negotiate(answered), expected);
  });
}

test('a code that is in no table is an error all the same', () => {
  for (const code of [27, 0xffffffff])
    assert.deepEqual(serverFault(code), { code, name: 'UNLISTED', meaning: `error ${code}` });
});
