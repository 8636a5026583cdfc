// Tests which devices are among the known devices of the adapter's record, and which output belongs to a
// device.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BluetoothDevice } from '../../../src/actors/bluetooth/objects.js';
import { DeviceOutputs, makeRecords } from '../../../src/actors/bluetooth/records.js';

const ADDRESS = '00:00:00:00:00:01';
/** Pairing mode is off, so it has no end. */
const PAIRING_UNTIL = undefined;

const ROWS: readonly (readonly [what: string, facts: Partial<BluetoothDevice>, isKnown: boolean])[] = [
  ['only found by a scan', {}, false],
  ['paired', { Paired: true }, true],
  ['trusted', { Trusted: true }, true],
  ['connected', { Connected: true }, true],
];
for (const [what, facts, isKnown] of ROWS) {
  test(`a device that is ${what} is ${isKnown ? '' : 'not '}among the known devices`, () => {
    const device: BluetoothDevice = {
      path: '/1',
      Address: ADDRESS,
      battery: undefined,
      wasFoundByScan: true,
      ...facts,
    };
    const { bluetooth, devices } = makeRecords({ path: '/' }, [device], new DeviceOutputs(), PAIRING_UNTIL);
    assert.deepEqual([...devices.keys()], [ADDRESS]);
    assert.equal(bluetooth.known_devices?.length, isKnown ? 1 : 0);
  });
}

const DEVICE_COUNT = 512;
/**
 * The bound of records.ts is 64 KiB of JSON. Only connected devices may be added beyond it, and this value
 * leaves room for them.
 */
const LIST_MAX_BYTES = 80 * 1024;
/** A Bluetooth name has at most 248 bytes. Each byte of this alias takes six bytes of JSON. */
const LONGEST_ALIAS = '\u0001'.repeat(248);

test('if the list of known devices would exceed its bound, the list has the devices with the lowest addresses, and all connected devices', () => {
  const allDevices = Array.from({ length: DEVICE_COUNT }, (_, index): BluetoothDevice => {
    // The device with the index 258 has the address `00:00:00:00:01:02`.
    const Address = `00:00:00:00:0${Math.floor(index / 256)}:${(index % 256).toString(16).padStart(2, '0')}`;
    const isOfLastTwo = index >= DEVICE_COUNT - 2;
    const flags = { Paired: true, Connected: isOfLastTwo, wasFoundByScan: false, battery: undefined };
    return { path: `/${index}`, Address, Alias: LONGEST_ALIAS, ...flags };
  });
  const { bluetooth, devices } = makeRecords({ path: '/' }, allDevices, new DeviceOutputs(), PAIRING_UNTIL);

  const known = bluetooth.known_devices ?? [];
  assert.ok(Buffer.byteLength(JSON.stringify(known)) < LIST_MAX_BYTES, 'the list is short enough');
  assert.deepEqual(
    known.slice(-2).map(({ connected }) => connected),
    [true, true],
  );
  assert.equal(known[0]?.address, '00:00:00:00:00:00');
  assert.equal(devices.size, DEVICE_COUNT, 'each device has a record of its own');
});

/** Properties of an ordinary sound card. They have no address of a Bluetooth device. */
const CARD_PROPS = { 'device.string': 'hw:0', 'device.api': 'alsa' };
const OUTPUTS: readonly (readonly [
  how: string,
  name: string,
  props: Record<string, string>,
  isFound: boolean,
])[] = [
  ['by the name that PipeWire gives it', 'bluez_output.00_00_00_00_00_01.1', {}, true],
  ['by the name that a newer PipeWire gives it', 'bluez_output.00:00:00:00:00:01', {}, true],
  [
    'by the name that a newer PipeWire gives it, with a number at the end',
    'bluez_output.00:00:00:00:00:01.1',
    {},
    true,
  ],
  ['by the name that PulseAudio gives it', 'bluez_sink.00_00_00_00_00_01.a2dp_sink', CARD_PROPS, true],
  ['by the property of PipeWire, whatever its name is', 'garden', { 'api.bluez5.address': ADDRESS }, true],
  ['by the property of PulseAudio, whatever its name is', 'garden', { 'device.string': ADDRESS }, true],
  [
    'by its property, even if its name has another address',
    'bluez_output.00_00_00_00_00_02.1',
    { 'api.bluez5.address': ADDRESS },
    true,
  ],
  [
    'by its name if its property has another address',
    'bluez_output.00_00_00_00_00_01.1',
    { 'device.string': '00:00:00:00:00:02' },
    false,
  ],
  ['by a property of another meaning', 'garden', { 'media.name': ADDRESS, ...CARD_PROPS }, false],
  ['by a name that has another digit after the address', 'bluez_output.00_00_00_00_00_012', {}, false],
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

const put = (key: string, name: string, props: Record<string, string> = {}) =>
  ({ collection: 'audio.outputs', kind: 'put', key, json: JSON.stringify({ name, props }) }) as const;

const NAME_WITH_ADDRESS = 'bluez_output.00_00_00_00_00_01.1';
/** The name of the filter has the address of the device, too. */
const FILTER = put('1', `${NAME_WITH_ADDRESS}.remapped`);
const MASTERS: readonly (readonly [what: string, name: string, props: Record<string, string>])[] = [
  ['has the address in its properties', 'garden', { 'api.bluez5.address': ADDRESS }],
  ['has the address only in its name', NAME_WITH_ADDRESS, {}],
];
for (const [what, name, props] of MASTERS) {
  test(`the output of a device is the master that ${what}, and not the filter, whichever of them changes last`, () => {
    const outputs = new DeviceOutputs();
    const master = put('2', name, props);
    outputs.applyChanges({ isWhole: true, changes: [FILTER, master] });
    assert.equal(outputs.outputName(ADDRESS), name);
    for (const output of [FILTER, master, FILTER]) {
      const hasChanged = outputs.applyChanges({ isWhole: false, changes: [output] });
      assert.equal(hasChanged, false, 'no device gets another output');
      assert.equal(outputs.outputName(ADDRESS), name);
    }
    // Without its master, the filter is the only output with the address of the device.
    outputs.applyChanges({ isWhole: false, changes: [{ ...master, kind: 'drop' }] });
    assert.equal(outputs.outputName(ADDRESS), `${NAME_WITH_ADDRESS}.remapped`);
  });
}
