// Which units are watched, and which of them a request may name.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf, watchedUnits } from '../../../src/actors/systemd/services.js';
import type { UnitScope } from '../../../src/protocol/actor/commands.js';

const WATCHED = watchedUnits({
  system: [{ name: 'sys.service' }, { name: 'both.service' }],
  user: [{ name: 'one.service', url: 'http://x/' }, { name: 'both.service' }, { name: 'up.service' }],
  internal: ['up.service', 'check.service'],
});

test('system units come first, each list in its order, internal units not at all', () => {
  assert.deepEqual(
    WATCHED.map(({ key }) => key),
    ['system/sys.service', 'system/both.service', 'user/one.service', 'user/both.service'],
  );
  assert.equal(WATCHED[2]?.url, 'http://x/');
  assert.equal(Object.hasOwn(WATCHED[0] ?? {}, 'url'), false);
});

const ROWS: readonly (readonly [scope: UnitScope, unit: string, expected: string])[] = [
  ['user', 'one.service', 'user/one.service'],
  ['user', 'both.service', 'user/both.service'],
  ['system', 'both.service', 'read-only-scope'],
  ['system', 'sys.service', 'read-only-scope'],
  ['system', 'one.service', 'no-such-unit'],
  ['user', 'sys.service', 'no-such-unit'],
  ['user', 'up.service', 'no-such-unit'],
  ['user', 'check.service', 'no-such-unit'],
  ['user', 'one', 'no-such-unit'],
  ['user', '', 'no-such-unit'],
  ['user', 'ONE.service', 'no-such-unit'],
  ['user', '__proto__', 'no-such-unit'],
  ['user', 'a'.repeat(300), 'no-such-unit'],
];

for (const [scope, unit, expected] of ROWS) {
  test(`${scope} ${unit.slice(0, 20)} is ${expected}`, () => {
    const target = targetOf(WATCHED, { do: 'start', scope, unit });
    assert.equal(target.ok ? target.unit.key : target.fault, expected);
  });
}
