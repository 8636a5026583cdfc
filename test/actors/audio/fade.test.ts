// Tests fades where a test on a real server could not time the changes, or would take long: somebody else
// sets the volume during a step, the output exceeds its volume limit, the output is missing for a while or
// comes back asleep.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { planCommand } from '../../../src/actors/audio/commands.js';
import { SUSPENDED } from '../../../src/actors/audio/device-states.js';
import { fadeOfDefault } from '../../../src/actors/audio/fade.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import { NO_WISHES, type WishSettings } from '../../../src/actors/audio/wishes.js';
import { Turns } from '../../../src/host/turns.js';
import { fractionOf } from '../../../src/protocol/pulse/volume.js';
import { ManualClock } from '../../manual-clock.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const RAW_FULL = 0x1_0000;
/** The time between two steps of a fade (fade.ts). */
const STEP_MS = 250;
const FADE_STEPS = 4;
const VOLUME_BEFORE = 0.4;
const FOREIGN_VOLUME = 0.8;

/**
 * A fade of the output `living`, to which a stream plays. The sound server carries out each step at once.
 * `planCommand` limits the volume of each step, as in the daemon. `onStep` is called with the number of each
 * step, from 1, before the volume of the step is read.
 */
function startFade(
  volumeBefore: number,
  wishes: WishSettings = NO_WISHES,
  onStep: (step: number) => void = () => undefined,
) {
  const state = new SoundState(wishes);
  const clock = new ManualClock();
  /** Puts the output with these raw volumes into the state, as a reading does. */
  const putReading = (...rawVolumes: readonly number[]): void =>
    state.putSink(sinkInfo(0, 'living', { volume: [...rawVolumes] }));
  state.server = serverInfo({ defaultSink: 'living' });
  putReading(volumeBefore * RAW_FULL, volumeBefore * RAW_FULL);
  state.putSinkInput(sinkInputInfo(1, 'music', { sink: 0, corked: false }));

  const stepVolumes: number[] = [];
  const fade = fadeOfDefault({
    state,
    clock,
    turns: new Turns(),
    run: async (command) => {
      const plan = planCommand(state, command);
      assert.ok(plan.kind === 'set' && plan.setting.command === 'SET_SINK_VOLUME');
      const { volume } = plan.setting.args;
      stepVolumes.push(fractionOf(Math.max(...volume)));
      onStep(stepVolumes.length);
      putReading(...volume);
      return { ok: true, value: {} };
    },
  });
  assert.ok(fade);
  /** Lets the time pass in steps of `STEP_MS`, because no pause of a fade is shorter. */
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      clock.advance(STEP_MS);
      await setImmediate();
    }
  };
  /** Fades the output out, and then removes the output and its stream from the state. */
  const fadeUntilGone = async (): Promise<void> => {
    const faded = fade.fadeOut(STEP_MS);
    await pass(STEP_MS);
    await faded;
    void fade.putBackWhenSilent();
    state.remove('sink-input', 1);
    state.remove('sink', 0);
  };
  return { fade, state, stepVolumes, putReading, pass, fadeUntilGone };
}

test('an output far above its volume limit fades from the limit, and gets the limit afterwards', async () => {
  const limit = 0.4;
  const { fade, state, stepVolumes, pass } = startFade(0.9, { outputs: {}, volumeLimit: limit });

  const faded = fade.fadeOut(FADE_STEPS * STEP_MS);
  await pass(FADE_STEPS * STEP_MS);
  await faded;
  assert.deepEqual(stepVolumes, [0.3, 0.2, 0.1, 0]);
  assert.equal(fade.isOver, false);

  void fade.putBackWhenSilent();
  state.remove('sink-input', 1);
  await pass(1_000);
  assert.equal(stepVolumes.at(-1), limit);
  assert.equal(fade.isOver, true);
});

test('an output that is missing for minutes after its fade gets its earlier volume within a second of its return', async () => {
  const { fade, stepVolumes, putReading, pass, fadeUntilGone } = startFade(VOLUME_BEFORE);
  await fadeUntilGone();
  await pass(120_000);
  assert.deepEqual(stepVolumes, [0]);

  putReading(0, 0);
  await pass(1_000);
  assert.deepEqual(stepVolumes, [0, VOLUME_BEFORE]);
  assert.equal(fade.isOver, true);
});

/**
 * Fades an output of PipeWire. The output then goes, and comes back asleep. The step that puts the volume
 * back wakes the output, whose volume is then `wakeVolume`; 1 = 100 %.
 */
async function fadeAndReturnAsleep(wakeVolume: number) {
  // PipeWire 1.4 reports 100 % for a sink that has not been awake (wake.ts).
  const putReadingAsleep = (): void =>
    state.putSink(sinkInfo(0, 'living', { volume: [RAW_FULL, RAW_FULL], state: SUSPENDED }));
  /** The first step is the fade. The second one puts the volume back. */
  const PUT_BACK_STEP = 2;
  /** Runs before the step's own volume is read. `state` and `putReading` are those of `fading` below. */
  const wake = (step: number): void => {
    if (step !== PUT_BACK_STEP) return;
    // The output is read once more before it is awake.
    putReadingAsleep();
    putReading(wakeVolume * RAW_FULL, wakeVolume * RAW_FULL);
  };
  const fading = startFade(VOLUME_BEFORE, NO_WISHES, wake);
  const { fade, state, stepVolumes, putReading, pass } = fading;
  state.kind = 'pipewire';
  await fading.fadeUntilGone();
  await pass(2_000);
  putReadingAsleep();
  // The fade finds the output within a second of its return.
  await pass(3_000);
  return { fade, stepVolumes };
}

test('an output that comes back asleep gets its earlier volume, although PipeWire reports 100 % meanwhile', async () => {
  const { fade, stepVolumes } = await fadeAndReturnAsleep(0);
  assert.deepEqual(stepVolumes, [0, VOLUME_BEFORE]);
  assert.equal(fade.isOver, true);
});

test('if somebody has set the volume of an output that comes back asleep, the output keeps this volume', async () => {
  const { fade, stepVolumes } = await fadeAndReturnAsleep(FOREIGN_VOLUME);
  // A sleeping output hides the foreign volume. Only the step that wakes the output reveals this volume, but
  // the step also replaces this volume. So the fade sets the foreign volume again.
  assert.deepEqual(stepVolumes, [0, VOLUME_BEFORE, FOREIGN_VOLUME]);
  assert.equal(fade.isOver, true);
});

test('if somebody sets the volume during a step, the fade sets this volume again, and is over', async () => {
  const { fade, stepVolumes, putReading, pass } = startFade(VOLUME_BEFORE, NO_WISHES, (step) => {
    // Somebody sets a volume during the second step. This volume is read before that of the step.
    if (step === 2) putReading(FOREIGN_VOLUME * RAW_FULL, FOREIGN_VOLUME * RAW_FULL);
  });

  const faded = fade.fadeOut(FADE_STEPS * STEP_MS);
  // A fade that does not stop would set more volumes in this time.
  await pass(2 * FADE_STEPS * STEP_MS);
  await faded;

  assert.deepEqual(stepVolumes, [0.3, 0.2, FOREIGN_VOLUME]);
  assert.equal(fade.isOver, true);
});
