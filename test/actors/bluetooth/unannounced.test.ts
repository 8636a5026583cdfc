// Tests changes that BlueZ does not announce, such as the end of pairing mode. The backend must publish such
// a change, or begin the idle time. The backend switches the adapter off after the idle time.

import assert from 'node:assert/strict';
import { Deferred } from '../../deferred.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf } from '../recorder.js';
import { BLUETOOTH_SETTINGS, PAST_ANSWER_MS, startBackend } from './backend-under-test.js';
import { PHONE, pathOf, type ScriptedBluez } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const FAILED = { error: 'org.bluez.Error.Failed' };
const PAIRING_MS = BLUETOOTH_SETTINGS.pairingTimeout * 1000;
const SCAN_MS = BLUETOOTH_SETTINGS.scanTimeout * 1000;
const IDLE_MS = 600_000;
const IDLING = { idleTimeout: IDLE_MS / 1000 };

/**
 * Adds a phone that is not connected. Tests send the command `disconnect` only to wait. The command changes
 * nothing, and is answered after BlueZ has answered all earlier calls.
 */
function withPhone(bluez: ScriptedBluez): void {
  bluez.addDevice(PHONE, { Paired: true, Trusted: true });
  bluez.misbehaviours.set('Disconnect', { error: 'org.bluez.Error.NotConnected' });
}

/** From now on BlueZ refuses to make the adapter invisible and unpairable. */
function refuseToHideAdapter(bluez: ScriptedBluez): void {
  for (const property of ['Discoverable', 'Pairable'])
    bluez.misbehaviours.set(`Set ${property}=false`, FAILED);
}

test('the record has the new end of pairing mode after a second command has prolonged pairing mode', async (t) => {
  const { recorder, clock, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  clock.advance(10_000);
  const end = new Date(clock.date() + PAIRING_MS).toISOString();
  await sendCommand({ do: 'pairing_mode' });
  assert.equal(recorder.record?.pairing_until, end);
});

test('if a second command pairing_mode fails, pairing mode is published as over, even if BlueZ leaves the adapter visible', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  refuseToHideAdapter(bluez);
  const firstCallOfPairingMode = `Set DiscoverableTimeout=${BLUETOOTH_SETTINGS.pairingTimeout}`;
  bluez.misbehaviours.set(firstCallOfPairingMode, FAILED);
  await sendCommand({ do: 'pairing_mode' }, 'refused');
  await until('pairing mode is over', () => recorder.record?.pairing_active === false);
  assert.equal(recorder.record?.discoverable, true, 'BlueZ leaves the adapter visible');
});

test('pairing mode whose time is over is published as over, even if BlueZ leaves the adapter visible', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  refuseToHideAdapter(bluez);
  clock.advance(PAIRING_MS);
  await until('pairing mode is over', () => recorder.record?.pairing_active === false);
  assert.equal(recorder.record?.discoverable, true, 'BlueZ leaves the adapter visible');
});

test('a failed attempt to connect begins the idle time anew', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, IDLING, withPhone);
  clock.advance(IDLE_MS - 1_000);
  bluez.misbehaviours.set('Connect', FAILED);
  await sendCommand({ do: 'connect', address: PHONE }, 'refused');
  clock.advance(IDLE_MS - 1_000);
  await sendCommand({ do: 'disconnect', address: PHONE });
  assert.ok(!bluez.calls.includes('Set Powered=false'), 'the idle time is not over');
  clock.advance(1_000);
  await until('the adapter is off', () => recorder.record?.powered === false);
});

test('an attempt to connect begins the idle time if the attempt fails after the client was answered', async (t) => {
  const { bluez, recorder, backend, clock } = await startBackend(t, IDLING, withPhone);
  const failure = new Deferred<void>();
  bluez.onCall.set('Connect', async () => {
    await failure.promise;
    // Without this object BlueZ answers `Connect` with an error. BlueZ does not announce this removal.
    bluez.objects.delete(pathOf(PHONE));
  });
  const connecting = backend.handle({ do: 'connect', address: PHONE });
  await until('BlueZ has got Connect', () => bluez.calls.includes('Connect'));
  clock.advance(PAST_ANSWER_MS);
  assert.equal(faultOf(await connecting), 'none');

  failure.resolve();
  await until('the failure is published', () => recorder.published.includes('put bluetooth.outcome'));
  clock.advance(IDLE_MS);
  await until('the adapter is off', () => recorder.record?.powered === false);
});

test('the idle time begins when the time of a scan is over, even if BlueZ has ended the scan earlier', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, IDLING, withPhone);
  await sendCommand({ do: 'scan' });
  bluez.changeAdapter({ Discovering: false });
  await until('the scan has ended', () => recorder.record?.scanning === false);

  bluez.misbehaviours.set('StopDiscovery', FAILED);
  clock.advance(SCAN_MS);
  await until('BlueZ has refused to end the scan', () => bluez.calls.includes('StopDiscovery'));
  await sendCommand({ do: 'disconnect', address: PHONE });
  clock.advance(IDLE_MS);
  await until('the adapter is off', () => recorder.record?.powered === false);
});

test('an adapter that could not be switched off is switched off after another idle time', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, IDLING, withPhone);
  bluez.misbehaviours.set('Set Powered=false', FAILED);
  clock.advance(IDLE_MS);
  await until('BlueZ has refused to switch the adapter off', () => bluez.calls.includes('Set Powered=false'));
  await sendCommand({ do: 'disconnect', address: PHONE });
  const isSwitchOffLine = (line: string) => line.includes('is switched off: nobody used it');
  assert.ok(recorder.logs.some((line) => line.includes('could not be switched off')));
  assert.ok(!recorder.logs.some(isSwitchOffLine), 'the log does not report that the adapter is off');

  bluez.misbehaviours.clear();
  clock.advance(IDLE_MS);
  await until('the adapter is off', () => recorder.record?.powered === false);
  await until('the log reports that the adapter is off', () => recorder.logs.some(isSwitchOffLine));
});
