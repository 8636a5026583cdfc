// Tests a fade when somebody else sets the volume while a step is on its way to the sound server, which no
// test on a real server can time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fadeOfDefault } from '../../../src/actors/audio/fade.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { Turns } from '../../../src/actors/turns.js';
import { ManualClock } from '../../manual-clock.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const RAW_FULL = 0x1_0000;

test('a volume that somebody sets during a step is set again, and ends the fade', async () => {
  const state = new SoundState();
  const clock = new ManualClock();
  /** Puts the volume into the state, as a reading does. */
  const readVolume = (volume: number): void =>
    state.putSink(sinkInfo(0, 'living', { volume: [volume * RAW_FULL, volume * RAW_FULL] }));
  state.server = serverInfo({ defaultSink: 'living' });
  readVolume(0.5);
  state.putSinkInput(sinkInputInfo(1, 'music', { sink: 0, corked: false }));

  const setVolumes: number[] = [];
  const fade = fadeOfDefault({
    state,
    clock,
    turns: new Turns(),
    run: async (command) => {
      assert.ok(command.do === 'fade');
      setVolumes.push(command.volume);
      // Somebody sets 0.8 during the second step. The volume 0.8 is read before the volume of the step.
      if (setVolumes.length === 2) readVolume(0.8);
      readVolume(command.volume);
      return { ok: true, value: {} };
    },
  });
  assert.ok(fade);

  const faded = fade.fadeOut(1000);
  for (let step = 0; step < 8; step += 1) {
    clock.advance(250);
    await setImmediate();
  }
  await faded;

  assert.deepEqual(setVolumes, [0.375, 0.25, 0.8]);
  assert.equal(fade.isOver, true);
});
