// Tests that the daemon's agent does not stay registered if the adapter is unplugged, or BlueZ dies or
// hangs, at the worst moment. While any agent is registered, the kernel lets strangers pair with every
// adapter.

import assert from 'node:assert/strict';
import type { Bluez } from '../../../src/actors/bluetooth/bluez.js';
import { Pairing } from '../../../src/actors/bluetooth/pairing.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';
import { startBackend } from './backend-under-test.js';
import { ADAPTER, pathOf, type ScriptedBluez, SPEAKER } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const addSpeaker = (bluez: ScriptedBluez): void => bluez.addDevice(SPEAKER);

test('the agent is unregistered when the adapter is unplugged in pairing mode, and registered again in the next pairing mode', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t);
  await sendCommand({ do: 'pairing_mode' });
  assert.ok(bluez.agent);
  bluez.remove(ADAPTER);
  await until('the adapter is gone', () => recorder.state === 'connecting: BlueZ has no adapter');
  await until('BlueZ has no agent', () => bluez.agent === undefined);
  bluez.plugIn();
  await until('the adapter is back', () => recorder.state === 'up');
  await sendCommand({ do: 'pairing_mode' });
  assert.ok(bluez.agent);
});

test('the agent is unregistered when the adapter is unplugged during a pairing that BlueZ never finishes', async (t) => {
  const { bluez, backend, recorder, sendCommand } = await startBackend(t, {}, addSpeaker);
  bluez.misbehaviours.set('Pair', 'hang');
  const connecting = backend.handle({ do: 'connect', address: SPEAKER });
  await until('BlueZ has got the agent and Pair', () => bluez.calls.includes('Pair') && bluez.agent);
  bluez.remove(ADAPTER);
  assert.equal(faultOf(await connecting), 'unavailable');
  await until('BlueZ has no agent', () => bluez.agent === undefined);

  bluez.remove(pathOf(SPEAKER));
  bluez.misbehaviours.clear();
  bluez.plugIn();
  bluez.addDevice(SPEAKER);
  await until('the adapter is back with the speaker', () => recorder.device(SPEAKER));
  await sendCommand({ do: 'connect', address: SPEAKER });
});

test('the agent stays registered until an attempt to connect ends, even if pairing mode ends earlier', async (t) => {
  const { bluez, backend, sendCommand } = await startBackend(t, {}, addSpeaker);
  let finishPairing = (): void => undefined;
  bluez.onCall.set('Pair', () => new Promise<void>((resolve) => (finishPairing = resolve)));
  const connecting = backend.handle({ do: 'connect', address: SPEAKER });
  await until('BlueZ has got Pair', () => bluez.calls.includes('Pair'));
  await sendCommand({ do: 'pairing_mode' });
  await sendCommand({ do: 'pairing_mode/stop' });
  // When this command is answered, BlueZ has got all calls that were sent before it.
  await sendCommand({ do: 'scan' });
  assert.ok(bluez.agent);

  finishPairing();
  assert.equal(faultOf(await connecting), 'none');
  await until('BlueZ has no agent', () => bluez.agent === undefined);
});

test('the agent is unregistered if BlueZ does not confirm its registration before the deadline', async (t) => {
  const { bluez, sendCommand } = await startBackend(t, {}, undefined, { callDeadlineMs: 1_000 });
  let finishRegistration = (): void => undefined;
  bluez.onCall.set('RegisterAgent', () => new Promise<void>((resolve) => (finishRegistration = resolve)));
  await sendCommand({ do: 'pairing_mode' }, 'timeout');
  await until('the agent is unregistered', () => bluez.calls.includes('UnregisterAgent'));

  // The late reply of BlueZ changes nothing, and the next command registers the agent anew.
  finishRegistration();
  bluez.onCall.delete('RegisterAgent');
  await sendCommand({ do: 'pairing_mode' });
  assert.ok(bluez.agent);
});

test('the registration of the agent fails if BlueZ ends meanwhile, and the next registration makes all calls again', async () => {
  const registration = ['RegisterAgent', 'RequestDefaultAgent'];
  const calls: string[] = [];
  const callBluez = async ({ member }: { readonly member: string }) => {
    calls.push(member);
    const isEndOfFirstRegistration = calls.length === registration.length;
    if (isEndOfFirstRegistration) pairing.bluezLost();
    return { ok: true, value: undefined } as const;
  };
  const pairing = new Pairing({
    bluez: callBluez as Bluez,
    clock: new ManualClock(),
    publish: new Recorder(),
  });
  assert.equal((await pairing.holdAgent()).ok, false, 'BlueZ ended meanwhile');
  pairing.releaseAgent();
  assert.ok((await pairing.holdAgent()).ok);
  assert.deepEqual(calls, [...registration, ...registration]);
});

test('the agent is registered at a new BlueZ, even if the old one died during the registration', async (t) => {
  const { bluez, recorder, backend, sendCommand } = await startBackend(t);
  bluez.onCall.set('RequestDefaultAgent', () => bluez.die());
  const answer = backend.handle({ do: 'pairing_mode' });
  await until('BlueZ is gone', () => /not running/.test(recorder.state));
  assert.notEqual(faultOf(await answer), 'none');
  bluez.onCall.clear();
  await bluez.start();
  await until('BlueZ is back', () => recorder.state === 'up');
  await sendCommand({ do: 'pairing_mode' });
  assert.ok(bluez.agent);
});
