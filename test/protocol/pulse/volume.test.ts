// Volumes: what a client sets is what it reads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  balanceOf,
  channelPartsOf,
  fractionOf,
  loudestFractionOf,
  loudestOf,
  rawOf,
} from '../../../src/protocol/pulse/volume.js';

test('every hundredth from 0 to 1 is read exactly as it was set', () => {
  for (let percent = 0; percent <= 100; percent += 1) {
    const fraction = percent / 100;
    assert.equal(fractionOf(rawOf(fraction)), fraction);
  }
});

/** The raw volume of each fraction. A raw volume is from 0 to 0x7fffffff (PA_VOLUME_MAX). */
const RAW = { '0': 0, '1': 0x10000, '0.5': 0x8000, '1.53': 100270, '-1': 0, '1e9': 0x7fffffff };
for (const [fraction, raw] of Object.entries(RAW))
  test(`the volume ${fraction} is ${raw} as a raw volume`, () => assert.equal(rawOf(Number(fraction)), raw));

test('the volume for all channels is that of the loudest channel, also above 100 %, and 0 without channels', () => {
  assert.equal(loudestFractionOf([0x8000, 0x10000]), 1);
  assert.equal(loudestFractionOf([98304, 0]), 1.5);
  assert.equal(loudestFractionOf([]), 0);
  assert.equal(loudestOf([]), 0);
});

const FULL = 0x10000;
const TWO_THIRDS = 43691;
const HALF = 0x8000;

/** Positions of channels (channelmap.h of PulseAudio). */
const MONO = 0;
const FRONT_LEFT = 1;
const FRONT_RIGHT = 2;
const FRONT_CENTER = 3;
const REAR_LEFT = 5;
const REAR_RIGHT = 6;
const SUBWOOFER = 7;
const STEREO = [FRONT_LEFT, FRONT_RIGHT];
/** Positions on the left, except FRONT_LEFT. Each position plus 1 is the opposite position on the right. */
const LEFT_POSITIONS = [5, 8, 10, 45, 48];

/**
 * A balance compares the averages of both sides, and has two decimals. It is 0 if a side has no channel.
 */
const BALANCES: readonly (readonly [volume: readonly number[], map: readonly number[], balance: number])[] = [
  [[FULL, FULL], STEREO, 0],
  [[FULL, HALF], STEREO, -0.5],
  [[HALF, FULL], STEREO, 0.5],
  [[0, 0], STEREO, 0],
  [[FULL], [MONO], 0],
  [[FULL, 5], [FRONT_LEFT, FRONT_CENTER], 0],
  [
    [FULL, HALF, 1, 1, FULL, HALF],
    [FRONT_LEFT, FRONT_RIGHT, FRONT_CENTER, SUBWOOFER, REAR_LEFT, REAR_RIGHT],
    -0.5,
  ],
  [[FULL, TWO_THIRDS], STEREO, -0.33],
  ...LEFT_POSITIONS.map((left) => [[FULL, HALF], [left, left + 1], -0.5] as const),
  [[FULL, FULL, FULL], [FRONT_LEFT, REAR_LEFT, FRONT_RIGHT], 0],
  // The second volume has no position, so no channel is on the left.
  [[FULL, HALF], [FRONT_RIGHT], 0],
];
for (const [volume, map, balance] of BALANCES) {
  test(`the raw volumes [${volume}] at positions [${map}] have the balance ${balance}`, () =>
    assert.equal(balanceOf(volume, map), balance));
}

/**
 * A channel's part is its volume divided by that of the loudest channel. Only stereo channels have parts: one
 * channel on the left, and one on the right.
 */
const CHANNEL_PARTS: readonly (readonly [balance: number, map: number[], parts: number[] | undefined])[] = [
  [0, STEREO, [1, 1]],
  [-1, STEREO, [1, 0]],
  [1, STEREO, [0, 1]],
  [0.25, STEREO, [0.75, 1]],
  [0.25, [FRONT_RIGHT, FRONT_LEFT], [1, 0.75]],
  [-0.5, [REAR_LEFT, REAR_RIGHT], [1, 0.5]],
  [0, [MONO], undefined],
  [0, [FRONT_LEFT, FRONT_CENTER], undefined],
  [0, [FRONT_LEFT, REAR_LEFT], undefined],
  [0, [FRONT_LEFT, FRONT_RIGHT, FRONT_CENTER], undefined],
];
for (const [balance, map, parts] of CHANNEL_PARTS) {
  const result = parts === undefined ? 'no parts' : `the parts [${parts}], where 1 is the loudest channel`;
  test(`the balance ${balance} at positions [${map}] makes ${result}`, () => {
    assert.deepEqual(channelPartsOf(balance, map), parts);
    if (parts !== undefined) assert.equal(balanceOf(parts, map), balance);
  });
}
