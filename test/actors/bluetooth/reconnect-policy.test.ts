// Tests which paired devices are to be connected again, after which ends of a connection, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BluetoothDevice } from '../../../src/actors/bluetooth/objects.js';
import { ReconnectPolicy, type ReconnectWish } from '../../../src/actors/bluetooth/reconnect-policy.js';
import { ManualClock } from '../../manual-clock.js';
import { A2DP_SINK, A2DP_SOURCE, PHONE, pathOf, SPEAKER } from './scripted-bluez.js';

const HEADSET = '00001108-0000-1000-8000-00805f9b34fb';
const HEADSET_HS = '00001131-0000-1000-8000-00805f9b34fb';
const SECOND_MS = 1_000;
/** A connection that lasts this long is steady (`STEADY_MS` of reconnect-policy.ts). */
const STEADY_MS = 60_000;

/** This wish includes headphones and headsets. */
const ALL_LOUDSPEAKERS: ReconnectWish = true;
const NO_DEVICES: ReconnectWish = false;

function device(facts: Partial<BluetoothDevice> = {}): BluetoothDevice {
  const pairedSpeaker = { path: pathOf(SPEAKER), Address: SPEAKER, Paired: true, UUIDs: [A2DP_SINK] };
  return { battery: undefined, wasFoundByScan: false, ...pairedSpeaker, ...facts };
}

const DISCONNECTED = device({ Connected: false });
const CONNECTED = device({ Connected: true });
const SPEAKER_PATH = DISCONNECTED.path;

type PolicyStep = (policy: ReconnectPolicy) => void;

const connectionBegins: PolicyStep = (policy) => policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, CONNECTED);
const connectionEnds: PolicyStep = (policy) => policy.deviceChanged(SPEAKER_PATH, CONNECTED, DISCONNECTED);

function policyFor(wish: ReconnectWish, ...devices: readonly BluetoothDevice[]) {
  const clock = new ManualClock();
  const policy = new ReconnectPolicy(wish, clock);
  policy.begin(devices);
  /** Undefined if no attempt is planned. */
  const secondsUntilDue = (): number | undefined => {
    const next = policy.nextAttempt();
    return next && (next.dueAt - clock.monotonic()) / SECOND_MS;
  };
  return { clock, policy, secondsUntilDue };
}

/** `facts` replace those of a paired loudspeaker. */
type StartRow = readonly [what: string, wish: ReconnectWish, facts: Partial<BluetoothDevice>];

const DUE_AT_START: readonly StartRow[] = [
  ['a loudspeaker', ALL_LOUDSPEAKERS, {}],
  ['a headset', ALL_LOUDSPEAKERS, { UUIDs: [HEADSET], Icon: 'audio-headset' }],
  ['a headset with the service Headset-HS', ALL_LOUDSPEAKERS, { UUIDs: [HEADSET_HS], Icon: 'audio-headset' }],
  ['a device of the list', [PHONE, SPEAKER], { UUIDs: [] }],
];
for (const [what, wish, facts] of DUE_AT_START) {
  test(`at the start an attempt to connect is due for ${what}`, () =>
    assert.equal(policyFor(wish, device(facts)).secondsUntilDue(), 0));
}

const NOT_DUE_AT_START: readonly StartRow[] = [
  ['a loudspeaker if no device is to be connected again', NO_DEVICES, {}],
  ['a device that is not paired', ALL_LOUDSPEAKERS, { Paired: false }],
  ['a phone', ALL_LOUDSPEAKERS, { UUIDs: [A2DP_SOURCE], Icon: 'phone' }],
  ['a phone that can also play the sound of other devices', ALL_LOUDSPEAKERS, { Icon: 'phone' }],
  ['a computer', ALL_LOUDSPEAKERS, { Icon: 'computer' }],
  ['a device whose services are not known', ALL_LOUDSPEAKERS, { UUIDs: [] }],
  ['a device that is not in the list', [PHONE], {}],
  ['a device that is in the list, but not paired', [SPEAKER], { Paired: false }],
  ['a device that is connected', ALL_LOUDSPEAKERS, { Connected: true }],
];
for (const [what, wish, facts] of NOT_DUE_AT_START) {
  test(`at the start no attempt to connect is due for ${what}`, () =>
    assert.equal(policyFor(wish, device(facts)).secondsUntilDue(), undefined));
}

test('attempts are 5 s to 5 min apart, for as long as they fail', () => {
  const { clock, policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
  const pauses = Array.from({ length: 9 }, () => {
    policy.attemptFailed(SPEAKER_PATH);
    const pause = secondsUntilDue();
    clock.advance((pause ?? 0) * SECOND_MS);
    return pause;
  });
  assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
});

const bluezReports =
  (reason: string): PolicyStep =>
  (policy) =>
    policy.disconnected(SPEAKER_PATH, `org.bluez.Reason.${reason}`);

interface EndRow {
  readonly what: string;
  readonly isMadeAgain: boolean;
  readonly reportEnd: PolicyStep;
}
const END_ROWS: readonly EndRow[] = [
  { what: 'lost', isMadeAgain: true, reportEnd: bluezReports('Timeout') },
  { what: 'lost for an unknown reason', isMadeAgain: true, reportEnd: bluezReports('Unknown') },
  { what: 'lost without a reason from BlueZ', isMadeAgain: true, reportEnd: () => undefined },
  { what: 'ended on this node', isMadeAgain: false, reportEnd: bluezReports('Local') },
  { what: 'ended at the device', isMadeAgain: false, reportEnd: bluezReports('Remote') },
  {
    what: 'ended by the daemon, which gives up its attempt,',
    isMadeAgain: true,
    // The daemon calls `Disconnect` to give up an attempt. BlueZ then reports the reason Local.
    reportEnd: (policy) => {
      policy.attemptProgressed(SPEAKER_PATH, 'begun');
      policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
      policy.attemptProgressed(SPEAKER_PATH, 'failed');
    },
  },
  {
    what: 'ended by a client',
    isMadeAgain: false,
    reportEnd: (policy) => policy.leaveDisconnected(SPEAKER_PATH),
  },
];

for (const { what, isMadeAgain, reportEnd } of END_ROWS) {
  test(`a connection that is ${what} is ${isMadeAgain ? '' : 'not '}made again, whether its end is reported before or after the device's property Connected changes`, () => {
    for (const isReportFirst of [true, false]) {
      const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, CONNECTED);
      connectionBegins(policy);
      if (isReportFirst) reportEnd(policy);
      connectionEnds(policy);
      if (!isReportFirst) reportEnd(policy);
      assert.equal(secondsUntilDue(), isMadeAgain ? 5 : undefined);
    }
  });
}

test('a lost connection is made again even if somebody disconnected the device before this connection began', () => {
  const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, CONNECTED);
  policy.leaveDisconnected(SPEAKER_PATH);
  connectionEnds(policy);
  connectionBegins(policy);
  connectionEnds(policy);
  assert.equal(secondsUntilDue(), 5);
});

test('a connection is made again after the daemon gives up its attempt, even if the connection is older than the policy', () => {
  const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, CONNECTED);
  policy.attemptProgressed(SPEAKER_PATH, 'begun');
  // The attempt has not ended yet, so the reason Local does not mean that somebody disconnected the device
  // on purpose.
  policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
  connectionEnds(policy);
  assert.equal(secondsUntilDue(), 5);
});

test('a connection that somebody ends on this node is not made again, even if the daemon gave up an attempt before the connection began', () => {
  const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
  policy.attemptProgressed(SPEAKER_PATH, 'begun');
  // An attempt that the daemon gives up has failed, but `attemptFailed` is not called for it.
  policy.attemptProgressed(SPEAKER_PATH, 'failed');
  connectionBegins(policy);
  policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Local');
  connectionEnds(policy);
  assert.equal(secondsUntilDue(), undefined);
});

/** A failed attempt of the daemon causes both calls, unless the daemon gave it up. */
const attemptFails: PolicyStep = (policy) => {
  policy.attemptProgressed(SPEAKER_PATH, 'failed');
  policy.attemptFailed(SPEAKER_PATH);
};
const reportLocalEnd = bluezReports('Local');

const ENDS_OF_FAILED_ATTEMPTS: readonly { readonly when: string; readonly steps: readonly PolicyStep[] }[] = [
  { when: 'before the attempt fails', steps: [reportLocalEnd, connectionEnds, attemptFails] },
  {
    when: 'before the attempt fails, but reports the reason after the failure',
    steps: [connectionEnds, attemptFails, reportLocalEnd],
  },
  { when: 'after the attempt has failed', steps: [attemptFails, connectionEnds, reportLocalEnd] },
];

for (const { when, steps } of ENDS_OF_FAILED_ATTEMPTS) {
  test(`an attempt is made again if BlueZ ends the connection ${when}, even if the reason is Local`, () => {
    const { clock, policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
    const pauses = [5, 10, 20];
    for (const pause of pauses) {
      policy.attemptProgressed(SPEAKER_PATH, 'begun');
      connectionBegins(policy);
      for (const step of steps) step(policy);
      assert.equal(secondsUntilDue(), pause);
      clock.advance(pause * SECOND_MS);
    }
    const failures = policy.attemptFailed(SPEAKER_PATH);
    assert.equal(
      failures,
      pauses.length + 1,
      'the connection of a failed attempt does not set the number of failures to 0',
    );
  });
}

test('a connection is not made again if somebody ends it after the attempt has succeeded', () => {
  const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
  policy.attemptProgressed(SPEAKER_PATH, 'begun');
  connectionBegins(policy);
  policy.attemptProgressed(SPEAKER_PATH, 'succeeded');
  policy.disconnected(SPEAKER_PATH, 'org.bluez.Reason.Remote');
  connectionEnds(policy);
  assert.equal(secondsUntilDue(), undefined);
});

const soundServerGoes: PolicyStep = (policy) => policy.soundServed(false, [CONNECTED]);
const soundServerComes: PolicyStep = (policy) => policy.soundServed(true, [CONNECTED]);

interface SoundRow {
  /** Stands before the words `a restart of the sound server` in the title. */
  readonly what: string;
  readonly isMadeAgain: boolean;
  readonly steps: readonly PolicyStep[];
  /** The time from the last step to the end of the connection. */
  readonly waitMs: number;
}
const SOUND_ROWS: readonly SoundRow[] = [
  {
    what: 'that ends in the first minute of',
    isMadeAgain: true,
    steps: [connectionBegins, soundServerGoes],
    waitMs: STEADY_MS - 1,
  },
  // After this minute an end counts as intended, because some adapters never have a sound server.
  {
    what: 'that ends after the first minute of',
    isMadeAgain: false,
    steps: [connectionBegins, soundServerGoes],
    waitMs: STEADY_MS,
  },
  {
    what: 'that ends soon after',
    isMadeAgain: true,
    steps: [connectionBegins, soundServerGoes, soundServerComes],
    waitMs: STEADY_MS - 1,
  },
  {
    what: 'that ends long after',
    isMadeAgain: false,
    steps: [connectionBegins, soundServerGoes, soundServerComes],
    waitMs: STEADY_MS,
  },
  {
    what: 'that began during',
    isMadeAgain: true,
    steps: [soundServerGoes, connectionBegins, soundServerComes],
    waitMs: 0,
  },
  {
    what: 'that began after',
    isMadeAgain: false,
    steps: [connectionBegins, soundServerGoes, soundServerComes, connectionEnds, connectionBegins],
    waitMs: 0,
  },
];
for (const { what, isMadeAgain, steps, waitMs } of SOUND_ROWS) {
  test(`a connection ${what} a restart of the sound server is ${isMadeAgain ? 'made again even' : 'not made again'} if BlueZ's reason is Local or Remote`, () => {
    for (const reason of ['Local', 'Remote']) {
      const { clock, policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
      for (const step of steps) step(policy);
      clock.advance(waitMs);
      bluezReports(reason)(policy);
      connectionEnds(policy);
      assert.equal(secondsUntilDue() !== undefined, isMadeAgain);
    }
  });
}

test('failures are counted from 1 after each connection, even after a short one', () => {
  const { policy } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
  assert.deepEqual([policy.attemptFailed(SPEAKER_PATH), policy.attemptFailed(SPEAKER_PATH)], [1, 2]);
  connectionBegins(policy);
  connectionEnds(policy);
  assert.deepEqual([policy.attemptFailed(SPEAKER_PATH), policy.attemptFailed(SPEAKER_PATH)], [1, 2]);
});

test('the pauses begin with the shortest one only after a connection that lasted a minute', () => {
  const { clock, policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, CONNECTED);
  const pauseAfterConnectionOf = (durationMs: number): number | undefined => {
    connectionBegins(policy);
    assert.equal(secondsUntilDue(), undefined);
    clock.advance(durationMs);
    connectionEnds(policy);
    return secondsUntilDue();
  };
  const shortMs = 1_000;
  const pauses = [STEADY_MS, shortMs, shortMs, STEADY_MS].map(pauseAfterConnectionOf);
  assert.deepEqual(pauses, [5, 10, 20, 5]);
});

test('a device that is forgotten, or whose adapter is gone, is no longer due', () => {
  const { policy, secondsUntilDue } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED);
  policy.deviceChanged(SPEAKER_PATH, DISCONNECTED, undefined);
  assert.equal(secondsUntilDue(), undefined);
  policy.begin([DISCONNECTED]);
  policy.end();
  assert.equal(secondsUntilDue(), undefined);
  const failures = policy.attemptFailed(SPEAKER_PATH);
  assert.equal(failures, 0, 'the failed attempt of a device that is not due does not count');
});

test('the next attempt is for the device that is due first', () => {
  const otherSpeaker = device({ path: pathOf(PHONE), Address: PHONE });
  const { policy } = policyFor(ALL_LOUDSPEAKERS, DISCONNECTED, otherSpeaker);
  assert.equal(policy.nextAttempt()?.path, SPEAKER_PATH);
  policy.attemptFailed(SPEAKER_PATH);
  assert.equal(policy.nextAttempt()?.path, otherSpeaker.path);
  policy.attemptProgressed(otherSpeaker.path, 'succeeded');
  assert.equal(policy.nextAttempt()?.path, SPEAKER_PATH);
});
