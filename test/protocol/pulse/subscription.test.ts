// Event words, masks and the server's error codes: tables.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeEvent } from '../../../src/protocol/pulse/commands.js';
import { serverFault } from '../../../src/protocol/pulse/outcome.js';
import { negotiate, WireError } from '../../../src/protocol/pulse/wire.js';

const EVENTS = [
  [0x00, 'sink', 'new'],
  [0x10, 'sink', 'change'],
  [0x20, 'sink', 'remove'],
  [0x01, 'source', 'new'],
  [0x12, 'sink-input', 'change'],
  [0x22, 'sink-input', 'remove'],
  [0x03, 'source-output', 'new'],
  [0x14, 'module', 'change'],
  [0x05, 'client', 'new'],
  [0x06, 'sample-cache', 'new'],
  [0x17, 'server', 'change'],
  [0x19, 'card', 'change'],
] as const;
for (const [word, facility, type] of EVENTS) {
  test(`event 0x${word.toString(16)} is ${type} ${facility}`, () => {
    assert.deepEqual(decodeEvent(word, 7), { facility, type, index: 7 });
  });
}

for (const word of [0x0a, 0x0f, 0x30, 0x40, 0x100, 0x80000000, 0xffffffff]) {
  test(`event 0x${word.toString(16)} is none`, () => assert.throws(() => decodeEvent(word, 1), WireError));
}

const VERSIONS = [
  [35, 35],
  [32, 32],
  [34, 34],
  [36, 35],
  [0xffff, 35],
  [0xc0000023, 35],
  [31, undefined],
  [0, undefined],
  [0x80000000, undefined],
] as const;
for (const [answered, expected] of VERSIONS) {
  test(`a server that answers version ${answered} is addressed in ${expected ?? 'none'}`, () => {
    assert.equal(negotiate(answered), expected);
  });
}

const FAULTS = [
  [1, 'ACCESS'],
  [3, 'INVALID'],
  [5, 'NOENTITY'],
  [7, 'PROTOCOL'],
  [17, 'VERSION'],
  [19, 'NOTSUPPORTED'],
  [26, 'BUSY'],
  [27, 'UNLISTED'],
  [0xffffffff, 'UNLISTED'],
] as const;
for (const [code, name] of FAULTS) {
  test(`error ${code} is ${name}`, () => {
    const fault = serverFault(code);
    assert.deepEqual([fault.code, fault.name], [code, name]);
    assert.notEqual(fault.meaning, '');
  });
}
