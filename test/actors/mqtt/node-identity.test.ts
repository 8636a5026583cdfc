// Tests the identifier, and the ownership of a branch: a row per case of docs/home-assistant.md, "Two nodes with one branch".

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { identifierOf, otherClaimant, readIdentifier } from '../../../src/actors/mqtt/node-identity.js';
import { temporaryFolder } from '../../temporary-folder.js';

const MACHINE = '0123456789abcdef0123456789abcdef';
const OWN = { identifier: 'me', instance: 'i' };

test('the identifier is derived from the ids of the machine and the user, and does not reveal them', () => {
  assert.match(identifierOf(MACHINE, 1000), /^[0-9a-f]{16}$/);
  assert.equal(identifierOf(MACHINE, 1000), identifierOf(MACHINE, 1000));
  assert.notEqual(identifierOf(MACHINE, 1000), identifierOf(MACHINE.replace('0', '1'), 1000));
  assert.notEqual(identifierOf(MACHINE, 1000), identifierOf(MACHINE, 1001), 'two users are two nodes');
  assert.ok(!MACHINE.includes(identifierOf(MACHINE, 1000)));
});

for (const [text, expected] of [
  [`${MACHINE}\n`, identifierOf(MACHINE, 1000)],
  ['uninitialized\n', undefined],
  ['', undefined],
] as const) {
  test(`machine-id ${JSON.stringify(text)}`, (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'machine-id'), text);
    assert.equal(readIdentifier(1000, join(folder, 'machine-id')), expected);
    assert.equal(readIdentifier(1000, join(folder, 'none')), undefined);
  });
}

for (const [node, status, instance, claimant] of [
  ['', '', undefined, undefined],
  ['me', 'online', 'i', undefined],
  ['me', 'online', undefined, /another tonearm on this machine/],
  ['me', 'offline', 'j', undefined],
  ['me', 'online', 'j', /another tonearm on this machine/],
  ['you', 'offline', 'j', undefined],
  ['you', '', undefined, undefined],
  ['you', 'online', undefined, /another node, you: set mqtt\.topic/],
  [`${'x'.repeat(63)}🎵`, 'online', undefined, /another node, x{63}\.\.\.: set/],
  ['', 'online', undefined, undefined],
] as const) {
  test(`T/node ${node}, T/status ${status} by ${instance}: ${claimant ?? 'ours'}`, () => {
    const found = otherClaimant({ node, status, instance }, OWN);
    if (claimant === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', claimant);
  });
}
