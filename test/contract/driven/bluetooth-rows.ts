// Rows of the table (row.ts) about Bluetooth, on a scripted BlueZ with three adapters. Three daemons of
// house.ts use one adapter each: `house` the first, `plain` the second, and `cards` the third. hasten.ts
// shortens the idle time of `plain`, and the scans and pairing modes of `cards`. house.ts adds the
// loudspeaker `SPEAKER` to the first adapter. `bluez.adapter()` returns the properties of the first adapter.

import assert from 'node:assert/strict';
import type { BluetoothRecord, DeviceRecord } from '../../../src/protocol/actor/schemas.js';
import { DEVICE_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { A2DP_SINK, device, PHONE, SPEAKER } from '../../actors/bluetooth/scripted-bluez.js';
import { until } from '../../until.js';
import type { Driver } from './driver.js';
import { assertCalled, type House, SECOND_ADAPTER, SECOND_ADDRESS, THIRD_ADAPTER } from './house.js';
import type { Row } from './row.js';

/** The address of BlueZ's first adapter (scripted-bluez.ts). */
const FIRST_ADDRESS = '00:AA:01:00:00:00';

const untilRecord = (driver: Driver, values: Partial<BluetoothRecord>): Promise<boolean> =>
  driver.untilRead<BluetoothRecord>('/bluetooth', (record) =>
    Object.entries(values).every(([key, value]) => record[key as keyof BluetoothRecord] === value),
  );

export const BLUETOOTH_ROWS: readonly Row<House>[] = [
  {
    drives: ['key bluetooth.enabled', 'key bluetooth.adapter', 'operation bluetooth'],
    title:
      "bluetooth.adapter chooses an adapter instead of BlueZ's first one, and a node without Bluetooth answers 404",
    run: async ({ house, plain, bare }) => {
      const readAddress = async (driver: Driver) =>
        (await driver.read<BluetoothRecord>('/bluetooth')).address;
      assert.equal(await readAddress(house), FIRST_ADDRESS);
      assert.equal(await readAddress(plain), SECOND_ADDRESS);
      assert.equal(await bare.statusOf('/bluetooth'), 404);
    },
  },
  {
    drives: ['key bluetooth.powerOnStart', 'key bluetooth.idleTimeout'],
    title: 'bluetooth.powerOnStart switches the adapter on, and bluetooth.idleTimeout switches it off again',
    run: async ({ plain, bluez }) => {
      assertCalled(bluez, 'Set Powered=true');
      await until('the adapter is off', () => bluez.adapter(SECOND_ADAPTER)['Powered'] === false);
      assertCalled(bluez, 'Set Powered=false');
      await untilRecord(plain, { powered: false });
    },
  },
  {
    drives: ['operation switchBluetoothOff', 'operation switchBluetoothOn', 'event bluetooth.updated'],
    title: 'commands switch the Bluetooth adapter off and on, and the switching off is an event',
    run: async ({ house, bluez }) => {
      await house.post('/bluetooth/power_down');
      assert.equal(bluez.adapter()['Powered'], false);
      await house.untilEvent('bluetooth.updated', (data) => data.includes('"powered":false'));
      await house.post('/bluetooth/power_up');
      assert.equal(bluez.adapter()['Powered'], true);
    },
  },
  {
    drives: ['operation startPairing', 'operation stopPairing'],
    title: 'the adapter is discoverable and pairable in pairing mode, and is not discoverable afterwards',
    run: async ({ house, bluez }) => {
      await house.post('/bluetooth/pairing_mode');
      const { Discoverable, Pairable } = bluez.adapter();
      assert.deepEqual([Discoverable, Pairable], [true, true]);
      await untilRecord(house, { pairing_active: true });
      await house.post('/bluetooth/pairing_mode/stop');
      assert.equal(bluez.adapter()['Discoverable'], false);
      await untilRecord(house, { pairing_active: false });
    },
  },
  {
    drives: ['key bluetooth.pairingTimeout'],
    title: 'pairing mode ends after bluetooth.pairingTimeout, and BlueZ gets the same timeout',
    run: async ({ cards, bluez }) => {
      await cards.post('/bluetooth/pairing_mode');
      // `cards` has a pairingTimeout of 17 s (house.ts). hasten.ts shortens only the daemon's own timer.
      assertCalled(bluez, 'Set DiscoverableTimeout=17');
      await untilRecord(cards, { pairing_active: false, discoverable: false });
    },
  },
  {
    drives: [
      'operation startScan',
      'operation stopScan',
      'event bluetooth.discovered',
      'operation bluetoothDevices',
    ],
    title: 'a scan finds a device, and a command stops the scan',
    run: async ({ house, bluez }) => {
      await house.post('/bluetooth/scan');
      assertCalled(bluez, 'StartDiscovery');
      bluez.addDevice(PHONE, { RSSI: -60, Icon: 'phone' });
      await house.untilEvent('bluetooth.discovered', (data) => data.includes(PHONE));
      const devices = await house.read<readonly DeviceRecord[]>('/bluetooth/devices');
      assert.ok(devices.some(({ address }) => address === PHONE));
      await house.post('/bluetooth/scan/stop');
      assertCalled(bluez, 'StopDiscovery');
    },
  },
  {
    drives: ['key bluetooth.scanTimeout'],
    title: 'a scan ends after bluetooth.scanTimeout',
    run: async ({ cards, bluez }) => {
      const countStops = () => bluez.calls.filter((call) => call === 'StopDiscovery').length;
      const before = countStops();
      await cards.post('/bluetooth/scan');
      await until('the scan has ended', () => countStops() > before);
      await untilRecord(cards, { scanning: false });
    },
  },
  {
    drives: ['operation connectDevice', 'operation disconnectDevice'],
    title: 'commands connect and disconnect a device',
    run: async ({ house, bluez }) => {
      await house.post('/bluetooth/connect', { address: SPEAKER });
      assert.equal(bluez.device(SPEAKER)['Connected'], true);
      await house.untilEvent('bluetooth.updated', (data) => data.includes('"connected":true'));
      await house.post('/bluetooth/disconnect', { address: SPEAKER });
      await until('the device is disconnected', () => bluez.device(SPEAKER)['Connected'] === false);
    },
  },
  {
    drives: ['key bluetooth.reconnect'],
    title: 'bluetooth.reconnect connects a known loudspeaker when the adapter is switched on',
    run: async ({ cards, bluez }) => {
      const path = `${THIRD_ADAPTER}/dev_known`;
      const known = { Adapter: THIRD_ADAPTER, Paired: true, UUIDs: [A2DP_SINK] };
      await cards.post('/bluetooth/power_down');
      bluez.add(path, { [DEVICE_INTERFACE]: device('AA:BB:CC:DD:EE:03', known) });
      await cards.post('/bluetooth/power_up');
      await until(
        'the loudspeaker is connected',
        () => bluez.objects.get(path)?.[DEVICE_INTERFACE]?.['Connected'] === true,
      );
      bluez.remove(path);
    },
  },
  {
    drives: ['operation forgetDevice'],
    title: 'a device is forgotten',
    run: async ({ house, bluez }) => {
      await house.post('/bluetooth/forget', { address: SPEAKER });
      assertCalled(bluez, 'RemoveDevice');
      await house.untilRead<BluetoothRecord>('/bluetooth', ({ known_devices: known = [] }) =>
        known.every(({ address }) => address !== SPEAKER),
      );
    },
  },
];
