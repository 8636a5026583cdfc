// Tests that the Bluetooth backend does what docs/bluetooth.md promises, on a real bus with a scripted BlueZ.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { sessionBus } from 'dbus-next';
import type { BluetoothCommand } from '../../../src/protocol/actor/commands.js';
import { BATTERY_INTERFACE } from '../../../src/protocol/dbus/bluez.js';
import { Deferred } from '../../deferred.js';
import { drop, put } from '../../gateway/scripted-backends.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { BLUETOOTH_SETTINGS, PAST_ANSWER_MS, startBackend } from './backend-under-test.js';
import {
  A2DP_SINK,
  A2DP_SOURCE,
  ADAPTER,
  device,
  PHONE,
  pathOf,
  type ScriptedBluez,
  SPEAKER,
} from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

/** The service of keyboards and mice. */
const HID = '00001124-0000-1000-8000-00805f9b34fb';
/** The service that receives files. */
const OBEX_PUSH = '00001105-0000-1000-8000-00805f9b34fb';
const SCAN_MS = BLUETOOTH_SETTINGS.scanTimeout * 1_000;

function withPhone(bluez: ScriptedBluez): void {
  bluez.addDevice(PHONE, { Paired: true, Trusted: true, Icon: 'phone' });
  bluez.add(pathOf(PHONE), { [BATTERY_INTERFACE]: { Percentage: 80 } });
}

function withAdapterOff(bluez: ScriptedBluez): void {
  Object.assign(bluez.adapter(), { Powered: false });
}

test('the records have the adapter, its known devices with kind and battery, and the devices that a scan finds', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t, {}, withPhone);
  assert.equal(recorder.state, 'up');
  const phone = {
    address: PHONE,
    name: 'Device 01',
    paired: true,
    // The phone has no property `Bonded`, as in versions of BlueZ before 5.66. Then `Paired` counts.
    bonded: true,
    trusted: true,
    connected: false,
    kind: 'phone',
    battery: 80,
  };
  assert.deepEqual(recorder.record, {
    powered: true,
    discoverable: false,
    pairable: false,
    pairing_active: false,
    scanning: false,
    known_devices: [phone],
    name: 'kitchen',
    address: '00:AA:01:00:00:00',
  });

  await sendCommand({ do: 'scan' });
  bluez.addDevice(SPEAKER, { RSSI: -60, Icon: 'audio-headset' });
  await until('the speaker is found', () => recorder.discovered.includes(SPEAKER));
  assert.deepEqual(recorder.device(SPEAKER), {
    address: SPEAKER,
    name: 'Device 02',
    paired: false,
    bonded: false,
    trusted: false,
    connected: false,
    kind: 'audio-headset',
    rssi: -60,
  });
  assert.equal(recorder.record?.known_devices?.length, 1, 'a device that a scan found is not a known device');

  bluez.remove(pathOf(SPEAKER));
  await until('the record of the speaker is dropped', () =>
    recorder.published.includes(`drop bluetooth.devices ${SPEAKER}`),
  );
});

test('the record of a device names its output while the output exists, on PipeWire and on PulseAudio', async (t) => {
  const { backend, recorder } = await startBackend(t, {}, withPhone);
  const foreignOutput = put('audio.outputs', '3', { name: 'bluez_output.11_22_33_44_55_66.1' });
  const addressInName = PHONE.replaceAll(':', '_');
  const outputOfPhone = () => recorder.firstKnown?.output;
  // The first name is PipeWire's, and the second one is PulseAudio's.
  for (const name of [`bluez_output.${addressInName}.1`, `bluez_sink.${addressInName}.a2dp_sink`]) {
    backend.applyChanges({ isWhole: true, changes: [foreignOutput, put('audio.outputs', '4', { name })] });
    await until('the phone has this output', () => outputOfPhone() === name);

    backend.applyChanges({ isWhole: false, changes: [drop('audio.outputs', '4')] });
    await until(
      'the phone has no output',
      () => recorder.record !== undefined && outputOfPhone() === undefined,
    );
  }
});

test('a scan ends after the configured time, and a second request during the scan prolongs it', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'scan' });
  await until('the adapter scans', () => recorder.record?.scanning === true);

  clock.advance(SCAN_MS - 1_000);
  await sendCommand({ do: 'scan' });
  clock.advance(SCAN_MS - 1_000);
  // BlueZ has received all earlier calls of the backend when this device is published.
  bluez.addDevice(SPEAKER, { RSSI: -90 });
  await until('the device is published', () => recorder.discovered.includes(SPEAKER));
  assert.ok(!bluez.calls.includes('StopDiscovery'), 'the second request has prolonged the scan');
  clock.advance(1_000);
  await until('the scan has ended', () => recorder.record?.scanning === false);

  // The scan is over, so this command makes no call.
  await sendCommand({ do: 'scan/stop' });
  assert.equal(bluez.calls.filter((call) => call === 'StopDiscovery').length, 1);
});

test('during a scan every new device is published once, and the last change of a device is never lost', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'scan' });
  const addresses = Array.from({ length: 12 }, (_, index) => `AA:BB:CC:DD:EE:${10 + index}`);
  for (const address of addresses) bluez.addDevice(address, { RSSI: -90 });
  for (const address of addresses) bluez.changeDevice(address, { RSSI: -50 });

  await until('all devices are published', () =>
    addresses.every((address) => recorder.discovered.includes(address)),
  );
  assert.equal(recorder.discovered.length, addresses.length);
  assert.equal(recorder.device('AA:BB:CC:DD:EE:10')?.rssi, -50);
});

test('pairing mode switches the adapter on and sets the time limit in BlueZ, before the adapter becomes visible', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(
    t,
    { pairingTimeout: 90 },
    withAdapterOff,
  );
  const expectedEnd = new Date(clock.date() + 90_000).toISOString();
  await sendCommand({ do: 'pairing_mode' });
  const relevantCalls = bluez.calls.filter((call) => call.startsWith('Set') || call.includes('Agent'));
  assert.deepEqual(relevantCalls, [
    'Set Powered=true',
    'RegisterAgent',
    'RequestDefaultAgent',
    'Set DiscoverableTimeout=90',
    'Set PairableTimeout=90',
    'Set Pairable=true',
    'Set Discoverable=true',
  ]);
  await until('pairing mode is published', () => recorder.record?.discoverable === true);
  const { pairing_active, pairing_until, powered, pairable } = recorder.record ?? {};
  assert.deepEqual([pairing_active, pairing_until, powered, pairable], [true, expectedEnd, true, true]);

  clock.advance(90_000);
  await until('pairing mode is over', () => recorder.record?.pairing_active === false && !bluez.agent);
  // BlueZ may make the next two changes only after the record and the agent have changed.
  await until('nobody can find the node', () => bluez.adapter()['Discoverable'] === false);
  await until('nobody can pair', () => bluez.adapter()['Pairable'] === false);
  assert.equal(recorder.record?.pairing_until, undefined);
});

const REJECTED = 'org.bluez.Error.Rejected';
/** The result has capital letters, which the agent accepts, too. BlueZ writes UUIDs in small letters. */
const serviceUuid = (code: string): string => `0000${code}-0000-1000-8000-00805F9B34FB`;
/**
 * The first three codes are of sound (A2DP), the next three of remote control (AVRCP), the next three of
 * headsets, and the last two of hands-free devices.
 */
const ACCEPTED_SERVICE_CODES = [
  '110a',
  '110b',
  '110d',
  '110c',
  '110e',
  '110f',
  '1108',
  '1112',
  '1131',
  '111e',
  '111f',
];
/** The service 1115 is network access. The service 1200 is information about the device. */
const REFUSED_UUIDS = [
  HID,
  OBEX_PUSH,
  serviceUuid('1115'),
  serviceUuid('1200'),
  // These two texts are no UUIDs.
  'rubbish',
  `${A2DP_SOURCE}0`,
];
/** Each row has the expected answer, a method of the agent, and the signature and values for its call. */
const AGENT_ANSWERS: readonly (readonly [answer: string, ...Parameters<ScriptedBluez['callAgent']>[0]])[] = [
  ['done', 'RequestConfirmation', 'ou', pathOf(PHONE), 123_456],
  ['done', 'RequestAuthorization', 'o', pathOf(PHONE)],
  ...ACCEPTED_SERVICE_CODES.map(
    (code) => ['done', 'AuthorizeService', 'os', pathOf(PHONE), serviceUuid(code)] as const,
  ),
  ['done', 'Cancel'],
  ...REFUSED_UUIDS.map((uuid) => [REJECTED, 'AuthorizeService', 'os', pathOf(PHONE), uuid] as const),
  [REJECTED, 'RequestPinCode', 'o', pathOf(PHONE)],
  [REJECTED, 'RequestPasskey', 'o', pathOf(PHONE)],
  [REJECTED, 'DisplayPinCode', 'os', pathOf(PHONE), '0000'],
  [REJECTED, 'DisplayPasskey', 'ouq', pathOf(PHONE), 1, 0],
  // The signature is wrong: the path of a device is an object path (`o`).
  [REJECTED, 'RequestAuthorization', 's', pathOf(PHONE)],
];

test('the agent accepts a device only in pairing mode, and a service only if it is for sound or remote control', async (t) => {
  const { bluez, sendCommand } = await startBackend(t);
  const request = ['RequestAuthorization', 'o', pathOf(PHONE)] as const;
  bluez.addDevice(PHONE);
  assert.equal(await bluez.callAgent(request), 'no agent');
  await sendCommand({ do: 'pairing_mode' });
  for (const [answer, ...call] of AGENT_ANSWERS)
    assert.equal(await bluez.callAgent(call), answer, call.join(' '));

  const { agent } = bluez;
  assert.ok(agent);
  await sendCommand({ do: 'pairing_mode/stop' });
  await until('BlueZ has no agent', () => !bluez.agent);
  // The daemon refuses a call that BlueZ still makes to this agent.
  assert.equal(await bluez.callAgent(request, { agent }), REJECTED);
});

test('the agent answers nobody but BlueZ', async (t) => {
  const { bluez, address, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  t.after(() => bus.disconnect());
  await once(bus, 'connect');
  const answerToStranger = bluez.callAgent(['RequestAuthorization', 'o', pathOf(PHONE)], { bus });
  // BlueZ calls after the stranger, so an answer to the stranger would come first.
  const answerToBluez = bluez.callAgent(['Cancel']).then(() => 'the answer to BlueZ');
  assert.equal(await Promise.race([answerToStranger, answerToBluez]), 'the answer to BlueZ');
});

interface PairingCase {
  readonly what: string;
  readonly UUIDs: readonly string[];
  /**
   * Pairing mode ends this long after the pairing: at once if BlueZ reports a service for sound or for input,
   * otherwise after 5 s (adapter-commands.ts).
   */
  readonly afterMs: number;
  readonly isTrusted: boolean;
}
const PAIRING_CASES: readonly PairingCase[] = [
  { what: 'a sound device is trusted', UUIDs: [OBEX_PUSH, A2DP_SOURCE], afterMs: 0, isTrusted: true },
  {
    what: 'a sound device that is also a keyboard is not trusted',
    UUIDs: [A2DP_SOURCE, HID],
    afterMs: 0,
    isTrusted: false,
  },
  { what: 'a device of another kind is not trusted', UUIDs: [OBEX_PUSH], afterMs: 5_000, isTrusted: false },
];
for (const { what, UUIDs, afterMs, isTrusted } of PAIRING_CASES) {
  test(`the first device that pairs in pairing mode ends the mode, and ${what}`, async (t) => {
    const { bluez, recorder, clock, sendCommand } = await startBackend(t);
    await sendCommand({ do: 'pairing_mode' });
    bluez.addDevice(PHONE);
    bluez.changeDevice(PHONE, { Paired: true });
    // BlueZ learns the services of a device only a moment after the pairing.
    bluez.changeDevice(PHONE, { UUIDs });
    await until('the phone is known', () => recorder.firstKnown);
    clock.advance(afterMs);
    await until('pairing mode is over', () => recorder.record?.pairing_active === false && !bluez.agent);
    await until('nobody can find the node', () => bluez.adapter()['Discoverable'] === false);

    const changes = bluez.calls.filter((call) => /^Set (Trusted|Discoverable=false)/.test(call));
    const endOfMode = 'Set Discoverable=false';
    assert.deepEqual(changes, isTrusted ? ['Set Trusted=true', endOfMode] : [endOfMode]);
    await until('the value of `trusted` is published', () => recorder.firstKnown?.trusted === isTrusted);
  });
}

test('pairing mode waits for the services of a device, even if the date has jumped', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  const ABOUT_THREE_YEARS_MS = 1e11;
  clock.shiftDate(ABOUT_THREE_YEARS_MS);
  bluez.addDevice(PHONE);
  bluez.changeDevice(PHONE, { Paired: true });
  await until('the phone is known', () => recorder.firstKnown);
  // Pairing mode waits 5 s for the services (adapter-commands.ts).
  clock.advance(4_999);
  // If pairing mode had ended too early, its end would be carried out before this command is answered.
  await sendCommand({ do: 'scan' });
  assert.ok(bluez.agent);
  clock.advance(1);
  await until('pairing mode is over', () => recorder.record?.pairing_active === false && !bluez.agent);
});

type Properties = NonNullable<Parameters<ScriptedBluez['addDevice']>[1]>;
/** A pairing that neither pairing mode nor a command of a client permits. */
interface UnpermittedPairing {
  readonly what: string;
  /** The properties of the phone and of the adapter before the pairing. */
  readonly phone: Properties;
  readonly adapter: Properties;
  readonly isKept: boolean;
}
const UNPERMITTED_PAIRINGS: readonly UnpermittedPairing[] = [
  {
    what: 'a device that pairs by itself is forgotten',
    phone: { Connected: true },
    adapter: {},
    isKept: false,
  },
  {
    what: 'if another program makes the node visible, and a device then pairs, the device stays',
    phone: { Connected: true },
    adapter: { Discoverable: true },
    isKept: true,
  },
  {
    what: 'if another program finds a device, and then pairs it, the device stays',
    phone: { RSSI: -60 },
    adapter: {},
    isKept: true,
  },
  {
    what: 'a device that another program has trusted stays',
    phone: { Trusted: true },
    adapter: {},
    isKept: true,
  },
  {
    what: 'a device that was paired before it appeared stays',
    phone: { Paired: true },
    adapter: {},
    isKept: true,
  },
];
for (const { what, phone, adapter, isKept } of UNPERMITTED_PAIRINGS) {
  test(`the daemon trusts no device that pairs without permission: ${what}`, async (t) => {
    const { bluez, recorder, sendCommand } = await startBackend(t);
    bluez.changeAdapter(adapter);
    bluez.addDevice(PHONE, phone);
    await until('the phone is published', () => recorder.device(PHONE));

    bluez.changeDevice(PHONE, { Paired: true });
    await until('the phone is known or forgotten', () =>
      isKept ? recorder.firstKnown : !recorder.device(PHONE),
    );
    // BlueZ has received all earlier calls of the backend when this command is answered.
    await sendCommand({ do: 'scan' });

    const changes = bluez.calls.filter((call) => ['RemoveDevice', 'Set Trusted=true'].includes(call));
    assert.deepEqual(changes, isKept ? [] : ['RemoveDevice']);
    assert.equal(recorder.logs.includes('warn: a device has paired without permission'), !isKept);
  });
}

test('a device is forgotten if it pairs while a client connects another device, even if a scan has found it before', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  for (const address of [SPEAKER, PHONE]) bluez.addDevice(address, { RSSI: -60 });
  await until('the speaker is found', () => recorder.device(SPEAKER));
  // BlueZ answers `Pair` for the speaker only when the phone has paired and is forgotten.
  bluez.onCall.set('Pair', async () => {
    bluez.changeDevice(PHONE, { Paired: true });
    await until('the phone is forgotten', () => !bluez.objects.has(pathOf(PHONE)) && !recorder.device(PHONE));
  });
  await sendCommand({ do: 'connect', address: SPEAKER });
  await until('the speaker is trusted', () => recorder.firstKnown?.trusted === true);
});

test('a device that the agent has accepted in pairing mode is trusted, even if it pairs after the end of the mode', async (t) => {
  const { bluez, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  bluez.addDevice(PHONE);
  assert.equal(await bluez.callAgent(['RequestConfirmation', 'ou', pathOf(PHONE), 1]), 'done');

  await sendCommand({ do: 'pairing_mode/stop' });
  bluez.changeDevice(PHONE, { Paired: true, UUIDs: [A2DP_SOURCE] });
  await until('the phone is trusted', () => bluez.device(PHONE)['Trusted'] === true);
});

test('if the daemon ends while pairing mode begins, the adapter is neither visible nor pairable afterwards', async (t) => {
  const { bluez, backend } = await startBackend(t);
  void backend.handle({ do: 'pairing_mode' });
  await backend.stop();
  const { Discoverable, Pairable } = bluez.adapter();
  assert.deepEqual([Discoverable, Pairable], [false, false]);
  assert.ok(bluez.calls.includes('Set Discoverable=true'), 'pairing mode had begun before');
});

test('if the adapter is switched off while pairing mode begins, the adapter is neither visible nor pairable afterwards', async (t) => {
  const { bluez, sendCommand } = await startBackend(t);
  bluez.onCall.set('Set', () => {
    if (bluez.calls.at(-1) === 'Set Pairable=true') bluez.changeAdapter({ Powered: false });
  });
  await sendCommand({ do: 'pairing_mode' }, 'refused');
  assert.deepEqual([bluez.adapter()['Discoverable'], bluez.adapter()['Pairable']], [false, false]);
  assert.ok(!bluez.calls.includes('Set Discoverable=true'));
});

test('if pairing mode could not be ended completely, its end can be requested again', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  bluez.misbehaviours.set('Set Discoverable=false', { error: 'org.bluez.Error.Failed' });
  await sendCommand({ do: 'pairing_mode/stop' }, 'refused');
  await until('the end of pairing mode is published', () => recorder.record?.pairing_active === false);
  assert.equal(recorder.record?.discoverable, true);

  bluez.misbehaviours.clear();
  await sendCommand({ do: 'pairing_mode/stop' });
  assert.equal(recorder.record?.discoverable, false);
});

test('the backend repeats a call for which BlueZ is too busy', async (t) => {
  const { bluez, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  bluez.misbehaviours.set('Set Pairable=false', { error: 'org.bluez.Error.Busy' });
  const stopping = sendCommand({ do: 'pairing_mode/stop' });
  const attempts = (): number => bluez.calls.filter((call) => call === 'Set Pairable=false').length;
  await until('the call is repeated', () => attempts() > 1);
  bluez.misbehaviours.clear();
  await stopping;
  assert.equal(bluez.adapter()['Pairable'], false);
});

test('a command is answered when the records show its effect, or after a second if they do not', async (t) => {
  const { bluez, recorder, clock, backend, sendCommand } = await startBackend(t, {}, withPhone);
  const expectEffect = async (
    command: BluetoothCommand,
    isEffectRecorded: () => boolean | undefined,
  ): Promise<void> => {
    await sendCommand(command);
    assert.ok(isEffectRecorded(), command.do);
  };
  const isOff = (key: 'powered' | 'pairable' | 'scanning') => () => recorder.record?.[key] === false;
  await expectEffect({ do: 'connect', address: PHONE }, () => recorder.firstKnown?.connected);
  await expectEffect({ do: 'disconnect', address: PHONE }, () => !recorder.firstKnown?.connected);
  await expectEffect({ do: 'forget', address: PHONE }, () => !recorder.device(PHONE));
  await expectEffect({ do: 'pairing_mode' }, () => recorder.record?.discoverable);
  await expectEffect({ do: 'pairing_mode/stop' }, isOff('pairable'));
  await expectEffect({ do: 'scan' }, () => recorder.record?.scanning);
  await expectEffect({ do: 'scan/stop' }, isOff('scanning'));
  await expectEffect({ do: 'power_down' }, isOff('powered'));
  // A scan switches the adapter on.
  await expectEffect({ do: 'scan' }, () => recorder.record?.powered && recorder.record.scanning);
  await expectEffect({ do: 'power_down' }, isOff('powered'));
  await expectEffect({ do: 'power_up' }, () => recorder.record?.powered);

  // Another program undoes the change before it is published. The answer must come all the same.
  bluez.onCall.set('Set', () => void setImmediate(() => bluez.changeAdapter({ Powered: true })));
  const answered = backend.handle({ do: 'power_down' }).then(faultOf);
  await until('the command is answered', () => {
    clock.advance(100);
    // The race resolves with undefined while the command is not answered.
    return Promise.race([answered, undefined]);
  });
  assert.equal(await answered, 'none');
});

test('a new device that a client connects is paired and trusted; no other device is accepted meanwhile', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  const agentAnswers: string[] = [];
  bluez.onCall.set('Pair', async (path) => {
    agentAnswers.push(await bluez.callAgent(['RequestConfirmation', 'ou', path, 1]));
    agentAnswers.push(await bluez.callAgent(['AuthorizeService', 'os', path, A2DP_SOURCE]));
    agentAnswers.push(await bluez.callAgent(['AuthorizeService', 'os', path, HID]));
    agentAnswers.push(await bluez.callAgent(['RequestConfirmation', 'ou', pathOf(PHONE), 1]));
  });
  bluez.addDevice(SPEAKER);
  await until('the speaker is found', () => recorder.device(SPEAKER));

  // A client may write the address in small letters.
  await sendCommand({ do: 'connect', address: SPEAKER.toLowerCase() });
  assert.deepEqual(agentAnswers, ['done', 'done', REJECTED, REJECTED]);
  await until('the speaker is connected', () => recorder.firstKnown?.connected === true);
  await until('the speaker is trusted', () => recorder.firstKnown?.trusted === true);
  await until('BlueZ has no agent', () => !bluez.agent);
});

interface RequestedDevice {
  readonly what: string;
  readonly isPaired: boolean;
  readonly services: readonly string[];
  readonly fault: 'none' | 'refused';
  /** The calls to BlueZ that pair, connect or remove the device. */
  readonly calls: readonly string[];
}
const REQUESTED_DEVICES: readonly RequestedDevice[] = [
  {
    what: 'a new keyboard is refused and forgotten',
    isPaired: false,
    services: [HID],
    fault: 'refused',
    calls: ['Pair', 'RemoveDevice'],
  },
  {
    what: 'a keyboard that is paired already is refused and stays paired',
    isPaired: true,
    services: [HID],
    fault: 'refused',
    calls: [],
  },
  {
    what: 'a new sound device that is also a keyboard is connected',
    isPaired: false,
    services: [HID, A2DP_SINK],
    fault: 'none',
    calls: ['Pair', 'Connect'],
  },
  {
    what: 'a paired sound device that is also a keyboard is connected',
    isPaired: true,
    services: [HID, A2DP_SINK],
    fault: 'none',
    calls: ['Connect'],
  },
  {
    what: 'a device whose services are unknown is connected',
    isPaired: false,
    services: [],
    fault: 'none',
    calls: ['Pair', 'Connect'],
  },
];
for (const { what, isPaired, services, fault, calls } of REQUESTED_DEVICES) {
  test(`a client cannot connect a device that is only for input: ${what}`, async (t) => {
    const { bluez, recorder, backend } = await startBackend(t);
    bluez.offeredServices = services;
    bluez.addDevice(PHONE, isPaired ? { Paired: true, UUIDs: services } : {});
    await until('the device is published', () => recorder.device(PHONE));
    const answer = await backend.handle({ do: 'connect', address: PHONE });
    assert.equal(faultOf(answer), fault);
    if (!answer.ok) assert.match(answer.error.detail, /keyboard.* for sound only/);
    const mustBeForgotten = calls.includes('RemoveDevice');
    await until(
      'the device stays or is forgotten',
      () => mustBeForgotten === (recorder.device(PHONE) === undefined),
    );
    await until('BlueZ has no agent', () => !bluez.agent);
    assert.deepEqual(
      bluez.calls.filter((call) => ['Pair', 'Connect', 'RemoveDevice'].includes(call)),
      calls,
    );
  });
}

const FAULTS_OF_ERRORS: readonly (readonly [error: string, fault: string])[] = [
  ['org.bluez.Error.Failed', 'refused'],
  ['org.bluez.Error.NotReady', 'refused'],
  ['org.bluez.Error.AuthenticationFailed', 'refused'],
  ['org.bluez.Error.InProgress', 'refused'],
  ['org.freedesktop.DBus.Error.UnknownObject', 'no-such-device'],
  ['org.freedesktop.DBus.Error.NoReply', 'unavailable'],
  ['org.bluez.Error.AlreadyConnected', 'none'],
];

test('a command to connect gets the fault that belongs to the error of BlueZ', async (t) => {
  const { bluez, sendCommand } = await startBackend(t, {}, withPhone);
  for (const [error, fault] of FAULTS_OF_ERRORS) {
    bluez.misbehaviours.set('Connect', { error });
    // `AlreadyConnected` counts as success. The answer then waits until the record has the connection.
    bluez.changeDevice(PHONE, { Connected: error === 'org.bluez.Error.AlreadyConnected' });
    await sendCommand({ do: 'connect', address: PHONE }, fault);
  }
  await sendCommand({ do: 'connect', address: SPEAKER }, 'no-such-device');
});

/**
 * `text` is BlueZ's text. `advice` matches a part of the daemon's advice (`ADVICE` in bluez.ts), and the part
 * may end within a word. If `advice` is undefined, the daemon has no advice for this text.
 */
type Explanation = readonly [error: string, text: string, advice: RegExp | undefined];
const EXPLANATIONS: readonly Explanation[] = [
  [
    'org.bluez.Error.Failed',
    'br-connection-profile-unavailable',
    /libspa-0\.2-bluetooth.*pulseaudio-module-blue/,
  ],
  [
    'org.bluez.Error.NotAvailable',
    'br-connection-profile-unavailable',
    /tonearm-setup --user NAME --bluetooth/,
  ],
  ['org.bluez.Error.Failed', 'Protocol not available', /libspa-0\.2-bluetooth/],
  ['org.bluez.Error.Failed', 'br-connection-page-timeout', /out of reach/],
  ['org.bluez.Error.Failed', 'Host is down', /out of reach/],
  ['org.bluez.Error.Failed', 'br-connection-key-missing', /pair again/],
  ['org.bluez.Error.NotReady', 'Resource Not Ready', /the adapter is off/],
  ['org.bluez.Error.Failed', 'br-connection-busy', undefined],
];

test('the answer to a refused connection gives advice if the text of BlueZ does not say what to do', async (t) => {
  const { bluez, backend } = await startBackend(t, {}, withPhone);
  for (const [error, text, advice] of EXPLANATIONS) {
    bluez.misbehaviours.set('Connect', { error, text });
    const answer = await backend.handle({ do: 'connect', address: PHONE });
    const detail = answer.ok ? '' : answer.error.detail;
    const [, message, actualAdvice] = /^(.*? \(org\.bluez\.Error\.\w+\))(.*)$/.exec(detail) ?? [];
    assert.equal(message, `${PHONE} could not be connected: ${text} (${error})`);
    if (advice === undefined) assert.equal(actualAdvice, '', text);
    else assert.match(actualAdvice ?? '', advice, text);
  }
});

const INVALID_ADDRESSES = [
  '',
  'AA:BB',
  `${PHONE}:01`,
  PHONE.replaceAll(':', '-'),
  'AA:BB:CC:DD:EE:'.repeat(65_536),
];
/** The greatest length of a text in a field of a record (objects.ts). */
const TEXT_MAX_UNITS = 248;

test('a device with an invalid address is not listed, and long texts are cut', async (t) => {
  const { bluez, recorder } = await startBackend(t);
  for (const [index, Address] of INVALID_ADDRESSES.entries())
    bluez.add(`${ADAPTER}/dev_${index}`, {
      'org.bluez.Device1': { ...device(PHONE), Address, Paired: true },
    });
  const longText = 'x'.repeat(100_000);
  bluez.addDevice(SPEAKER, { Paired: true, Alias: longText, Icon: longText });
  await until('the speaker is listed', () => recorder.firstKnown);
  assert.deepEqual(
    recorder.record?.known_devices?.map(({ address }) => address),
    [SPEAKER],
  );
  const cutText = 'x'.repeat(TEXT_MAX_UNITS);
  assert.deepEqual([recorder.firstKnown?.name, recorder.firstKnown?.kind], [cutText, cutText]);

  // An invalid address does not replace a valid one. `Trusted` shows that this change has arrived.
  bluez.changeDevice(SPEAKER, { Address: longText, Trusted: true });
  await until('the speaker is trusted', () => recorder.firstKnown?.trusted === true);
  assert.equal(recorder.firstKnown?.address, SPEAKER);
});

/** A device that does not know its charge reports this value. */
const UNKNOWN_PERCENTAGE = 255;

test('a battery whose charge is unknown is left out of the record', async (t) => {
  const { bluez, recorder } = await startBackend(t, {}, withPhone);
  assert.equal(recorder.firstKnown?.battery, 80);
  bluez.change(pathOf(PHONE), BATTERY_INTERFACE, { Percentage: UNKNOWN_PERCENTAGE });
  await until(
    'the battery is left out',
    () => recorder.firstKnown && recorder.firstKnown.battery === undefined,
  );

  bluez.change(pathOf(PHONE), BATTERY_INTERFACE, { Percentage: 100 });
  await until('the battery is published', () => recorder.firstKnown?.battery === 100);
});

test('if a slow connection fails after two clients were answered, an event and one line of the log report the failure', async (t) => {
  const { bluez, recorder, backend, clock } = await startBackend(t, {}, withPhone);
  const attempt = new Deferred<void>();
  bluez.onCall.set('Connect', async () => {
    await attempt.promise;
    // BlueZ then answers `Connect` with an error, but announces no removal of the device. So no record
    // changes.
    bluez.objects.delete(pathOf(PHONE));
  });
  const firstAnswer = backend.handle({ do: 'connect', address: PHONE });
  await until('BlueZ has received Connect', () => bluez.calls.includes('Connect'));
  const secondAnswer = backend.handle({ do: 'connect', address: PHONE });
  clock.advance(PAST_ANSWER_MS);
  assert.deepEqual([faultOf(await firstAnswer), faultOf(await secondAnswer)], ['none', 'none']);

  attempt.resolve();
  await until('the failure is published', () => recorder.published.includes('put bluetooth.outcome'));
  const failures = recorder.logs.filter((line) => line === 'warn: a device could not be connected');
  assert.equal(failures.length, 1);
});

test('several clients that request the same connection get the outcome of one attempt', async (t) => {
  const { bluez, backend } = await startBackend(t, {}, withPhone);
  const connect = () => backend.handle({ do: 'connect', address: PHONE }).then(faultOf);
  bluez.misbehaviours.set('Connect', 'hang');
  for (const error of ['org.bluez.Error.Failed', undefined]) {
    const first = connect();
    await until('BlueZ has received Connect', () => bluez.calls.includes('Connect'));
    const second = connect();
    bluez.changeDevice(PHONE, { Connected: error === undefined });
    bluez.answerHung(error);
    const fault = error === undefined ? 'none' : 'refused';
    assert.deepEqual([await first, await second], [fault, fault]);
    assert.equal(bluez.calls.splice(0).filter((call) => call === 'Connect').length, 1);
  }
});

test('a command to disconnect or forget a device is refused if BlueZ refuses it', async (t) => {
  const { bluez, sendCommand } = await startBackend(t, {}, withPhone);
  for (const [member, verb] of [
    ['Disconnect', 'disconnect'],
    ['RemoveDevice', 'forget'],
  ] as const) {
    bluez.misbehaviours.set(member, { error: 'org.bluez.Error.InProgress' });
    await sendCommand({ do: verb, address: PHONE }, 'refused');
  }
});

test('a command for a blocked adapter is refused, and the answer names what blocks the adapter', async (t) => {
  const { bluez, recorder, backend, sendCommand } = await startBackend(t, {}, withAdapterOff);
  bluez.misbehaviours.set('Set Powered=true', { error: 'org.bluez.Error.Blocked' });
  const answer = await backend.handle({ do: 'power_up' });
  assert.equal(faultOf(answer), 'blocked');
  assert.match(answer.ok ? '' : answer.error.detail, /blocked by rfkill/);
  assert.match(recorder.state, /^up: .*blocked by rfkill/);
  await sendCommand({ do: 'pairing_mode' }, 'blocked');

  bluez.misbehaviours.clear();
  await sendCommand({ do: 'power_up' });
  await until('the status has no detail any more', () => recorder.state === 'up');
});

test('if BlueZ hangs, each command waits until its deadline, and no longer', async (t) => {
  const { bluez, backend, sendCommand } = await startBackend(t, {}, withPhone, { callDeadlineMs: 1_000 });
  for (const member of ['Set', 'RegisterAgent', 'StartDiscovery', 'Disconnect', 'RemoveDevice'])
    bluez.misbehaviours.set(member, 'hang');
  for (const verb of ['power_down', 'pairing_mode', 'scan'] as const)
    await sendCommand({ do: verb }, 'timeout');
  // Before the backend connects a device, it registers its agent. So `connect` hangs in `RegisterAgent`.
  for (const verb of ['connect', 'disconnect', 'forget'] as const)
    await sendCommand({ do: verb, address: PHONE }, 'timeout');

  bluez.misbehaviours.clear();
  // The deadline is short, so the first attempts may fail on a busy machine.
  await until('pairing mode starts', async () => (await backend.handle({ do: 'pairing_mode' })).ok);
});

test('the backend follows BlueZ and the adapter as they appear, die and return', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t, {}, withPhone, { isBluezRunning: false });
  assert.match(recorder.state, /^connecting: BlueZ/);
  await sendCommand({ do: 'scan' }, 'unavailable');
  await bluez.start();
  await until('the backend is up', () => recorder.state === 'up');

  await sendCommand({ do: 'pairing_mode' });

  bluez.die();
  await until('BlueZ is gone', () => /^connecting: BlueZ.*not running/.test(recorder.state));
  // The scripted BlueZ has kept the properties of its adapter, so the test makes the adapter invisible.
  bluez.adapter()['Discoverable'] = false;
  await bluez.start();
  await until('BlueZ is back', () => recorder.state === 'up');
  await until('pairing mode is over after the restart', () => recorder.record?.pairing_active === false);

  bluez.remove(ADAPTER);
  await until('the adapter is gone', () => recorder.state === 'connecting: BlueZ has no adapter');
  bluez.plugIn();
  await until('the adapter is back', () => recorder.state === 'up');
  await sendCommand({ do: 'pairing_mode' });
});

const SECOND_ADAPTER = '/org/bluez/hci1';

test('the first of two adapters is used, unless the second one is configured, or scans while it is in use; no adapter replaces a configured one that is missing', async (t) => {
  const addSecondAdapter = (bluez: ScriptedBluez): void => {
    const properties = { ...bluez.adapter(), Address: '00:AA:01:01:00:01', Alias: 'other' };
    bluez.objects.set(SECOND_ADAPTER, { 'org.bluez.Adapter1': properties });
  };
  const { bluez, recorder } = await startBackend(t, {}, addSecondAdapter);
  assert.equal(recorder.record?.name, 'kitchen');

  bluez.remove(ADAPTER);
  await until('the second adapter is used', () => recorder.record?.name === 'other');
  assert.equal(recorder.state, 'up');

  bluez.change(SECOND_ADAPTER, 'org.bluez.Adapter1', { Discovering: true });
  await until('the second adapter scans', () => recorder.record?.scanning === true);
  bluez.plugIn();
  // The new name shows that the second adapter is still in use after the first has come back.
  bluez.change(SECOND_ADAPTER, 'org.bluez.Adapter1', { Alias: 'still' });
  await until('the second adapter stays in use', () => recorder.record?.name === 'still');
  bluez.change(SECOND_ADAPTER, 'org.bluez.Adapter1', { Discovering: false });
  await until('the first adapter is used again', () => recorder.record?.name === 'kitchen');
  assert.equal(recorder.state, 'up');

  const configured = await startBackend(t, { adapter: 'hci1' }, addSecondAdapter);
  assert.equal(configured.recorder.record?.name, 'other');
  const missing = await startBackend(t, { adapter: 'hci7' }, addSecondAdapter);
  assert.equal(missing.recorder.state, 'connecting: BlueZ has no adapter hci7');
});

test('the backend makes the adapter invisible at the start, switches it on if configured, and switches it off after the idle time', async (t) => {
  const idleMs = 600_000;
  const { bluez, recorder, clock } = await startBackend(
    t,
    { powerOnStart: true, idleTimeout: idleMs / 1_000 },
    (newBluez) => {
      withPhone(newBluez);
      // An earlier run of the daemon has left the adapter visible and pairable.
      Object.assign(newBluez.adapter(), { Powered: false, Discoverable: true, Pairable: true });
    },
  );
  await until('the adapter is on', () => recorder.record?.powered === true);
  assert.deepEqual([bluez.adapter()['Discoverable'], bluez.adapter()['Pairable']], [false, false]);

  clock.advance(idleMs - 1_000);
  bluez.changeDevice(PHONE, { Connected: true });
  await until('the phone is connected', () => recorder.firstKnown?.connected === true);
  // The idle time does not run while a device is connected.
  clock.advance(6 * idleMs);
  bluez.changeDevice(PHONE, { Connected: false });
  await until('the phone is disconnected', () => recorder.firstKnown?.connected === false);

  clock.advance(idleMs - 1_000);
  // BlueZ has received all earlier calls of the backend when this change is published.
  bluez.changeDevice(PHONE, { Alias: 'renamed' });
  await until('the phone is renamed', () => recorder.firstKnown?.name === 'renamed');
  assert.ok(!bluez.calls.includes('Set Powered=false'), 'the connection has restarted the idle time');
  clock.advance(1_000);
  await until('the adapter is off', () => recorder.record?.powered === false);
});
