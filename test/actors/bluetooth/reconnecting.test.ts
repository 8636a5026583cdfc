// The backend connects known devices again, on a real bus with a scripted BlueZ (docs/bluetooth.md, "Coming
// back by itself"). reconnect-policy.test.ts tests which devices are connected, and when.

import assert from 'node:assert/strict';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { startBackend } from './backend-under-test.js';
import {
  A2DP_SINK,
  A2DP_SOURCE,
  ADAPTER,
  PHONE,
  pathOf,
  type ScriptedBluez,
  SPEAKER,
} from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const KNOWN = { Paired: true, Trusted: true, UUIDs: [A2DP_SINK] };
const NO_ANSWER = { error: 'org.bluez.Error.Failed', text: 'br-connection-page-timeout' };
const RECONNECTING = { reconnect: true };
/** The adapter has this service only while a sound server runs. */
const WITH_SOUND_SERVER = { UUIDs: [A2DP_SOURCE] };
const WITHOUT_SOUND_SERVER = { UUIDs: [] };
const ABSENCE_LINE = 'info: a known device does not answer, and is tried again';

function withSpeaker(bluez: ScriptedBluez): void {
  bluez.addDevice(SPEAKER, KNOWN);
}

function withSpeakerAway(bluez: ScriptedBluez): void {
  withSpeaker(bluez);
  bluez.misbehaviours.set('Connect', NO_ANSWER);
}

const attemptCount = ({ calls }: ScriptedBluez): number => calls.filter((call) => call === 'Connect').length;
const untilConnected = (bluez: ScriptedBluez) =>
  until('the speaker is connected', () => bluez.device(SPEAKER)['Connected'] === true);
const untilAttempted = (bluez: ScriptedBluez, times: number) =>
  until(`the connection is tried ${times} times`, () => attemptCount(bluez) === times);

/**
 * Fails if an attempt begins within ten minutes, which is twice the longest pause between two attempts.
 * `sendLast` sends a command that calls BlueZ, and causes no attempt. When this command is answered, BlueZ
 * has got all calls that were sent before it.
 */
async function assertLeftAlone(
  bluez: ScriptedBluez,
  clock: { advance(ms: number): void },
  sendLast: () => Promise<void>,
): Promise<void> {
  const before = attemptCount(bluez);
  clock.advance(600_000);
  await sendLast();
  assert.equal(attemptCount(bluez), before);
}

test('a known loudspeaker is connected at the start and after a loss, without a pairing agent; a known phone is left alone', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    bluez.addDevice(PHONE, { ...KNOWN, Icon: 'phone' });
  });
  await untilConnected(bluez);
  assert.ok(!bluez.calls.includes('RegisterAgent'), bluez.calls.join());
  await until('the connection is published', () => recorder.device(SPEAKER)?.connected);

  bluez.endConnection(SPEAKER, 'Timeout');
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);
  assert.equal(attemptCount(bluez), 1);
  // The first pause lasts 5 s (`FIRST_PAUSE_MS` of reconnect-policy.ts).
  clock.advance(5_000);
  await untilConnected(bluez);
  // An attempt to connect the phone would be counted, too.
  assert.equal(attemptCount(bluez), 2);
});

test('a loudspeaker that does not answer is tried again, and the log has one line about it', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, RECONNECTING, withSpeakerAway);
  await untilAttempted(bluez, 1);
  for (const { attempt, pauseMs } of [
    { attempt: 2, pauseMs: 5_000 },
    { attempt: 3, pauseMs: 10_000 },
    { attempt: 4, pauseMs: 20_000 },
  ]) {
    await until('the next attempt is planned', () => clock.timers > 0);
    clock.advance(pauseMs);
    await untilAttempted(bluez, attempt);
  }
  assert.equal(recorder.logs.filter((log) => log === ABSENCE_LINE).length, 1);

  await until('the next attempt is planned', () => clock.timers > 0);
  bluez.misbehaviours.clear();
  clock.advance(40_000);
  await untilConnected(bluez);
});

test('a loudspeaker that is lost and does not come back has one line in the log', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, RECONNECTING, withSpeaker);
  await until('the connection is published', () => recorder.device(SPEAKER)?.connected);
  bluez.misbehaviours.set('Connect', NO_ANSWER);
  bluez.endConnection(SPEAKER, 'Timeout');
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);

  for (const { attempt, pauseMs } of [
    { attempt: 2, pauseMs: 5_000 },
    { attempt: 3, pauseMs: 10_000 },
  ]) {
    await until('the next attempt is planned', () => clock.timers > 0);
    clock.advance(pauseMs);
    await untilAttempted(bluez, attempt);
  }
  await until('the next attempt is planned', () => clock.timers > 0);
  assert.equal(recorder.logs.filter((log) => log === ABSENCE_LINE).length, 1);
});

/** The first call that BlueZ gets from each command after the command has switched the adapter on. */
const FIRST_CALLS = { scan: 'SetDiscoveryFilter', pairing_mode: 'RegisterAgent' } as const;
for (const verb of ['scan', 'pairing_mode'] as const) {
  test(`no loudspeaker is connected when the command ${verb} switches the adapter on`, async (t) => {
    const { bluez, recorder, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
      withSpeaker(bluez);
      Object.assign(bluez.adapter(), { Powered: false });
    });
    // BlueZ answers this call only after the adapter is published as on. A wrong attempt would begin before
    // the answer, so the last assertion would find it.
    bluez.onCall.set(FIRST_CALLS[verb], async () => {
      await until('the adapter is published as on', () => recorder.record?.powered);
    });
    await sendCommand({ do: verb });
    assert.equal(attemptCount(bluez), 0);
  });
}

for (const reason of ['Local', 'Remote']) {
  test(`a loudspeaker whose connection ended for the reason ${reason} is left alone`, async (t) => {
    const { bluez, recorder, clock, sendCommand } = await startBackend(t, RECONNECTING, withSpeaker);
    await until('the connection is published', () => recorder.device(SPEAKER)?.connected);
    bluez.endConnection(SPEAKER, reason);
    await until('the end is published', () => recorder.device(SPEAKER)?.connected === false);
    await assertLeftAlone(bluez, clock, () => sendCommand({ do: 'scan' }));
  });
}

for (const reason of ['Local', 'Remote']) {
  test(`a loudspeaker is connected again if its connection ended soon after a restart of the sound server, even for the reason ${reason}`, async (t) => {
    const { bluez, recorder, clock } = await startBackend(t, RECONNECTING, (bluez) => {
      withSpeaker(bluez);
      Object.assign(bluez.adapter(), WITH_SOUND_SERVER);
    });
    await until('the connection is published', () => recorder.device(SPEAKER)?.connected);
    bluez.changeAdapter(WITHOUT_SOUND_SERVER);
    bluez.changeAdapter(WITH_SOUND_SERVER);
    bluez.endConnection(SPEAKER, reason);
    await until('the end is published', () => recorder.device(SPEAKER)?.connected === false);
    clock.advance(5_000);
    await untilConnected(bluez);
    assert.equal(attemptCount(bluez), 2);
  });
}

test('a loudspeaker that a client disconnects or forgets is left alone', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, RECONNECTING, withSpeaker);
  await until('the connection is published', () => recorder.device(SPEAKER)?.connected);

  await sendCommand({ do: 'disconnect', address: SPEAKER });
  await assertLeftAlone(bluez, clock, () => sendCommand({ do: 'power_up' }));

  await sendCommand({ do: 'connect', address: SPEAKER });
  bluez.endConnection(SPEAKER);
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);
  await sendCommand({ do: 'forget', address: SPEAKER });
  await assertLeftAlone(bluez, clock, () => sendCommand({ do: 'power_up' }));
});

for (const [begin, end] of [
  ['scan', 'scan/stop'],
  ['pairing_mode', 'pairing_mode/stop'],
] as const) {
  test(`during ${begin} no attempt begins, and an attempt that is under way ends`, async (t) => {
    const { bluez, clock, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
      withSpeaker(bluez);
      bluez.misbehaviours.set('Connect', 'hang');
    });
    await untilAttempted(bluez, 1);

    await sendCommand({ do: begin });
    await until('the attempt has ended', () => bluez.calls.includes('Disconnect'));
    bluez.misbehaviours.clear();
    bluez.answerHung('org.bluez.Error.Canceled');
    clock.advance(5_000);
    // When this command is answered, BlueZ has got all calls that were sent before it.
    await sendCommand({ do: 'power_up' });
    assert.equal(attemptCount(bluez), 1);

    await sendCommand({ do: end });
    await untilConnected(bluez);
    assert.equal(attemptCount(bluez), 2);
  });
}

test('a scan ends an attempt even if BlueZ already reports the device as connected, and the device is connected again after the scan', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    bluez.misbehaviours.set('Connect', 'hang');
    bluez.onCall.set('Disconnect', () => bluez.endConnection(SPEAKER, 'Local'));
  });
  await untilAttempted(bluez, 1);
  bluez.changeDevice(SPEAKER, { Connected: true });
  await until('the connection is published', () => recorder.device(SPEAKER)?.connected);

  await sendCommand({ do: 'scan' });
  await until('the attempt has ended', () => bluez.calls.includes('Disconnect'));
  bluez.misbehaviours.clear();
  bluez.answerHung('org.bluez.Error.Canceled');
  await until('the end is published', () => recorder.device(SPEAKER)?.connected === false);
  await sendCommand({ do: 'scan/stop' });
  clock.advance(5_000);
  await untilConnected(bluez);
  assert.equal(attemptCount(bluez), 2);
});

test('an attempt waits until the scan of another program has ended', async (t) => {
  const { bluez, recorder } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    Object.assign(bluez.adapter(), { Discovering: true });
  });
  await until('the scan is published', () => recorder.record?.scanning);
  assert.equal(attemptCount(bluez), 0);
  bluez.changeAdapter({ Discovering: false });
  await untilConnected(bluez);
  assert.equal(attemptCount(bluez), 1);
});

test('a loudspeaker is connected when the adapter is switched on or plugged in', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    Object.assign(bluez.adapter(), { Powered: false });
  });
  await assertLeftAlone(bluez, clock, () => sendCommand({ do: 'power_down' }));
  await sendCommand({ do: 'power_up' });
  await untilConnected(bluez);

  for (const path of [pathOf(SPEAKER), ADAPTER]) bluez.remove(path);
  await until('the adapter is gone', () => !recorder.isUp);
  bluez.addDevice(SPEAKER, KNOWN);
  bluez.plugIn();
  await untilConnected(bluez);
  assert.equal(attemptCount(bluez), 2);
});

test('a loudspeaker is connected even if BlueZ announces it after the adapter', async (t) => {
  const { bluez, recorder } = await startBackend(t, RECONNECTING, (bluez) => bluez.objects.clear());
  bluez.plugIn();
  await until('the adapter is in use', () => recorder.state === 'up');
  withSpeaker(bluez);
  await untilConnected(bluez);
});

test('a client that connects a device during an attempt gets the outcome of the attempt', async (t) => {
  const { bluez, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    bluez.misbehaviours.set('Connect', 'hang');
  });
  await untilAttempted(bluez, 1);

  const connecting = sendCommand({ do: 'connect', address: SPEAKER });
  // The client is answered only after this change is published.
  bluez.changeDevice(SPEAKER, { Connected: true });
  bluez.answerHung();
  await connecting;
  assert.equal(attemptCount(bluez), 1);
});

test('a device that another program finds and pairs is not forgotten while a client waits for an attempt that the daemon began without an agent', async (t) => {
  const { bluez, recorder, sendCommand } = await startBackend(t, RECONNECTING, (bluez) => {
    withSpeaker(bluez);
    bluez.misbehaviours.set('Connect', 'hang');
  });
  await untilAttempted(bluez, 1);
  // The RSSI shows that a scan has found the phone. Our agent is not registered, so this scan is evidence
  // that another program pairs the phone.
  bluez.addDevice(PHONE, { RSSI: -60 });
  await until('the phone is found', () => recorder.device(PHONE));

  const connecting = sendCommand({ do: 'connect', address: SPEAKER });
  bluez.changeDevice(PHONE, { Paired: true });
  await until('the phone has paired', () => recorder.device(PHONE)?.paired);
  bluez.changeDevice(SPEAKER, { Connected: true });
  bluez.answerHung();
  await connecting;
  assert.ok(!bluez.calls.includes('RemoveDevice'), bluez.calls.join());
});

test('an adapter whose loudspeaker is away is switched off after its idle time', async (t) => {
  const { bluez, clock } = await startBackend(t, { ...RECONNECTING, idleTimeout: 60 }, withSpeakerAway);
  // The waits are three pauses between attempts, and then the rest of the idle time.
  for (const { attempt, waitMs } of [
    { attempt: 1, waitMs: 5_000 },
    { attempt: 2, waitMs: 10_000 },
    { attempt: 3, waitMs: 20_000 },
    { attempt: 4, waitMs: 25_000 },
  ]) {
    await untilAttempted(bluez, attempt);
    await until('the idle time and the next attempt are planned', () => clock.timers > 1);
    clock.advance(waitMs);
  }
  await until('the adapter is off', () => bluez.adapter()['Powered'] === false);
});
