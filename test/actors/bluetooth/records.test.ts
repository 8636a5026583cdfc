// Which devices stay in the adapter's record: those that BlueZ keeps, and not what a scan has found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../../src/actors/bluetooth/objects.js';
import { DeviceOutputs, recordsOf } from '../../../src/actors/bluetooth/records.js';

const ADDRESS = '00:00:00:00:00:01';
const ROWS: readonly (readonly [what: string, is: Partial<Device>, isKnown: boolean])[] = [
  ['found by a scan', {}, false],
  ['paired', { Paired: true }, true],
  ['trusted', { Trusted: true }, true],
  ['connected', { Connected: true }, true],
];
for (const [what, is, isKnown] of ROWS) {
  test(`a device that is ${what} is ${isKnown ? '' : 'not '}among the known ones`, () => {
    const device: Device = { path: '/1', Address: ADDRESS, battery: undefined, wasFound: true, ...is };
    const { bluetooth, devices } = recordsOf({ path: '/' }, [device], new DeviceOutputs(), undefined);
    assert.deepEqual([...devices.keys()], [ADDRESS]);
    assert.equal(bluetooth.known_devices?.length, Number(isKnown));
  });
}
