// Which known devices come back, and when: after how long, after which ends of a connection, and which never.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '../../../src/actors/bluetooth/objects.js';
import { ReconnectPolicy, type ReconnectWish } from '../../../src/actors/bluetooth/reconnect-policy.js';
import { ManualClock } from '../../manual-clock.js';
import { A2DP_SINK, A2DP_SOURCE, PHONE, pathOf, SPEAKER } from './scripted-bluez.js';

const HEADSET = '00001108-0000-1000-8000-00805f9b34fb';
const SECOND_MS = 1_000;

function device(facts: Partial<Device> = {}): Device {
  const known = { path: pathOf(SPEAKER), Address: SPEAKER, Paired: true, UUIDs: [A2DP_SINK] };
  return { battery: undefined, wasFoundByScan: false, ...known, ...facts };
}

const AWAY = device({ Connected: false });
const THERE = device({ Connected: true });
const { path } = AWAY;

function policyFor(wish: ReconnectWish, ...devices: readonly Device[]) {
  const clock = new ManualClock();
  const policy = new ReconnectPolicy(wish, clock);
  policy.begin(devices);
  /** In seconds from now; undefined if nothing is due. */
  const dueIn = (): number | undefined => {
    const next = policy.nextAttempt();
    return next && (next.dueAt - clock.monotonic()) / SECOND_MS;
  };
  return { clock, policy, dueIn };
}

const KINDS: readonly (readonly [what: string, wish: ReconnectWish, facts: Partial<Device>, is: boolean])[] =
  [
    ['a loudspeaker', true, {}, true],
    ['a headset', true, { UUIDs: [HEADSET], Icon: 'audio-headset' }, true],
    ['a loudspeaker where none is to come back', false, {}, false],
    ['a device that is not known', true, { Paired: false }, false],
    ['a phone', true, { UUIDs: [A2DP_SOURCE], Icon: 'phone' }, false],
    ['a phone that plays sound of others, too', true, { Icon: 'phone' }, false],
    ['a computer', true, { Icon: 'computer' }, false],
    ['a device whose services are not known', true, { UUIDs: [] }, false],
    ['a device of the list', [PHONE, SPEAKER], { UUIDs: [] }, true],
    ['a device that is not in the list', [PHONE], {}, false],
    ['a device of the list that is not known', [SPEAKER], { Paired: false }, false],
    ['a device that is connected', true, { Connected: true }, false],
  ];

for (const [what, wish, facts, isToReturn] of KINDS) {
  test(`at the start ${what} is ${isToReturn ? '' : 'not '}connected`, () => {
    assert.equal(policyFor(wish, device(facts)).dueIn(), isToReturn ? 0 : undefined);
  });
}

test('attempts are 5 s to 5 min apart, for as long as they fail', () => {
  const { clock, policy, dueIn } = policyFor(true, AWAY);
  const pauses = Array.from({ length: 9 }, () => {
    policy.attemptFailed(path);
    const pause = dueIn();
    clock.advance((pause ?? 0) * SECOND_MS);
    return pause;
  });
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

const ENDS: readonly (readonly [what: string, isTried: boolean, end: (policy: ReconnectPolicy) => void])[] = [
  ['lost', true, (policy) => policy.disconnected(path, 'org.bluez.Reason.Timeout')],
  [
    'lost for a reason that BlueZ does not know',
    true,
    (policy) => policy.disconnected(path, 'org.bluez.Reason.Unknown'),
  ],
  ['lost, and BlueZ gives no reason', true, () => undefined],
  ['ended here', false, (policy) => policy.disconnected(path, 'org.bluez.Reason.Local')],
  ['ended at the device', false, (policy) => policy.disconnected(path, 'org.bluez.Reason.Remote')],
  ['ended by a client', false, (policy) => policy.leaveDisconnected(path)],
];

for (const [what, isTried, end] of ENDS) {
  test(`a connection that is ${what} is ${isTried ? '' : 'not '}made again, whichever signal comes first`, () => {
    for (const isFirst of [true, false]) {
      const { policy, dueIn } = policyFor(true, THERE);
      policy.deviceChanged(path, AWAY, THERE);
      if (isFirst) end(policy);
      policy.deviceChanged(path, THERE, AWAY);
      if (!isFirst) end(policy);
      assert.equal(dueIn(), isTried ? 5 : undefined);
    }
  });
}

test('a device that somebody disconnected and connected again is due after its connection is lost', () => {
  const { policy, dueIn } = policyFor(true, THERE);
  policy.leaveDisconnected(path);
  policy.deviceChanged(path, THERE, AWAY);
  policy.deviceChanged(path, AWAY, THERE);
  policy.deviceChanged(path, THERE, AWAY);
  assert.equal(dueIn(), 5);
});

test('failures are counted from 1 after each connection, even after a short one', () => {
  const { policy } = policyFor(true, AWAY);
  assert.deepEqual([policy.attemptFailed(path), policy.attemptFailed(path)], [1, 2]);
  policy.deviceChanged(path, AWAY, THERE);
  policy.deviceChanged(path, THERE, AWAY);
  assert.deepEqual([policy.attemptFailed(path), policy.attemptFailed(path)], [1, 2]);
});

test('the pauses begin with the shortest one only after a connection that lasted', () => {
  const { clock, policy, dueIn } = policyFor(true, THERE);
  const comesAndGoes = (afterMs: number): number | undefined => {
    policy.deviceChanged(path, AWAY, THERE);
    assert.equal(dueIn(), undefined);
    clock.advance(afterMs);
    policy.deviceChanged(path, THERE, AWAY);
    return dueIn();
  };
  assert.deepEqual([comesAndGoes(60_000), comesAndGoes(1_000), comesAndGoes(1_000)], [5, 10, 20]);
  assert.equal(comesAndGoes(60_000), 5);
});

test('a device that is forgotten, or whose adapter is gone, is no longer due', () => {
  const { policy, dueIn } = policyFor(true, AWAY);
  policy.deviceChanged(path, AWAY, undefined);
  assert.equal(dueIn(), undefined);
  policy.begin([AWAY]);
  policy.end();
  assert.equal(dueIn(), undefined);
  assert.equal(policy.attemptFailed(path), 0);
});

test('the device that has been due longest is next', () => {
  const other = device({ path: pathOf(PHONE), Address: PHONE });
  const { policy } = policyFor(true, AWAY, other);
  assert.equal(policy.nextAttempt()?.path, path);
  policy.attemptFailed(path);
  assert.equal(policy.nextAttempt()?.path, other.path);
  policy.attemptSucceeded(other.path);
  assert.equal(policy.nextAttempt()?.path, path);
});
