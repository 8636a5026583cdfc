// How far one word is from another.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editDistance, nearestKey } from '../../../src/supervisor/config/findings.js';

function distance(one: string, other: string, expected: number): void {
  test(`${one} to ${other} is ${expected}`, () => {
    assert.equal(editDistance(one, other), expected);
    assert.equal(editDistance(other, one), expected);
  });
}

distance('', '', 0);
distance('port', 'port', 0);
distance('PORT', 'port', 0);
distance('', 'port', 4);
distance('prot', 'port', 1);
distance('pot', 'port', 1);
distance('poort', 'port', 1);
distance('part', 'port', 1);
distance('troop', 'port', 4);
distance('ca', 'abc', 3);
distance('enabeld', 'enabled', 1);
distance('kitten', 'sitting', 3);
distance('x'.repeat(100_000), 'y', 32);

test('a typing error in the same section is as near as the same word in another, and goes first', () => {
  assert.equal(nearestKey(['a', 'port'], ['b.port', 'a.ports']), 'a.ports');
  assert.equal(nearestKey(['a', 'prt'], ['b.port', 'a.port']), 'a.port');
  assert.equal(nearestKey(['a', 'b', 'x'], ['a.c.x', 'z.x', 'x']), 'a.c.x');
});
