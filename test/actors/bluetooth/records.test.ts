// Which devices stay in the adapter's record: those that BlueZ keeps, and not what a scan has found. And
// which output a device is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../../src/actors/bluetooth/objects.js';
import { DeviceOutputs, makeRecords } from '../../../src/actors/bluetooth/records.js';

const ADDRESS = '00:00:00:00:00:01';
const ROWS: readonly (readonly [what: string, is: Partial<Device>, isKnown: boolean])[] = [
  ['found by a scan', {}, false],
  ['paired', { Paired: true }, true],
  ['trusted', { Trusted: true }, true],
  ['connected', { Connected: true }, true],
];
for (const [what, is, isKnown] of ROWS) {
  test(`a device that is ${what} is ${isKnown ? '' : 'not '}among the known ones`, () => {
    const device: Device = { path: '/1', Address: ADDRESS, battery: undefined, wasFoundByScan: true, ...is };
    const { bluetooth, devices } = makeRecords({ path: '/' }, [device], new DeviceOutputs(), undefined);
    assert.deepEqual([...devices.keys()], [ADDRESS]);
    assert.equal(bluetooth.known_devices?.length, Number(isKnown));
  });
}

test('if a line cannot have all known devices, it has the first ones and those that are connected', () => {
  const all = Array.from({ length: 512 }, (_, at): Device => {
    const Address = `00:00:00:00:0${Math.floor(at / 256)}:${(at % 256).toString(16).padStart(2, '0')}`;
    const flags = { Paired: true, Connected: at >= 510, wasFoundByScan: false, battery: undefined };
    return { path: `/${at}`, Address, Alias: '\u0001'.repeat(248), ...flags };
  });
  const { bluetooth, devices } = makeRecords({ path: '/' }, all, new DeviceOutputs(), undefined);
  const known = bluetooth.known_devices ?? [];
  assert.ok(Buffer.byteLength(JSON.stringify(known)) < 80 * 1024);
  assert.deepEqual(
    known.slice(-2).map(({ connected }) => connected),
    [true, true],
  );
  assert.equal(known[0]?.address, '00:00:00:00:00:00');
  assert.equal(devices.size, 512, 'the list of devices has all');
});

const OTHER = { 'device.string': 'hw:0', 'device.api': 'alsa' };
const OUTPUTS: readonly (readonly [
  what: string,
  name: string,
  props: Record<string, string>,
  isFound: boolean,
])[] = [
  ['by the name of PipeWire', 'bluez_output.00_00_00_00_00_01.1', {}, true],
  ['by the name of newer ones', 'bluez_output.00:00:00:00:00:01', {}, true],
  ['by the name of newer ones with a number', 'bluez_output.00:00:00:00:00:01.1', {}, true],
  ['by the name of PulseAudio', 'bluez_sink.00_00_00_00_00_01.a2dp_sink', OTHER, true],
  ['by the property of PipeWire, whatever its name', 'garden', { 'api.bluez5.address': ADDRESS }, true],
  ['by the property of PulseAudio, whatever its name', 'garden', { 'device.string': ADDRESS }, true],
  [
    'by the property before the name',
    'bluez_output.00_00_00_00_00_02.1',
    { 'api.bluez5.address': ADDRESS },
    true,
  ],
  [
    'where its property names another',
    'bluez_output.00_00_00_00_00_01.1',
    { 'device.string': '00:00:00:00:00:02' },
    false,
  ],
  ['where another property has the address', 'garden', { 'media.name': ADDRESS, ...OTHER }, false],
  ['where the name has more than an address', 'bluez_output.00_00_00_00_00_012', {}, false],
];
for (const [how, name, props, isFound] of OUTPUTS) {
  test(`an output is ${isFound ? '' : 'not '}found ${how}`, () => {
    const outputs = new DeviceOutputs();
    const json = JSON.stringify({ name, props });
    const change = { collection: 'audio.outputs', kind: 'put', key: '4', json } as const;
    outputs.applyChanges({ isWhole: true, changes: [change] });
    assert.equal(outputs.outputName(ADDRESS), isFound ? name : undefined);
  });
}
