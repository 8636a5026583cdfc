// Tests the backend with thousands of signals. BlueZ sends them during a scan of another program. The backend
// chooses its adapter only once for all signals that arrive together. The backend gives up the connection to
// the bus if too many signals come while the backend reads all objects of BlueZ.

import assert from 'node:assert/strict';
import { BluezObjects } from '../../../src/actors/bluetooth/objects.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { startBackend } from './backend-under-test.js';
import { PHONE, type ScriptedBluez } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const SIGNAL_COUNT = 2_000;
/** The backend must choose its adapter less often than this, because many signals arrive together. */
const CHOICES_LIMIT = SIGNAL_COUNT / 4;
/** The value of `QUEUED_MAX_SIGNALS` in reading.ts. */
const SIGNALS_QUEUED_MAX = 2_048;

function addPhone(bluez: ScriptedBluez): void {
  bluez.addDevice(PHONE, { Paired: true });
}

test('the last of many changes that arrive together is published, and the adapter is not chosen anew for each signal', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, addPhone);
  const chooseAdapter = t.mock.method(BluezObjects.prototype, 'chooseAdapter');
  for (let signal = 1; signal <= SIGNAL_COUNT; signal += 1)
    bluez.changeDevice(PHONE, { Alias: `Phone ${signal}` });
  await until('the last change is published', () => recorder.firstKnown?.name === `Phone ${SIGNAL_COUNT}`);
  const choices = chooseAdapter.mock.callCount();
  assert.ok(choices < CHOICES_LIMIT, `the adapter was chosen ${choices} times`);
});

test('if too many signals come during a reading, the backend gives up the connection to the bus, and publishes the reason', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, addPhone);

  bluez.misbehaviours.set('GetManagedObjects', 'hang');
  // The call of the first reading is removed, because the test waits for the call of the second reading.
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
