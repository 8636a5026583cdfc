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

test('the last of many signals that arrive together is published; the adapter is not chosen anew for each', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, (each) => each.addDevice(PHONE, { Paired: true }));
  const chosen = t.mock.method(BluezObjects.prototype, 'chooseAdapter');
  for (let at = 1; at <= SIGNALS; at += 1) bluez.changeDevice(PHONE, { Alias: `Phone ${at}` });
  await until('the last one is published', () => recorder.firstKnown?.name === `Phone ${SIGNALS}`);
  assert.ok(chosen.mock.callCount() < SIGNALS / 4, `${chosen.mock.callCount()}`);
});
