// Tests which signals are requested. Readings: follower.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Interest, managerRules, unitRules } from '../../../src/actors/units/unit-reader.js';
import { matchRule } from '../../../src/protocol/dbus/method.js';

const NAMES = Array.from({ length: 101 }, (_, index) => `unit${index}.service`);

test('the results of jobs are subscribed to only with runs', () => {
  const members = (interest: Interest) => managerRules(interest).map(({ member }) => member);
  assert.deepEqual(members('runs'), ['Reloading', 'UnitFilesChanged', 'JobRemoved']);
  assert.deepEqual(members('state'), ['Reloading', 'UnitFilesChanged']);
});

test('each unit has match rules of its own', () => {
  const rules = unitRules('runs', ['a@b.service']).map(matchRule);
  assert.equal(rules.length, 2);
  assert.match(rules[0] ?? '', /member='UnitRemoved'.*arg0='a@b\.service'/);
  assert.match(rules[1] ?? '', /path='\/org\/freedesktop\/systemd1\/unit\/a_40b_2eservice'/);
});

test('only the state of a unit is subscribed to where it is enough', () => {
  assert.equal(unitRules('state', ['a.service'])[1]?.arg0, 'org.freedesktop.systemd1.Unit');
  assert.equal(unitRules('runs', ['a.service'])[1]?.arg0, undefined);
});

test('a long list is subscribed to as a whole, within the bus limit of rules', () => {
  assert.equal(unitRules('runs', NAMES.slice(1)).length, 200);
  assert.equal(unitRules('runs', NAMES).length, 2);
});
