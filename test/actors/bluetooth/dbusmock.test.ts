// The Bluetooth backend with somebody else's idea of BlueZ: the template bluez5 of python3-dbusmock.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Message, type MessageBus, sessionBus, Variant } from 'dbus-next';
import { startProgram } from '../../sound/program.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { followed } from './followed.js';

const TEMPLATES = '/usr/lib/python3/dist-packages/dbusmock/templates';
const test = testsNeeding({ packages: { 'python3-dbusmock': `${TEMPLATES}/bluez5.py` } });

const PHONE = '11:22:33:44:55:66';
const ADAPTER = '/org/bluez/hci0';

async function asked(
  bus: MessageBus,
  [path, iface, member, signature]: readonly [path: string, iface: string, member: string, signature: string],
  ...body: readonly unknown[]
): Promise<unknown> {
  const call = { destination: 'org.bluez', path, interface: iface, member, signature, body: [...body] };
  const value: unknown = (await bus.call(new Message(call)))?.body[0];
  return value instanceof Variant ? value.value : value;
}

test('the backend works with the BlueZ of python-dbusmock', async (t) => {
  const { backend, recorder, address } = await followed(t, { pairingTimeout: 120 }, undefined, {
    isThere: false,
  });
  const log = `${temporaryFolder(t)}/dbusmock.log`;
  const env = { ...process.env, DBUS_SYSTEM_BUS_ADDRESS: address } as Readonly<Record<string, string>>;
  const mock = startProgram('/usr/bin/python3', ['-m', 'dbusmock', '--template', 'bluez5'], { env, log });
  t.after(() => mock.end());
  await until('there is no adapter', () => recorder.state === 'connecting: BlueZ has no adapter');
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  t.after(() => bus.disconnect());
  await once(bus, 'connect');
  const ordered = (member: string, signature: string, ...body: unknown[]) =>
    asked(bus, ['/', 'org.bluez.Mock', member, signature], ...body);
  const adapter = (name: string) =>
    asked(bus, [ADAPTER, 'org.freedesktop.DBus.Properties', 'Get', 'ss'], 'org.bluez.Adapter1', name);
  await ordered('AddAdapter', 'ss', 'hci0', 'kitchen');
  await until('the adapter is shown', () => recorder.record?.name === 'kitchen');
  // The template's adapter is pairable from the start.
  await until('the adapter is closed', async () => (await adapter('Pairable')) === false);
  assert.deepEqual(await backend.handle({ do: 'pairing_mode' }), { ok: true });
  await until('pairing is open', () => recorder.record?.discoverable === true && recorder.record.pairable);
  const times = [await adapter('DiscoverableTimeout'), await adapter('PairableTimeout')];
  assert.deepEqual(times, [120, 120]);
  await ordered('AddDevice', 'sss', 'hci0', PHONE, 'My phone');
  await ordered('PairDevice', 'ssi', 'hci0', PHONE, 5_898_764);
  await until('pairing mode is over', () => recorder.record?.pairing_active === false);
  await until('the phone is trusted', () => recorder.known?.trusted === true);
  assert.deepEqual(await backend.handle({ do: 'connect', address: PHONE }), { ok: true });
  await until('the phone is connected', () => recorder.known?.connected === true);
  assert.deepEqual(await backend.handle({ do: 'scan' }), { ok: true });
  await until('the adapter scans', () => recorder.record?.scanning === true);
  assert.deepEqual(await backend.handle({ do: 'scan/stop' }), { ok: true });
  assert.deepEqual(await backend.handle({ do: 'forget', address: PHONE }), { ok: true });
  await until('the phone is forgotten', () => recorder.record?.known_devices?.length === 0);
  await ordered('RemoveAdapter', 's', 'hci0');
  await until('the adapter is gone', () => recorder.state === 'connecting: BlueZ has no adapter');
  await mock.end('SIGKILL');
  await until('BlueZ is gone', () => /not running/.test(recorder.state));
});
