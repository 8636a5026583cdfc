// Which signals a scope asks for.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { managerRules, unitRules } from '../../../src/actors/systemd/watch-rules.js';
import { matchRule } from '../../../src/protocol/dbus/method.js';

const NAMES = Array.from({ length: 101 }, (_, index) => `unit${index}.service`);

test('the end of jobs is of interest to the user scope only', () => {
  const members = (scope: 'user' | 'system') => managerRules(scope).map(({ member }) => member);
  assert.deepEqual(members('user'), ['Reloading', 'UnitFilesChanged', 'JobRemoved']);
  assert.deepEqual(members('system'), ['Reloading', 'UnitFilesChanged']);
});

test('a unit has rules of its own', () => {
  const rules = unitRules('user', ['a@b.service']).map(matchRule);
  assert.equal(rules.length, 2);
  assert.match(rules[0] ?? '', /member='UnitRemoved'.*arg0='a@b\.service'/);
  assert.match(rules[1] ?? '', /path='\/org\/freedesktop\/systemd1\/unit\/a_40b_2eservice'/);
});

test('of system units only the state is listened to', () => {
  assert.equal(unitRules('system', ['a.service'])[1]?.arg0, 'org.freedesktop.systemd1.Unit');
  assert.equal(unitRules('user', ['a.service'])[1]?.arg0, undefined);
});

test('a long list is listened to as a whole, within the bus limit of rules', () => {
  assert.equal(unitRules('user', NAMES.slice(1)).length, 200);
  assert.equal(unitRules('user', NAMES).length, 2);
});
