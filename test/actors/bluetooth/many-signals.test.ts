// The scan of another program makes BlueZ send thousands of signals. The work that concerns all devices is
// done once for all signals that arrive together, not once for each signal.

import assert from 'node:assert/strict';
import { BluezObjects } from '../../../src/actors/bluetooth/objects.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { startBackend } from './backend-under-test.js';
import { PHONE } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const SIGNAL_COUNT = 2_000;
/** The adapter is chosen once for each portion that the bus delivers. A portion has many signals. */
const CHOICES_MAX = SIGNAL_COUNT / 4;
/** `QUEUED_MAX_SIGNALS` of reading.ts. */
const SIGNALS_QUEUED_MAX = 2_048;

test('the last of many signals that arrive together is published, and the adapter is not chosen anew for each signal', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, (bluez) => bluez.addDevice(PHONE, { Paired: true }));
  const chooseAdapter = t.mock.method(BluezObjects.prototype, 'chooseAdapter');
  for (let signal = 1; signal <= SIGNAL_COUNT; signal += 1)
    bluez.changeDevice(PHONE, { Alias: `Phone ${signal}` });
  await until('the last signal is published', () => recorder.firstKnown?.name === `Phone ${SIGNAL_COUNT}`);
  const choices = chooseAdapter.mock.callCount();
  assert.ok(choices < CHOICES_MAX, `the adapter was chosen ${choices} times`);
});

test('if more signals come during a reading than can be queued, the backend gives up the connection to the bus, and publishes the reason', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, (bluez) => bluez.addDevice(PHONE, { Paired: true }));

  bluez.misbehaviours.set('GetManagedObjects', 'hang');
  // The first reading is removed from `calls`, because the test waits for the second one.
  bluez.calls.length = 0;
  bluez.die();
  await bluez.start();
  await until('a reading hangs', () => bluez.calls.includes('GetManagedObjects'));
  bluez.misbehaviours.clear();
  const signalCount = SIGNALS_QUEUED_MAX + 1;
  for (let signal = 1; signal <= signalCount; signal += 1)
    bluez.changeDevice(PHONE, { Alias: `Phone ${signal}` });

  const reason = 'connecting: not connected to the system bus: too many signals from BlueZ';
  await until('the connection is given up', () => recorder.published.includes(reason));
  await until('everything is read on another connection', () => recorder.isUp);
  assert.equal(recorder.firstKnown?.name, `Phone ${signalCount}`);
});
