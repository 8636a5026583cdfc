// Tests which known devices are connected again, after which ends of a connection, and after how long.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BluetoothDevice } from '../../../src/actors/bluetooth/objects.js';
import { ReconnectPolicy, type ReconnectWish } from '../../../src/actors/bluetooth/reconnect-policy.js';
import { ManualClock } from '../../manual-clock.js';
import { A2DP_SINK, A2DP_SOURCE, PHONE, pathOf, SPEAKER } from './scripted-bluez.js';

const HEADSET = '00001108-0000-1000-8000-00805f9b34fb';
const SECOND_MS = 1_000;

function device(facts: Partial<BluetoothDevice> = {}): BluetoothDevice {
  const knownSpeaker = { path: pathOf(SPEAKER), Address: SPEAKER, Paired: true, UUIDs: [A2DP_SINK] };
  return { battery: undefined, wasFoundByScan: false, ...knownSpeaker, ...facts };
}

const DISCONNECTED = device({ Connected: false });
const CONNECTED = device({ Connected: true });
const SPEAKER_PATH = DISCONNECTED.path;

function policyFor(wish: ReconnectWish, ...devices: readonly BluetoothDevice[]) {
  const clock = new ManualClock();
  const policy = new ReconnectPolicy(wish, clock);
  policy.begin(devices);
  /** Undefined if nothing is due. */
  const secondsUntilDue = (): number | undefined => {
    const next = policy.nextAttempt();
    return next && (next.dueAt - clock.monotonic()) / SECOND_MS;
  };
  return { clock, policy, secondsUntilDue };
}

type StartRow = readonly [
  what: string,
  wish: ReconnectWish,
  facts: Partial<BluetoothDevice>,
  isConnected: boolean,
];
const START_ROWS: readonly StartRow[] = [
  ['a loudspeaker', true, {}, true],
  ['a headset', true, { UUIDs: [HEADSET], Icon: 'audio-headset' }, true],
  ['a loudspeaker, if no device is to be connected again,', false, {}, false],
  ['a device that is not known', true, { Paired: false }, false],
  ['a phone', true, { UUIDs: [A2DP_SOURCE], Icon: 'phone' }, false],
  ['a phone that can also play the sound of other devices', true, { Icon: 'phone' }, false],
  ['a computer', true, { Icon: 'computer' }, false],
  ['a device whose services are not known', true, { UUIDs: [] }, false],
  ['a device of the list', [PHONE, SPEAKER], { UUIDs: [] }, true],
  ['a device that is not in the list', [PHONE], {}, false],
  ['a device of the list that is not known', [SPEAKER], { Paired: false }, false],
  ['a device that is connected', true, { Connected: true }, false],
];

for (const [what, wish, facts, isConnected] of START_ROWS) {
  test(`at the start ${what} is ${isConnected ? '' : 'not '}connected`, () => {
    assert.equal(policyFor(wish, device(facts)).secondsUntilDue(), isConnected ? 0 : undefined);
  });
}

test('attempts are 5 s to 5 min apart, for as long as they fail', () => {
  const { clock, policy, secondsUntilDue } = policyFor(true, DISCONNECTED);
  const pauses = Array.from({ length: 9 }, () => {
    policy.attemptFailed(SPEAKER_PATH);
    const pause = secondsUntilDue();
    clock.advance((pause ?? 0) * SECOND_MS);
    return pause;
  });
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

const ENDS: readonly (readonly [
  what: string,
  isMadeAgain: boolean,
  end: (policy: ReconnectPolicy) => void,
])[] = [
  ['lost', true, (policy) => policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Timeout')],
  [
    'lost for a reason that BlueZ does not know',
    true,
    (policy) => policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Unknown'),
  ],
  ['lost, and BlueZ gives no reason', true, () => undefined],
  ['ended here', false, (policy) => policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local')],
  ['ended at the device', false, (policy) => policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Remote')],
  [
    'given up by the daemon',
    true,
    (policy) => {
      policy.attemptAbandoned(SPEAKER_PATH);
      policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
    },
  ],
  ['ended by a client', false, (policy) => policy.leaveDisconnected(SPEAKER_PATH)],
];

for (const [what, isMadeAgain, end] of ENDS) {
  test(`a connection that is ${what} is ${isMadeAgain ? '' : 'not '}made again, whether the reason for its end or the change of the device comes first`, () => {
    for (const isEndFirst of [true, false]) {
      const { policy, secondsUntilDue } = policyFor(true, CONNECTED);
      policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
      if (isEndFirst) end(policy);
      policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
      if (!isEndFirst) end(policy);
      assert.equal(secondsUntilDue(), isMadeAgain ? 5 : undefined);
    }
  });
}

test('a device that somebody disconnected and connected again is due after its connection is lost', () => {
  const { policy, secondsUntilDue } = policyFor(true, CONNECTED);
  policy.leaveDisconnected(SPEAKER_PATH);
  policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
  policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
  policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
  assert.equal(secondsUntilDue(), 5);
});

test('a device whose attempt was given up is due, even if its link was already up at the beginning', () => {
  const { policy, secondsUntilDue } = policyFor(true, CONNECTED);
  policy.attemptAbandoned(SPEAKER_PATH);
  policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
  policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
  assert.equal(secondsUntilDue(), 5);
});

test('an attempt that was given up does not count as the reason for the end of a later connection', () => {
  const { policy, secondsUntilDue } = policyFor(true, DISCONNECTED);
  policy.attemptAbandoned(SPEAKER_PATH);
  policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
  policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
  policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
  assert.equal(secondsUntilDue(), undefined);
});

test('failures are counted from 1 after each connection, even after a short one', () => {
  const { policy } = policyFor(true, DISCONNECTED);
  assert.deepEqual([policy.attemptFailed(SPEAKER_PATH), policy.attemptFailed(SPEAKER_PATH)], [1, 2]);
  policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
  policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
  assert.deepEqual([policy.attemptFailed(SPEAKER_PATH), policy.attemptFailed(SPEAKER_PATH)], [1, 2]);
});

test('the pauses begin with the shortest one only after a connection that lasted', () => {
  const { clock, policy, secondsUntilDue } = policyFor(true, CONNECTED);
  const pauseAfterConnectionOf = (durationMs: number): number | undefined => {
    policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
    assert.equal(secondsUntilDue(), undefined);
    clock.advance(durationMs);
    policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);
    return secondsUntilDue();
  };
  const steadyMs = 60_000;
  const shortMs = 1_000;
  const pauses = [steadyMs, shortMs, shortMs, steadyMs].map(pauseAfterConnectionOf);
  assert.deepEqual(pauses, [5, 10, 20, 5]);
});

test('a device that is forgotten, or whose adapter is gone, is no longer due', () => {
  const { policy, secondsUntilDue } = policyFor(true, DISCONNECTED);
  policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, undefined);
  assert.equal(secondsUntilDue(), undefined);
  policy.begin([DISCONNECTED]);
  policy.end();
  assert.equal(secondsUntilDue(), undefined);
  assert.equal(policy.attemptFailed(SPEAKER_PATH), 0, 'a failed attempt does not make the device due');
});

test('the device that has been due longest is next', () => {
  const phone = device({ path: pathOf(PHONE), Address: PHONE });
  const { policy } = policyFor(true, DISCONNECTED, phone);
  assert.equal(policy.nextAttempt()?.path, SPEAKER_PATH);
  policy.attemptFailed(SPEAKER_PATH);
  assert.equal(policy.nextAttempt()?.path, phone.path);
  policy.attemptSucceeded(phone.path);
  assert.equal(policy.nextAttempt()?.path, SPEAKER_PATH);
});
