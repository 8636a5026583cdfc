// Tests how an attempt to connect a device ends if BlueZ answers the daemon's calls late or never.

import assert from 'node:assert/strict';
import type { Bluez } from '../../../src/actors/bluetooth/bluez.js';
import { Connecting } from '../../../src/actors/bluetooth/connecting.js';
import { Pairing } from '../../../src/actors/bluetooth/pairing.js';
import type { BusResult } from '../../../src/actors/bus/fault.js';
import { Deferred } from '../../deferred.js';
import { ManualClock } from '../../manual-clock.js';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { faultOf, Recorder } from '../recorder.js';
import { startBackend } from './backend-under-test.js';
import { pathOf, SPEAKER } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const PAIRED = { Paired: true };

for (const who of ['a client', 'another program']) {
  test(`when ${who} makes BlueZ forget a device, the attempt to connect it ends, and a later attempt succeeds`, async (t) => {
    const { bluez, backend, recorder, sendCommand } = await startBackend(t, {}, (newBluez) => {
      newBluez.addDevice(SPEAKER, PAIRED);
      newBluez.misbehaviours.set('Connect', 'hang');
    });
    const pendingAnswer = backend.handle({ do: 'connect', address: SPEAKER });
    await until('BlueZ has received Connect', () => bluez.calls.includes('Connect'));
    if (who === 'a client') await sendCommand({ do: 'forget', address: SPEAKER });
    else bluez.remove(pathOf(SPEAKER));
    assert.equal(faultOf(await pendingAnswer), 'no-such-device');

    await until('the speaker is gone', () => recorder.device(SPEAKER) === undefined);

    bluez.misbehaviours.clear();
    bluez.addDevice(SPEAKER, PAIRED);
    await until('the speaker is back', () => recorder.device(SPEAKER));
    await sendCommand({ do: 'connect', address: SPEAKER });
    assert.equal(bluez.device(SPEAKER)['Connected'], true);
  });
}

const TIMEOUT: BusResult<undefined> = { ok: false, error: { kind: 'timeout' } };

/** BlueZ answers `Connect` and `Pair` when the test resolves `reply`, and all other calls at once. */
function makeConnecting() {
  const reply = new Deferred<BusResult<undefined>>();
  const calls: string[] = [];
  const callBluez = async ({ member }: { readonly member: string }): Promise<BusResult<undefined>> => {
    calls.push(member);
    return member === 'Connect' || member === 'Pair' ? reply.promise : { ok: true, value: undefined };
  };
  const parts = { bluez: callBluez as Bluez, clock: new ManualClock(), publish: new Recorder() };
  const connecting = new Connecting({
    ...parts,
    pairing: new Pairing(parts),
    currentDevice: () => undefined,
    untilConnected: async () => undefined,
    onLateOutcome: () => undefined,
    onProgress: () => undefined,
  });
  const device = { path: pathOf(SPEAKER), Address: SPEAKER, battery: undefined, wasFoundByScan: false };
  return { connecting, device, calls, reply };
}

const ABORTIONS: readonly (readonly [cause: string, abort: (connecting: Connecting) => void])[] = [
  ['the device was removed', (connecting) => connecting.deviceRemoved(pathOf(SPEAKER))],
  ['the adapter was unplugged', (connecting) => connecting.adapterLost()],
];
for (const [cause, abort] of ABORTIONS) {
  // The daemon calls `Disconnect` after a timeout if nothing aborts the attempt (last test of this file).
  test(`no disconnection follows a timeout that comes after ${cause}`, async () => {
    const { connecting, device, calls, reply } = makeConnecting();
    const outcome = connecting.reconnect({ ...device, Paired: true });
    abort(connecting);
    assert.notEqual(faultOf(await outcome), 'none');
    reply.resolve(TIMEOUT);
    // An attempt that goes on would make its next call in this turn.
    await reply.promise;
    await new Promise(setImmediate);
    assert.deepEqual(calls, ['Connect']);
  });

  test(`no connection follows a pairing that ends after ${cause}`, async () => {
    const { connecting, device, calls, reply } = makeConnecting();
    // The device is not paired yet, so the attempt begins with its pairing.
    const outcome = connecting.reconnect(device);
    abort(connecting);
    assert.notEqual(faultOf(await outcome), 'none');
    reply.resolve({ ok: true, value: undefined });
    await reply.promise;
    await new Promise(setImmediate);
    assert.deepEqual(calls, ['Pair']);
  });
}

test('the daemon calls Disconnect after a timeout, so that BlueZ does not go on trying to connect', async () => {
  const { connecting, device, calls, reply } = makeConnecting();
  const outcome = connecting.reconnect({ ...device, Paired: true });
  reply.resolve(TIMEOUT);
  assert.equal(faultOf(await outcome), 'timeout');
  assert.deepEqual(calls, ['Connect', 'Disconnect']);
});
