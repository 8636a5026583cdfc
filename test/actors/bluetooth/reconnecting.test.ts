// Known devices that come back, on a real bus with a scripted BlueZ (docs/bluetooth.md, "Coming back by
// itself"). Which ones, and when: reconnect-policy.test.ts.

import assert from 'node:assert/strict';
import { testsNeeding } from '../../tools/requirements.js';
import { until } from '../../until.js';
import { startBackend } from './followed.js';
import { A2DP_SINK, ADAPTER, PHONE, pathOf, type ScriptedBluez, SPEAKER } from './scripted-bluez.js';

const test = testsNeeding({ programs: ['dbus-daemon'] });

const KNOWN = { Paired: true, Trusted: true, UUIDs: [A2DP_SINK] };
const AWAY = { error: 'org.bluez.Error.Failed', text: 'br-connection-page-timeout' };
const WISH = { reconnect: true };
const ABSENCE_LINE = 'info: a known device does not answer, and is tried again';

function withSpeaker(bluez: ScriptedBluez): void {
  bluez.addDevice(SPEAKER, KNOWN);
}

function withSpeakerAway(bluez: ScriptedBluez): void {
  withSpeaker(bluez);
  bluez.misbehaves.set('Connect', AWAY);
}

const attempts = ({ calls }: ScriptedBluez): number => calls.filter((call) => call === 'Connect').length;
const isConnected = (bluez: ScriptedBluez) => () => bluez.device(SPEAKER)['Connected'] === true;
const isAttempted = (bluez: ScriptedBluez, times: number) =>
  until(`it is tried ${times} times`, () => attempts(bluez) === times);

/** BlueZ has got what was sent before, and nothing more has been tried. */
async function isLeftAlone(
  bluez: ScriptedBluez,
  clock: { advance(ms: number): void },
  barrier: () => Promise<void>,
): Promise<void> {
  const before = attempts(bluez);
  clock.advance(600_000);
  await barrier();
  assert.equal(attempts(bluez), before);
}

test('a known loudspeaker is connected at the start, without an agent, and after a loss', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, WISH, (bluez) => {
    withSpeaker(bluez);
    bluez.addDevice(PHONE, { ...KNOWN, Icon: 'phone' });
  });
  await until('it is connected', isConnected(bluez));
  assert.ok(!bluez.calls.includes('RegisterAgent'), bluez.calls.join());
  await until('it is published', () => recorder.device(SPEAKER)?.connected);
  bluez.endConnection(SPEAKER, 'Timeout');
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);
  assert.equal(attempts(bluez), 1);
  clock.advance(5_000);
  await until('it is connected again', isConnected(bluez));
  assert.equal(attempts(bluez), 2);
});

test('a loudspeaker that does not answer is tried again, and the log has one line about it', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, WISH, withSpeakerAway);
  await isAttempted(bluez, 1);
  for (const [index, pauseMs] of [5_000, 10_000, 20_000].entries()) {
    await until('the failure is known', () => clock.timers > 0);
    clock.advance(pauseMs);
    await isAttempted(bluez, index + 2);
  }
  assert.equal(recorder.logs.filter((log) => log === ABSENCE_LINE).length, 1);
  await until('the failure is known', () => clock.timers > 0);
  bluez.misbehaves.clear();
  clock.advance(40_000);
  await until('it is connected', isConnected(bluez));
});

test('a loudspeaker that is lost and does not come back has one line in the log', async (t) => {
  const { bluez, recorder, clock } = await startBackend(t, WISH, withSpeaker);
  await until('it is published', () => recorder.device(SPEAKER)?.connected);
  bluez.misbehaves.set('Connect', AWAY);
  bluez.endConnection(SPEAKER, 'Timeout');
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);
  for (const [index, pauseMs] of [5_000, 10_000].entries()) {
    await until('the next attempt is set', () => clock.timers > 0);
    clock.advance(pauseMs);
    await isAttempted(bluez, index + 2);
  }
  await until('the last failure is known', () => clock.timers > 0);
  assert.equal(recorder.logs.filter((log) => log === ABSENCE_LINE).length, 1);
});

for (const reason of ['Local', 'Remote']) {
  test(`a loudspeaker whose connection ended by ${reason} is left alone`, async (t) => {
    const { bluez, recorder, clock, sendCommand } = await startBackend(t, WISH, withSpeaker);
    await until('it is published', () => recorder.device(SPEAKER)?.connected);
    bluez.endConnection(SPEAKER, reason);
    await until('the end is published', () => recorder.device(SPEAKER)?.connected === false);
    await isLeftAlone(bluez, clock, () => sendCommand({ do: 'scan' }));
  });
}

test('a loudspeaker that a client disconnects or forgets is left alone', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, WISH, withSpeaker);
  await until('it is published', () => recorder.device(SPEAKER)?.connected);
  await sendCommand({ do: 'disconnect', address: SPEAKER });
  await isLeftAlone(bluez, clock, () => sendCommand({ do: 'power_up' }));
  await sendCommand({ do: 'connect', address: SPEAKER });
  bluez.endConnection(SPEAKER);
  await until('the loss is published', () => recorder.device(SPEAKER)?.connected === false);
  await sendCommand({ do: 'forget', address: SPEAKER });
  await isLeftAlone(bluez, clock, () => sendCommand({ do: 'power_up' }));
});

for (const [begin, end] of [
  ['scan', 'scan/stop'],
  ['pairing_mode', 'pairing_mode/stop'],
] as const) {
  test(`no attempt begins during a ${begin}, and one that is under way ends`, async (t) => {
    const { bluez, clock, sendCommand } = await startBackend(t, WISH, (bluez) => {
      withSpeaker(bluez);
      bluez.misbehaves.set('Connect', 'hang');
    });
    await isAttempted(bluez, 1);
    await sendCommand({ do: begin });
    await until('the attempt has ended', () => bluez.calls.includes('Disconnect'));
    bluez.misbehaves.clear();
    bluez.answerHung('org.bluez.Error.Canceled');
    clock.advance(5_000);
    await sendCommand({ do: 'power_up' });
    assert.equal(attempts(bluez), 1);
    await sendCommand({ do: end });
    await until('it is connected', isConnected(bluez));
    assert.equal(attempts(bluez), 2);
  });
}

test('an attempt also waits for the scan of another program', async (t) => {
  const { bluez, recorder } = await startBackend(t, WISH, (bluez) => {
    withSpeaker(bluez);
    Object.assign(bluez.adapter(), { Discovering: true });
  });
  await until('the scan is published', () => recorder.record?.scanning);
  assert.equal(attempts(bluez), 0);
  bluez.changeAdapter({ Discovering: false });
  await until('it is connected', isConnected(bluez));
});

test('a loudspeaker is connected when the adapter is switched on, or comes', async (t) => {
  const { bluez, recorder, clock, sendCommand } = await startBackend(t, WISH, (bluez) => {
    withSpeaker(bluez);
    Object.assign(bluez.adapter(), { Powered: false });
  });
  await isLeftAlone(bluez, clock, () => sendCommand({ do: 'power_down' }));
  await sendCommand({ do: 'power_up' });
  await until('it is connected', isConnected(bluez));
  for (const path of [pathOf(SPEAKER), ADAPTER]) bluez.remove(path);
  await until('the adapter is gone', () => !recorder.up);
  bluez.addDevice(SPEAKER, KNOWN);
  bluez.plugIn();
  await until('it is connected again', isConnected(bluez));
  assert.equal(attempts(bluez), 2);
});

test('a client that connects a device during an attempt gets the outcome of the attempt', async (t) => {
  const { bluez, sendCommand } = await startBackend(t, WISH, (bluez) => {
    withSpeaker(bluez);
    bluez.misbehaves.set('Connect', 'hang');
  });
  await isAttempted(bluez, 1);
  const answered = sendCommand({ do: 'connect', address: SPEAKER });
  bluez.changeDevice(SPEAKER, { Connected: true });
  bluez.answerHung();
  await answered;
  assert.equal(attempts(bluez), 1);
});

test('an adapter whose loudspeaker is away is switched off after its idle time', async (t) => {
  const { bluez, clock } = await startBackend(t, { ...WISH, idleTimeout: 60 }, withSpeakerAway);
  for (const times of [1, 2, 3, 4]) {
    await isAttempted(bluez, times);
    await until('the failure is known', () => clock.timers > 1);
    clock.advance(times === 4 ? 25_000 : 5_000 * 2 ** (times - 1));
  }
  await until('the adapter is off', () => bluez.adapter()['Powered'] === false);
});
