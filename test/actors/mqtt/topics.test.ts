// Tests the node's identifier, and the text that names the owner of a branch.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { identifierOf, ownerText, readIdentifier } from '../../../src/actors/mqtt/topics.js';
import { temporaryFolder } from '../../temporary-folder.js';

const MACHINE_ID = '0123456789abcdef0123456789abcdef';

test('the identifier is derived from the ids of the machine and the user, and does not reveal them', () => {
  assert.match(identifierOf(MACHINE_ID, 1000), /^[0-9a-f]{16}$/);
  assert.equal(identifierOf(MACHINE_ID, 1000), identifierOf(MACHINE_ID, 1000));
  assert.notEqual(identifierOf(MACHINE_ID, 1000), identifierOf(MACHINE_ID.replace('0', '1'), 1000));
  assert.notEqual(identifierOf(MACHINE_ID, 1000), identifierOf(MACHINE_ID, 1001), 'two users are two nodes');
  assert.ok(!MACHINE_ID.includes(identifierOf(MACHINE_ID, 1000)), 'it is no part of the machine-id');
});

test('the identifier is derived from the id in the file `machine-id`, and is undefined if there is no id', (t) => {
  const path = join(temporaryFolder(t), 'machine-id');
  assert.equal(readIdentifier(1000, path), undefined, 'there is no file');
  const rows: readonly (readonly [text: string, expected: string | undefined])[] = [
    ['', undefined],
    ['uninitialized\n', undefined],
    [`${MACHINE_ID}\n`, identifierOf(MACHINE_ID, 1000)],
  ];
  for (const [text, expected] of rows) {
    writeFileSync(path, text);
    assert.equal(readIdentifier(1000, path), expected, text);
  }
});

for (const [owner, pattern] of [
  ['me', /another tonearm on this machine/],
  ['you', /another node, you: set mqtt\.topic/],
  // The text repeats at most 64 UTF-16 units of the owner (`NAME_MAX_CHARACTERS` in topics.ts). The musical
  // note is the 64th and the 65th unit. It is left out, because a character is not cut in two.
  [`${'x'.repeat(63)}🎵`, /another node, x{63}\.\.\.: set/],
] as const) {
  test(`on the node "me", the text about a branch that belongs to "${owner}" matches ${pattern}`, () =>
    assert.match(ownerText(owner, 'me'), pattern));
}
