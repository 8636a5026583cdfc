// From D-Bus errors to faults, which are the same for every actor.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BusError, busFault, isAbsence } from '../../../src/actors/bus/fault.js';
import type { FaultCode } from '../../../src/protocol/actor/faults.js';

const dbus = (name: string, text = ''): BusError => ({ kind: 'dbus', name, text });
const STANDARD = 'org.freedesktop.DBus.Error';
const standard = (name: string, text?: string): BusError => dbus(`${STANDARD}.${name}`, text);

const FAULTS: readonly (readonly [error: BusError, fault: FaultCode, detail: string])[] = [
  [{ kind: 'timeout' }, 'timeout', 'It failed: no answer in time'],
  [{ kind: 'closed' }, 'unavailable', 'It failed: the connection to the bus was lost'],
  [{ kind: 'local', detail: 'too many' }, 'internal', 'It failed: too many'],
  [standard('ServiceUnknown', 'nobody'), 'unavailable', `It failed: nobody (${STANDARD}.ServiceUnknown)`],
  [standard('NameHasNoOwner'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.NameHasNoOwner'],
  [standard('NoReply'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.NoReply'],
  [standard('Disconnected'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.Disconnected'],
  [standard('Spawn.ChildExited'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.Spawn.ChildExited'],
  [standard('Spawn.Failed'), 'unavailable', 'It failed: org.freedesktop.DBus.Error.Spawn.Failed'],
  [standard('TimedOut'), 'timeout', 'It failed: org.freedesktop.DBus.Error.TimedOut'],
  [standard('Timeout'), 'timeout', 'It failed: org.freedesktop.DBus.Error.Timeout'],
  [dbus('a.NoSuchUnit', 'Unit x not found.'), 'refused', 'It failed: Unit x not found (a.NoSuchUnit)'],
  [dbus('org.freedesktop.systemd1.UnitMasked'), 'refused', 'It failed: org.freedesktop.systemd1.UnitMasked'],
  [standard('AccessDenied', 'no'), 'refused', 'It failed: no (org.freedesktop.DBus.Error.AccessDenied)'],
  [dbus('a.b', ' two\nlines\u0000 '), 'refused', 'It failed: two lines (a.b)'],
  [dbus('a.b', 'x'.repeat(300)), 'refused', `It failed: ${'x'.repeat(200)}... (a.b)`],
];

for (const [error, fault, detail] of FAULTS) {
  test(`${JSON.stringify(error).slice(0, 100)} is ${fault}`, () =>
    assert.deepEqual(busFault(error, 'It failed'), { ok: false, error: { fault, detail } }));
}

const ABSENCES: readonly (readonly [error: BusError, absence: boolean])[] = [
  [standard('NoReply'), true],
  [standard('Spawn.ServiceNotFound'), true],
  [standard('AccessDenied'), false],
  [dbus('org.x.Spawn.No'), false],
  [{ kind: 'closed' }, false],
  [{ kind: 'timeout' }, false],
];

for (const [error, absence] of ABSENCES) {
  test(`${JSON.stringify(error)} is ${absence ? 'an' : 'no'} absence`, () =>
    assert.equal(isAbsence(error), absence));
}

test('an actor may choose the fault for the name of an error, also for an unknown name', () => {
  const overrides = { byName: { 'a.Mine': 'in-progress' }, otherwise: 'unavailable' } as const;
  const errors = [dbus('a.Mine'), dbus('a.Other'), standard('TimedOut'), { kind: 'timeout' } as const];
  const codes = errors.map((error) => busFault(error, 'It failed', overrides).error.fault);
  assert.deepEqual(codes, ['in-progress', 'unavailable', 'timeout', 'timeout']);
});
