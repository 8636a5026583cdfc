// Tests which fault each error of a call over a bus becomes. Most faults are the same for every actor.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BusError, busFault, isAbsence } from '../../../src/actors/bus/fault.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';

const dbusError = (name: string, text = ''): BusError => ({ kind: 'dbus', name, text });
const STANDARD_ERROR = 'org.freedesktop.DBus.Error';
const standardError = (name: string, text?: string): BusError => dbusError(`${STANDARD_ERROR}.${name}`, text);

const FAULTS: readonly (readonly [error: BusError, fault: FaultCode, detail: string])[] = [
  [{ kind: 'timeout' }, 'timeout', 'It failed: no answer in time'],
  [{ kind: 'closed' }, 'unavailable', 'It failed: the connection to the bus was lost'],
  [{ kind: 'local', detail: 'too many' }, 'internal', 'It failed: too many'],
  [
    standardError('ServiceUnknown', 'nobody'),
    'unavailable',
    `It failed: nobody (${STANDARD_ERROR}.ServiceUnknown)`,
  ],
  [standardError('NameHasNoOwner'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.NameHasNoOwner'],
  [standardError('NoReply'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.NoReply'],
  [standardError('Disconnected'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.Disconnected'],
  [
    standardError('Spawn.ChildExited'),
    'unavailable',
    'It failed: org.freedesktop.DBus.Error.Spawn.ChildExited',
  ],
  [standardError('Spawn.Failed'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.Spawn.Failed'],
  [standardError('TimedOut'), 'timeout', 'It failed: org.freedesktop.DBus.Error.TimedOut'],
  [standardError('Timeout'), 'timeout', 'It failed: org.freedesktop.DBus.Error.Timeout'],
  [dbusError('a.NoSuchUnit', 'Unit x not found.'), 'refused', 'It failed: Unit x not found (a.NoSuchUnit)'],
  [
    dbusError('org.freedesktop.systemd1.UnitMasked'),
    'refused',
    'It failed: org.freedesktop.systemd1.UnitMasked',
  ],
  [standardError('AccessDenied', 'no'), 'refused', 'It failed: no (org.freedesktop.DBus.Error.AccessDenied)'],
  [dbusError('a.b', ' two\nlines\u0000 '), 'refused', 'It failed: two lines (a.b)'],
  [dbusError('a.b', 'x'.repeat(300)), 'refused', `It failed: ${'x'.repeat(200)}... (a.b)`],
];

for (const [error, fault, detail] of FAULTS) {
  test(`the error ${JSON.stringify(error).slice(0, 100)} becomes the fault ${fault}`, () =>
    assert.deepEqual(busFault(error, 'It failed'), { ok: false, error: { fault, detail } }));
}

const ABSENCES: readonly (readonly [error: BusError, isAbsent: boolean])[] = [
  [standardError('NoReply'), true],
  [standardError('Spawn.ServiceNotFound'), true],
  [standardError('AccessDenied'), false],
  [dbusError('org.x.Spawn.No'), false],
  // Without the bus nobody knows if the service is there.
  [{ kind: 'closed' }, false],
  [{ kind: 'timeout' }, false],
];

for (const [error, isAbsent] of ABSENCES) {
  test(`${JSON.stringify(error)} ${isAbsent ? 'counts' : 'does not count'} as the absence of a service`, () =>
    assert.equal(isAbsence(error), isAbsent));
}

const OVERRIDES = { byName: { 'a.Mine': 'in-progress' }, otherwise: 'unavailable' } as const;
const FAULTS_WITH_OVERRIDES: readonly (readonly [error: BusError, fault: FaultCode])[] = [
  [dbusError('a.Mine'), 'in-progress'],
  [dbusError('a.Other'), 'unavailable'],
  // fault.ts has a fault for this name, so `otherwise` is not used.
  [standardError('TimedOut'), 'timeout'],
  [{ kind: 'timeout' }, 'timeout'],
];

test('an actor may choose a fault for the name of an error, and another fault for all names that neither the actor nor fault.ts lists', () => {
  for (const [error, fault] of FAULTS_WITH_OVERRIDES)
    assert.equal(busFault(error, 'It failed', OVERRIDES).error.fault, fault, JSON.stringify(error));
});
