// Tests the tables of D-Bus: paths of units, match rules, signals, properties, and effects of methods.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  OWNER_CHANGES_MATCH,
  PROPERTIES_CHANGED,
  readProperties,
} from '../../../src/protocol/dbus/daemon.js';
import { LOGIND_METHODS } from '../../../src/protocol/dbus/logind.js';
import { type Match, matchRule, type Signal, signalValues } from '../../../src/protocol/dbus/method.js';
import * as systemd from '../../../src/protocol/dbus/systemd.js';

/**
 * `lastPart` is the name with `_` and two hexadecimal digits instead of each byte that is neither a letter
 * nor a digit. A digit at the beginning is replaced, too. An empty name becomes `_`.
 */
const UNIT_PATHS: readonly (readonly [name: string, lastPart: string])[] = [
  ['mpd.service', 'mpd_2eservice'],
  ['tpl@500.service', 'tpl_40500_2eservice'],
  ['9p.service', '_39p_2eservice'],
  ['a9.service', 'a9_2eservice'],
  ['a-b_c.service', 'a_2db_5fc_2eservice'],
  ['a\\x2db.mount', 'a_5cx2db_2emount'],
  ['é', '_c3_a9'],
  ['', '_'],
];
for (const [name, lastPart] of UNIT_PATHS) {
  test(`the path of unit '${name}' ends with ${lastPart}`, () =>
    assert.equal(systemd.unitPath(name), `/org/freedesktop/systemd1/unit/${lastPart}`));
}

const RULES: readonly (readonly [match: Match, rule: string])[] = [
  [{ sender: 'a.b' }, "type='signal',sender='a.b'"],
  [
    { sender: 'a.b', interface: 'i.f', member: 'M', path: '/p' },
    "type='signal',sender='a.b',interface='i.f',member='M',path='/p'",
  ],
  [
    { sender: 'a.b', path_namespace: '/p', arg0: 'x', arg2: 'y' },
    "type='signal',sender='a.b',path_namespace='/p',arg0='x',arg2='y'",
  ],
  // A quoted text cannot contain an apostrophe. So the text ends, `\'` follows, and another text begins.
  [{ sender: 'a.b', arg2: "it's" }, "type='signal',sender='a.b',arg2='it'\\''s'"],
  [
    { ...OWNER_CHANGES_MATCH, arg0: 'a.b' },
    "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='a.b'",
  ],
];
for (const [match, rule] of RULES)
  test(`${JSON.stringify(match)} becomes a match rule`, () => assert.equal(matchRule(match), rule));

test('a signal is read only by the row with its interface, member and signature', () => {
  const signal: Signal = {
    sender: ':1.2',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'JobRemoved',
    signature: 'uoss',
    values: [3, '/job/3', 'x.service', 'done'],
  };
  const [id, , unit, result] = signalValues(systemd.SYSTEMD_SIGNALS.jobRemoved, signal) ?? [];
  assert.deepEqual([id, unit, result], [3, 'x.service', 'done']);
  assert.equal(signalValues(systemd.SYSTEMD_SIGNALS.unitRemoved, signal), undefined);
  assert.equal(signalValues(systemd.SYSTEMD_SIGNALS.jobRemoved, { ...signal, signature: 'uos' }), undefined);
  assert.equal(signalValues(PROPERTIES_CHANGED, signal), undefined);
});

test('properties that are unknown, inherited or of a wrong type are left out', () => {
  // `ActiveState` and each of `Names` must be a text, `ConditionResult` a boolean, and a timestamp a whole
  // number. `UNIT_PROPERTIES` has no `Other`.
  const properties = {
    Id: 'x.service',
    Names: ['x.service', 7],
    ActiveState: null,
    SubState: 'dead',
    Job: [0, '/'],
    InvocationID: new Uint8Array(16),
    ConditionResult: 'yes',
    ConditionTimestamp: 5n,
    InactiveExitTimestamp: 1.5,
    Other: 1,
  };
  assert.deepEqual(readProperties(systemd.UNIT_PROPERTIES, properties), {
    Id: 'x.service',
    SubState: 'dead',
    Job: [0, '/'],
    InvocationID: new Uint8Array(16),
    ConditionTimestamp: 5n,
  });
  // `{}` inherits `toString`.
  assert.deepEqual(readProperties({ toString: 's' }, {}), {});
});

test('only the methods that change units or power are marked with an effect', () => {
  const methods = Object.entries({ ...systemd.SYSTEMD_METHODS, ...LOGIND_METHODS });
  const effects = methods.map(([name, { effect }]) => `${name}: ${effect}`);
  assert.deepEqual(
    effects.filter((line) => !line.endsWith(': none')),
    [
      'startUnit: units',
      'stopUnit: units',
      'restartUnit: units',
      'resetFailedUnit: units',
      'enableUnitFiles: units',
      'disableUnitFiles: units',
      'reload: units',
      'reboot: power',
      'powerOff: power',
    ],
  );
});
