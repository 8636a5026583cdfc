// Another program scans, and BlueZ sends thousands of signals: the work that goes through all devices is done
// once for signals that come together, and not for each.

import assert from 'node:assert/strict';
import { BluezObjects } from '../../../src/actors/bluetooth/objects.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { startBackend } from './followed.js';
import { PHONE } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const SIGNALS = 2_000;
/** `QUEUED_MAX_SIGNALS` of reading.ts. */
const SIGNALS_QUEUED_MAX = 2_048;

test('the last of many signals that arrive together is published; the adapter is not chosen anew for each', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, (each) => each.addDevice(PHONE, { Paired: true }));
  const chosen = t.mock.method(BluezObjects.prototype, 'chooseAdapter');
  for (let at = 1; at <= SIGNALS; at += 1) bluez.changeDevice(PHONE, { Alias: `Phone ${at}` });
  await until('the last one is published', () => recorder.firstKnown?.name === `Phone ${SIGNALS}`);
  assert.ok(chosen.mock.callCount() < SIGNALS / 4, `${chosen.mock.callCount()}`);
});

test('a connection on which more signals come during a reading than are queued is given up, with its reason', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, (each) => each.addDevice(PHONE, { Paired: true }));
  bluez.misbehaves.set('GetManagedObjects', 'hang');
  bluez.calls.length = 0;
  bluez.die();
  await bluez.start();
  await until('a reading hangs', () => bluez.calls.includes('GetManagedObjects'));
  bluez.misbehaves.clear();
  for (let at = 0; at <= SIGNALS_QUEUED_MAX; at += 1) bluez.changeDevice(PHONE, { Alias: `Phone ${at}` });
  const reason = 'connecting: not connected to the system bus: too many signals from BlueZ';
  await until('the connection is given up', () => recorder.published.includes(reason));
  await until('everything is read on another one', () => recorder.up);
  assert.equal(recorder.firstKnown?.name, `Phone ${SIGNALS_QUEUED_MAX}`);
});
