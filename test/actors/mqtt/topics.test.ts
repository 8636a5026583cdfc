// Tests the node's identifier, and the text that names the owner of a branch.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { identifierOf, ownerText, readIdentifier } from '../../../src/actors/mqtt/topics.js';
import { temporaryFolder } from '../../temporary-folder.js';

const MACHINE = '0123456789abcdef0123456789abcdef';

test('the identifier is derived from the ids of the machine and the user, and does not reveal them', () => {
  assert.match(identifierOf(MACHINE, 1000), /^[0-9a-f]{16}$/);
  assert.equal(identifierOf(MACHINE, 1000), identifierOf(MACHINE, 1000));
  assert.notEqual(identifierOf(MACHINE, 1000), identifierOf(MACHINE.replace('0', '1'), 1000));
  assert.notEqual(identifierOf(MACHINE, 1000), identifierOf(MACHINE, 1001), 'two users are two nodes');
  assert.ok(!MACHINE.includes(identifierOf(MACHINE, 1000)), 'it is no part of the machine-id');
});

test('the identifier is read from the file of the machine-id, if the file has a machine-id', (t) => {
  const path = join(temporaryFolder(t), 'machine-id');
  assert.equal(readIdentifier(1000, path), undefined);
  const rows: readonly (readonly [text: string, expected: string | undefined])[] = [
    ['', undefined],
    ['uninitialized\n', undefined],
    [`${MACHINE}\n`, identifierOf(MACHINE, 1000)],
  ];
  for (const [text, expected] of rows) {
    writeFileSync(path, text);
    assert.equal(readIdentifier(1000, path), expected, text);
  }
});

for (const [owner, pattern] of [
  ['me', /another tonearm on this machine/],
  ['you', /another node, you: set mqtt\.topic/],
  // The musical note is two UTF-16 units, the 64th and the 65th. Only 64 units are allowed
  // (`NAME_MAX_CHARACTERS` in topics.ts), and a character is not cut in two.
  [`${'x'.repeat(63)}🎵`, /another node, x{63}\.\.\.: set/],
] as const) {
  test(`on a node with the identifier me, the text about the owner ${owner} of a branch matches ${pattern}`, () =>
    assert.match(ownerText(owner, 'me'), pattern));
}
