// Volumes: what a client sets is what it reads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as volumes from '../../../src/protocol/pulse/volume.js';

const { balanceOf, fractionOf, loudestFractionOf, channelPartsOf, rawOf } = volumes;

test('every hundredth from 0 to 1 is read exactly as it was set', () => {
  for (let percent = 0; percent <= 100; percent += 1) {
    const fraction = percent / 100;
    assert.equal(fractionOf(rawOf(fraction)), fraction);
  }
});

const RAW = { '0': 0, '1': 0x10000, '0.5': 0x8000, '1.53': 100270, '-1': 0, '1e9': 0x7fffffff };
for (const [fraction, raw] of Object.entries(RAW))
  test(`the volume ${fraction} is ${raw} as a raw volume`, () => assert.equal(rawOf(Number(fraction)), raw));

test('a single figure stands for the loudest channel, above 100 % too', () => {
  assert.equal(loudestFractionOf([0x8000, 0x10000]), 1);
  assert.equal(loudestFractionOf([98304, 0]), 1.5);
  assert.equal(loudestFractionOf([]), 0);
  assert.equal(volumes.loudestOf([]), 0);
});

const FULL = 0x10000;
const HALF = 0x8000;
const STEREO = [1, 2];
/** Positions on the left. The next number is the position opposite on the right. */
const LEFT = [5, 8, 10, 45, 48];
const BALANCE: readonly (readonly [volume: readonly number[], map: readonly number[], balance: number])[] = [
  [[FULL, FULL], STEREO, 0],
  [[FULL, HALF], STEREO, -0.5],
  [[HALF, FULL], STEREO, 0.5],
  [[0, 0], STEREO, 0],
  [[FULL], [0], 0],
  [[FULL, 5], [1, 3], 0],
  [[FULL, HALF, 1, 1, FULL, HALF], [1, 2, 3, 7, 5, 6], -0.5],
  [[FULL, 43691], STEREO, -0.33],
  ...LEFT.map((left) => [[FULL, HALF], [left, left + 1], -0.5] as const),
  [[FULL, FULL, FULL], [1, 5, 2], 0],
  [[FULL, HALF], [2], 0],
];
const CHANNEL_PARTS: readonly (readonly [balance: number, map: number[], parts: number[] | undefined])[] = [
  [0, STEREO, [1, 1]],
  [-1, STEREO, [1, 0]],
  [1, STEREO, [0, 1]],
  [0.25, STEREO, [0.75, 1]],
  [0.25, [2, 1], [1, 0.75]],
  [-0.5, [5, 6], [1, 0.5]],
  [0, [0], undefined],
  [0, [1, 3], undefined],
  [0, [1, 5], undefined],
  [0, [1, 2, 3], undefined],
];
for (const [balance, map, parts] of CHANNEL_PARTS) {
  const result = parts === undefined ? 'no parts' : `the parts [${parts}] of the loudest channel`;
  test(`the balance ${balance} at positions [${map}] makes ${result}`, () => {
    assert.deepEqual(channelPartsOf(balance, map), parts);
    if (parts !== undefined) assert.equal(balanceOf(parts, map), balance);
  });
}

for (const [volume, map, balance] of BALANCE) {
  test(`the raw volumes [${volume}] at positions [${map}] have the balance ${balance}`, () =>
    assert.equal(balanceOf(volume, map), balance));
}
