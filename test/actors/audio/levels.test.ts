// Levels and balance: through silence and back, above 100 %, by steps.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { channelsAt, rememberProportions, volumeAfter } from '../../../src/actors/audio/levels.js';
import { levelOf, RAW_MAX, RAW_NORM, rawOf } from '../../../src/protocol/pulse/volume.js';

const FULL = RAW_NORM;
const HALF = RAW_NORM / 2;

describe('a volume is set', () => {
  const rows: readonly (readonly [string, number, number[], number[] | undefined, number[]])[] = [
    ['the loudest channel gets it', 0.5, [FULL, FULL], undefined, [HALF, HALF]],
    ['the balance stays', 0.5, [FULL, HALF], undefined, [HALF, HALF / 2]],
    ['upwards too', 1, [HALF, HALF / 2], undefined, [FULL, HALF]],
    ['to silence', 0, [FULL, HALF], undefined, [0, 0]],
    ['from silence with the remembered balance', 0.5, [0, 0], [1, 0.5], [HALF, HALF / 2]],
    ['from silence that was never anything else', 0.5, [0, 0], undefined, [HALF, HALF]],
    ['one channel', 0.25, [FULL], undefined, [FULL / 4]],
    ['a memory of another number of channels is none', 0.5, [0], [1, 0.5], [HALF]],
    ['what is heard counts more than what is remembered', 1, [HALF, HALF], [1, 0.5], [FULL, FULL]],
    ['down from above 100 %', 1, [2 * FULL, FULL], undefined, [FULL, HALF]],
    ['down from above 100 %, rounded', 1, [3 * HALF, FULL], undefined, [FULL, 43691]],
    ['to above 100 %', 2, [FULL], undefined, [2 * FULL]],
    ['to silence from silence', 0, [0, 0], [1, 0.5], [0, 0]],
    ['a memory of fewer channels is none', 0.5, [0, 0], [1], [HALF, HALF]],
    ['a silent channel stays silent', 0.5, [FULL, 0], undefined, [HALF, 0]],
    ['no higher than servers accept', 1e9, [RAW_MAX, 1], undefined, [RAW_MAX, 1]],
    ['without channels there is nothing to set', 0.5, [], undefined, []],
  ];
  for (const [what, volume, channels, remembered, expected] of rows) {
    test(what, () => assert.deepEqual(channelsAt(volume, channels, remembered), expected));
  }
});

test('every hundredth from 0 to 1 is read back as it was set', () => {
  for (let percent = 0; percent <= 100; percent += 1) {
    const volume = percent / 100;
    assert.equal(levelOf(channelsAt(volume, [1, 1], undefined)), volume);
  }
});

test('the balance survives silence and the quietest volumes', () => {
  let channels = [FULL, rawOf(0.37)];
  let memory = rememberProportions(undefined, channels);
  for (const volume of [0.01, 0.00002, 0, 0.003, 0, 1]) {
    channels = channelsAt(volume, channels, memory);
    memory = rememberProportions(memory, channels);
  }
  assert.deepEqual(channels, [FULL, rawOf(0.37)]);
});

test('a balance that is set behind our back replaces the remembered one', () => {
  const memory = rememberProportions([1, 0.5], [HALF, HALF]);
  assert.deepEqual(rememberProportions(memory, [0, 0]), [1, 1]);
});

describe('a relative change', () => {
  const rows: readonly (readonly [string, number, number, number | undefined])[] = [
    ['goes up', 0.1, 0.5, 0.6],
    ['goes down', -0.1, 0.5, 0.4],
    ['ends at 1', 0.3, 0.9, 1],
    ['ends at 0', -0.3, 0.1, 0],
    ['upwards from 1 changes nothing', 0.1, 1, undefined],
    ['upwards from above 1 changes nothing', 0.1, 1.5, undefined],
    ['downwards from above 1 ends within 0..1', -0.1, 1.5, 1],
    ['downwards from above 1 by enough goes below', -0.7, 1.5, 0.8],
    ['by 0 changes nothing', 0, 0.5, undefined],
    ['by 0 from above 1 changes nothing', 0, 1.5, undefined],
  ];
  for (const [what, delta, from, expected] of rows) {
    test(what, () => {
      const result = volumeAfter(delta, [rawOf(from), 0]);
      assert.equal(result === undefined ? undefined : levelOf([rawOf(result)]), expected);
    });
  }

  test('adds up exactly over many steps', () => {
    let channels = [0, 0];
    for (let step = 1; step <= 100; step += 1) {
      channels = channelsAt(volumeAfter(0.01, channels) ?? 1, channels, undefined);
      assert.equal(levelOf(channels), step / 100);
      assert.equal(channels[0], rawOf(step / 100));
    }
  });
});
