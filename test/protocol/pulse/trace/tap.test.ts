// A trace changes and keeps the right bytes that pass, in whatever pieces they come.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Side } from '../../../../src/protocol/pulse/trace/conversation.js';
import { type Block, type FrameEntry, Tap } from '../../../../src/protocol/pulse/trace/tap.js';
import { WireError } from '../../../../src/protocol/pulse/wire.js';
import * as wire from '../bytes.js';

const HEADER = 20;
const AUTH = 8;
const SHM = 0x80000000;
const MEMFD = 0x40000000;
const COOKIE = Array.from({ length: 256 }, (_, at) => 1 + (at % 255));

interface Tapped {
  readonly passed: Buffer;
  readonly kept: Buffer;
  readonly commands: readonly string[];
  readonly declined: readonly string[];
  readonly blocks: readonly Block[];
  readonly frames: readonly FrameEntry[];
  /** Why the bytes were no frames any more. */
  readonly lost: string | undefined;
}

function tapped(from: Side, stream: Uint8Array, pieceBytes: number): Tapped {
  const commands: string[] = [];
  const declined: string[] = [];
  const blocks: Block[] = [];
  const frames: FrameEntry[] = [];
  const kept: Buffer[] = [];
  const passed: Buffer[] = [];
  let lost: string | undefined;
  const tap = new Tap(from, {
    command: (payload, flags) => {
      commands.push(Buffer.from(payload).toString('hex'));
      declined.push(...flags);
    },
    block: (block) => blocks.push(block),
    keep: (bytes, frame) => {
      kept.push(Buffer.from(bytes));
      frames.push(frame);
    },
    pass: (bytes) => passed.push(Buffer.from(bytes)),
  });
  for (let at = 0; at < stream.length && lost === undefined; at += pieceBytes) {
    try {
      tap.push(Buffer.from(stream.subarray(at, at + pieceBytes)));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      lost = error.message;
    }
  }
  return {
    ...{ passed: Buffer.concat(passed), kept: Buffer.concat(kept) },
    ...{ commands, declined, blocks, frames, lost },
  };
}

const PIECES = [1, 3, 7, 20, 31, 32, 64, 1 << 20];

const auth = (version: number): Uint8Array => wire.command(AUTH, 0, wire.u32(version), wire.blob(COOKIE));
const data = (bytes: number): Uint8Array =>
  wire.framed(
    Array.from({ length: bytes }, () => 0xaa),
    { channel: 2, offset: 1, flags: 1 },
  );
const concat = (...frames: Uint8Array[]): Uint8Array => Buffer.concat(frames);

for (const pieceBytes of PIECES) {
  test(`in pieces of ${pieceBytes}: shared memory is declined, the cookie passes and is not kept`, () => {
    const next = wire.command(20, 1);
    const stream = concat(auth((SHM | MEMFD | 35) >>> 0), next, data(100), next);
    const { passed, kept, commands, declined, blocks, frames, lost } = tapped('client', stream, pieceBytes);
    const expected = Buffer.from(concat(auth(35), next, data(100), next));
    assert.deepEqual(passed, expected);
    assert.deepEqual([declined, lost], [['shm', 'memfd'], undefined]);
    assert.equal(commands[0], Buffer.from(auth(35).subarray(HEADER)).toString('hex'));
    assert.equal(commands.length, 3);
    assert.deepEqual(blocks, [{ channel: 2, offset: 2 ** 32, length: 100, seek: 'absolute' }]);
    const cookieAt = expected.indexOf(Buffer.from(COOKIE));
    assert.deepEqual(kept, Buffer.from(expected).fill(0, cookieAt, cookieAt + COOKIE.length));
    assert.deepEqual(
      frames.map(({ payload, channel, command, tag }) => [payload, channel, command, tag]),
      [
        [276, 0xffffffff, AUTH, 0],
        [10, 0xffffffff, 20, 1],
        [100, 2, undefined, undefined],
        [10, 0xffffffff, 20, 1],
      ],
    );
  });

  test(`in pieces of ${pieceBytes}: a server's reply to AUTH has no flags either, and no other reply is changed`, () => {
    const flagged = wire.reply(0, wire.u32((SHM | 35) >>> 0));
    const { passed, declined } = tapped('server', concat(flagged, flagged), pieceBytes);
    assert.deepEqual(passed, Buffer.from(concat(wire.reply(0, wire.u32(35)), flagged)));
    assert.deepEqual(declined, ['shm']);
  });

  for (const [what, frame] of [
    ['a text', wire.command(AUTH, 0, wire.u32(35), [0x74, ...COOKIE.map((byte) => byte | 1), 0])],
    [
      'without a version',
      wire.command(AUTH, 0, wire.text('x'), [0x74, ...COOKIE.map((byte) => byte | 1), 0]),
    ],
  ] as const) {
    test(`in pieces of ${pieceBytes}: a wrong cookie is not kept: ${what}`, () => {
      const { passed, kept } = tapped('client', frame, pieceBytes);
      assert.deepEqual(passed, Buffer.from(frame));
      assert.equal(kept.length, frame.length);
      assert.ok(!kept.includes(Buffer.from(COOKIE.slice(8, 12).map((byte) => byte | 1))));
    });
  }
}
