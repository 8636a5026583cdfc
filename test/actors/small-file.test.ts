// Tests that a small file is read whole, and that a path is refused if it leads to no small file.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type FileResult, readSmallFile, readUntilEnd } from '../../src/actors/small-file.js';
import { temporaryFolder } from '../temporary-folder.js';

/** A reading that does not end must fail its test. */
const DEADLINE = { timeout: 60_000 };
const MAX_BYTES = 100_000;
const LARGE = Buffer.alloc(MAX_BYTES + 1);

const newPath = (t: TestContext) => join(temporaryFolder(t), 'file');
const MISSING: FileResult = { ok: false, error: { problem: 'it does not exist', isMissing: true } };
const refusal = (problem: string): FileResult => ({ ok: false, error: { problem, isMissing: false } });

describe('a path that leads to no small file is refused', DEADLINE, () => {
  const rows: readonly (readonly [what: string, create: (path: string) => void, expected: FileResult])[] = [
    ['nothing', () => undefined, MISSING],
    ['a dangling link', (path) => symlinkSync('nowhere', path), MISSING],
    ['a directory', (path) => mkdirSync(path), refusal('it is a directory')],
    ['a FIFO', (path) => execFileSync('mkfifo', [path]), refusal('it is not a regular file')],
    ['a device', (path) => symlinkSync('/dev/zero', path), refusal('it is not a regular file')],
    ['a too large file', (path) => writeFileSync(path, LARGE), refusal('it is larger than 100000 bytes')],
    ['a link to itself', (path) => symlinkSync(path, path), refusal('it cannot be read (ELOOP)')],
  ];
  for (const [what, create, expected] of rows) {
    test(`a path to ${what} is refused`, async (t) => {
      const path = newPath(t);
      create(path);
      assert.deepEqual(await readSmallFile(path, MAX_BYTES), expected);
    });
  }

  test('a path below a file counts as missing', async (t) => {
    const path = newPath(t);
    writeFileSync(path, '');
    assert.deepEqual(await readSmallFile(join(path, 'x'), MAX_BYTES), MISSING);
  });
});

for (const bytes of [0, MAX_BYTES - 1, MAX_BYTES]) {
  test(`a file of ${bytes} bytes is read whole, into a buffer that has nothing else`, async (t) => {
    const path = newPath(t);
    writeFileSync(path, Buffer.alloc(bytes, 'abc'));
    const file = await readSmallFile(path, MAX_BYTES);
    assert.deepEqual(file.ok && file.value.bytes, new Uint8Array(Buffer.alloc(bytes, 'abc')));
    assert.equal(file.ok && file.value.bytes.buffer.byteLength, bytes);
  });
}

const PART_BYTES = 3;

test('a file that comes in parts is read to its end, or to the end of the buffer', async () => {
  const whole = Buffer.from('in parts of three');
  const file = {
    read: async (buffer: Uint8Array, offset: number, length: number, position: number) => {
      const part = whole.subarray(position, position + Math.min(length, PART_BYTES));
      buffer.set(part, offset);
      return { bytesRead: part.length, buffer };
    },
  };
  for (const bufferBytes of [4, whole.length, 100]) {
    const buffer = new Uint8Array(bufferBytes);
    const length = await readUntilEnd(file as never, buffer);
    const text = Buffer.from(buffer.subarray(0, length)).toString();
    assert.equal(text, whole.toString().slice(0, bufferBytes));
  }
});

test('16 reads of a FIFO at the same time do not block the reading of another file', DEADLINE, async (t) => {
  const path = newPath(t);
  execFileSync('mkfifo', [path]);
  // The process has four threads for files, so 16 reads that block would occupy all of them.
  const reads = Array.from({ length: 16 }, () => readSmallFile(path, MAX_BYTES));
  assert.ok((await readFile('/proc/self/stat')).length > 0, 'another file is read meanwhile');
  for (const result of await Promise.all(reads)) assert.equal(result.ok, false);
});
