// Tests a fade during which somebody else sets the volume while a step is on its way to the sound server. A
// test on a real server cannot time this.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fadeOfDefault } from '../../../src/actors/audio/fade.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { Turns } from '../../../src/actors/turns.js';
import { ManualClock } from '../../manual-clock.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const RAW_FULL = 0x1_0000;
/** The time between two steps of a fade (fade.ts). */
const STEP_MS = 250;
const FADE_STEPS = 4;
const VOLUME_BEFORE = 0.5;
const FOREIGN_VOLUME = 0.8;

test('if somebody sets the volume during a step, the fade sets this volume again, and is over', async () => {
  const state = new SoundState();
  const clock = new ManualClock();
  /** Puts the volume into the state, as a reading does. */
  const readVolume = (volume: number): void =>
    state.putSink(sinkInfo(0, 'living', { volume: [volume * RAW_FULL, volume * RAW_FULL] }));
  state.server = serverInfo({ defaultSink: 'living' });
  readVolume(VOLUME_BEFORE);
  state.putSinkInput(sinkInputInfo(1, 'music', { sink: 0, corked: false }));

  const setVolumes: number[] = [];
  const fade = fadeOfDefault({
    state,
    clock,
    turns: new Turns(),
    run: async (command) => {
      assert.ok(command.do === 'fade');
      setVolumes.push(command.volume);
      // Somebody sets a volume during the second step. This volume is read before that of the step.
      if (setVolumes.length === 2) readVolume(FOREIGN_VOLUME);
      readVolume(command.volume);
      return { ok: true, value: {} };
    },
  });
  assert.ok(fade);

  const faded = fade.fadeOut(FADE_STEPS * STEP_MS);
  // A fade that does not stop would set more volumes in this time.
  for (let step = 0; step < 2 * FADE_STEPS; step += 1) {
    clock.advance(STEP_MS);
    await setImmediate();
  }
  await faded;

  assert.deepEqual(setVolumes, [0.75 * VOLUME_BEFORE, 0.5 * VOLUME_BEFORE, FOREIGN_VOLUME]);
  assert.equal(fade.isOver, true);
});
