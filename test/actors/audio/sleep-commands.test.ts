// Tests the sleep without a sound server, because a real server cannot be made to hang, refuse or lose an
// output at the right moment. The tests cover commands during the fade, restarts, a changed date, and players
// that cannot be paused. sleep.test.ts tests the sleep on real servers.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { CONNECTION_ENDED, NO_ANSWER } from '../../../src/actors/audio/executor.js';
import type { SoundCommand } from '../../../src/actors/audio/setting-plan.js';
import { Sleep } from '../../../src/actors/audio/sleep.js';
import { SoundState } from '../../../src/actors/audio/state.js';
import type { Answer } from '../../../src/protocol/actor/commands.js';
import type { ChildRequest } from '../../../src/protocol/actor/messages.js';
import type { SleepRecord } from '../../../src/protocol/actor/schemas.js';
import { Deferred } from '../../deferred.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';
import { Recorder } from '../recorder.js';
import { serverInfo, sinkInfo, sinkInputInfo } from './sound-records.js';

const RAW_FULL = 0x1_0000;
/** The pause between two steps of a fade (fade.ts). */
const STEP_MS = 250;
/** The pause before the first check whether the volume can be put back (fade.ts). */
const FIRST_CHECK_MS = 500;
/** The longest pause between two checks whether the output is silent (fade.ts). */
const SILENCE_PAUSE_MAX_MS = 30_000;
const REFUSED: Answer = { ok: false, error: { fault: 'refused', detail: 'not now' } };

/** Waits for the end of the work that a timer has begun. This takes a few turns of the event loop. */
async function finishWork(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await setImmediate();
}

/** Begins a sleep at the volume 0.5, and returns during the fade, when the volume is 0.25. */
async function startFading(t: TestContext) {
  const clock = new ManualClock();
  const state = new SoundState();
  const recorder = new Recorder();
  const path = join(temporaryFolder(t), 'sleep.json');
  const putOutput = (volume: number): void =>
    state.putSink(sinkInfo(0, 'living', { volume: [volume * RAW_FULL, volume * RAW_FULL] }));
  state.server = serverInfo({ defaultSink: 'living' });
  putOutput(0.5);
  state.putSinkInput(sinkInputInfo(1, 'music', { sink: 0, corked: false }));

  const appliedVolumes: number[] = [];
  /** The test sets how the sound server answers the next commands. */
  const server = {
    failure: undefined as Answer | undefined,
    readiness: Promise.resolve(),
    afterSet: putOutput,
  };
  const run = async (command: SoundCommand): Promise<Answer> => {
    await server.readiness;
    assert.ok(command.do === 'fade');
    if (server.failure !== undefined) return server.failure;
    appliedVolumes.push(command.volume);
    server.afterSet(command.volume);
    return { ok: true, value: {} };
  };
  const newSleep = (): Sleep => {
    const created = new Sleep({ path, state, clock, node: recorder, run });
    t.after(() => created.leave());
    return created;
  };
  const sleep = newSleep();
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await finishWork();
  };
  const record = () => recorder.newest<SleepRecord>('audio.sleep');

  // After one minute a fade of 10 s begins. The clock advances 5 s at once, so only one step is sent.
  await sleep.start(1, 10);
  await pass(60_000);
  await pass(5_000);
  assert.deepEqual(appliedVolumes, [0.25]);
  return { clock, state, sleep, newSleep, server, appliedVolumes, putOutput, pass, record, path };
}

type Fading = Awaited<ReturnType<typeof startFading>>;

/** Ends the service `afterMs` later. The sound server answers no command until the service has ended. */
async function leaveUnanswered({ sleep, server, pass }: Fading, afterMs: number): Promise<void> {
  const ready = new Deferred<void>();
  server.readiness = ready.promise;
  await pass(afterMs);
  const leaving = sleep.leave();
  // The end of the service waits at most 300 ms until the volume is put back (sleep.ts).
  await pass(300);
  await leaving;
  server.failure = CONNECTION_ENDED;
  ready.resolve();
  await pass(0);
  server.failure = undefined;
}

/** Lets the sleep end in the next service. Then the music ends. */
async function recallAndFallSilent({ state, newSleep, pass, record }: Fading): Promise<void> {
  await newSleep().recall();
  assert.equal(record()?.active, true, 'the next service goes on with the sleep');
  // The sleep ends 5 s after the start of the next service (sleep.ts). The output does not fade again,
  // because its volume is still lowered.
  await pass(5_000);
  await until('the sleep is over', () => record()?.active === false);
  state.remove('sink-input', 1);
  await pass(SILENCE_PAUSE_MAX_MS);
}

test('a new sleep can be stopped while the volume is still being put back after an earlier sleep', async (t) => {
  const { sleep, server, record, path } = await startFading(t);
  const ready = new Deferred<void>();
  server.readiness = ready.promise;
  const started = sleep.start(30);
  const stopped = sleep.stop();
  ready.resolve();
  await Promise.all([started, stopped]);
  assert.deepEqual(record(), { active: false });
  assert.ok(!existsSync(path));
});

test('if two sleeps begin while the volume is put back, the last one counts', async (t) => {
  const { clock, sleep, server, record } = await startFading(t);
  const ready = new Deferred<void>();
  server.readiness = ready.promise;
  const started = [sleep.start(30), sleep.start(90)];
  ready.resolve();
  await Promise.all(started);
  assert.equal(record()?.until, new Date(clock.date() + 90 * 60_000).toISOString());
});

test('if the output is missing when the sleep is stopped, the output gets its volume back at most a second after it returns', async (t) => {
  const { state, sleep, appliedVolumes, putOutput, pass } = await startFading(t);
  state.remove('sink', 0);
  await sleep.stop();
  // The pauses between the checks for the output grow up to 1 s (fade.ts).
  for (let second = 0; second < 60; second += 1) await pass(1_000);
  assert.deepEqual(appliedVolumes, [0.25]);

  putOutput(0.25);
  await pass(1_000);
  assert.deepEqual(appliedVolumes, [0.25, 0.5]);
});

test('a refused step does not end the fade', async (t) => {
  const { server, appliedVolumes, pass } = await startFading(t);
  server.failure = REFUSED;
  await pass(STEP_MS);
  server.failure = undefined;
  // 7.5 s of the fade's 10 s have passed after this, so a quarter of the volume 0.5 is left.
  await pass(2_250);
  assert.deepEqual(appliedVolumes, [0.25, 0.125]);
});

test('the volume is put back later if the sound server refuses at first', async (t) => {
  const { sleep, server, appliedVolumes, pass } = await startFading(t);
  server.failure = REFUSED;
  await sleep.stop();
  server.failure = undefined;
  await pass(FIRST_CHECK_MS);
  assert.deepEqual(appliedVolumes, [0.25, 0.5]);
});

test('if the sound server refuses to put the volume back, a volume that somebody sets meanwhile stays', async (t) => {
  const { sleep, server, appliedVolumes, putOutput, pass } = await startFading(t);
  const ready = new Deferred<void>();
  server.readiness = ready.promise;
  server.failure = REFUSED;
  const stopped = sleep.stop();
  await pass(0);
  putOutput(0.4);
  ready.resolve();
  await stopped;

  server.failure = undefined;
  // This is longer than `FIRST_CHECK_MS`, after which the volume could be put back.
  await pass(1_000);
  assert.deepEqual(appliedVolumes, [0.25]);
});

test('a volume that somebody sets during a failing step is kept', async (t) => {
  const { sleep, server, appliedVolumes, putOutput, pass } = await startFading(t);
  const ready = new Deferred<void>();
  server.readiness = ready.promise;
  server.failure = REFUSED;
  await pass(STEP_MS);
  putOutput(0.33);
  ready.resolve();
  await pass(0);

  server.failure = undefined;
  await pass(STEP_MS);
  await sleep.stop();
  assert.deepEqual(appliedVolumes, [0.25]);
});

/** Ways in which the volume of a step is not read, although the step was carried out. */
const MISSING_READINGS: readonly {
  readonly title: string;
  readonly loseReading: (fading: Fading) => void;
}[] = [
  {
    title: 'the output goes before it is read',
    loseReading: ({ state, server }) => {
      server.afterSet = () => state.remove('sink', 0);
    },
  },
  {
    title: 'the connection ends before the output is read',
    loseReading: ({ server }) => {
      server.afterSet = () => undefined;
    },
  },
  {
    title: 'the sound server does not answer the step',
    loseReading: ({ server }) => {
      server.failure = NO_ANSWER;
    },
  },
];

for (const { title, loseReading } of MISSING_READINGS) {
  test(`the volume is put back although the volume of a step was not read: ${title}`, async (t) => {
    const fading = await startFading(t);
    const { sleep, server, appliedVolumes, putOutput, pass } = fading;
    loseReading(fading);
    await pass(STEP_MS);
    // A missing output or connection makes further steps fail.
    server.failure = NO_ANSWER;
    await pass(STEP_MS);

    // The output has the volume of the step that was not read. The fade sent this step after 5.25 s of its
    // 10 s, so 47.5 % of the volume 0.5 was left.
    putOutput(0.2375);
    server.failure = undefined;
    server.afterSet = putOutput;
    await sleep.stop();
    assert.equal(appliedVolumes.at(-1), 0.5);
  });
}

/** Ends the service after the fade, while a stream still plays to the output. Starts the next service. */
async function restartAfterFade(t: TestContext, betweenServices: (fading: Fading) => void = () => undefined) {
  const fading = await startFading(t);
  const { sleep, newSleep, appliedVolumes, pass, record, path } = fading;
  await pass(5_000);
  await until('the sleep is over', () => record()?.active === false);
  await sleep.leave();
  assert.deepEqual(appliedVolumes, [0.25, 0]);

  betweenServices(fading);
  await newSleep().recall();
  assert.deepEqual(record(), { active: false });
  await pass(SILENCE_PAUSE_MAX_MS);
  assert.deepEqual(appliedVolumes, [0.25, 0], 'the output is not silent yet');
  return { ...fading, hasFile: () => existsSync(path) };
}

test('if something still plays to the output when a service ends, the next service puts the volume back', async (t) => {
  const { state, appliedVolumes, pass, hasFile } = await restartAfterFade(t);
  assert.ok(hasFile());
  state.remove('sink-input', 1);
  await pass(SILENCE_PAUSE_MAX_MS);
  assert.deepEqual(appliedVolumes, [0.25, 0, 0.5]);
  await until('the file is gone', () => !hasFile());
});

test('a volume that somebody sets between two services stays', async (t) => {
  const setVolume = ({ putOutput }: Fading): void => putOutput(0.3);
  const { state, appliedVolumes, pass, hasFile } = await restartAfterFade(t, setVolume);
  state.remove('sink-input', 1);
  await pass(SILENCE_PAUSE_MAX_MS);
  assert.deepEqual(appliedVolumes, [0.25, 0]);
  await until('the file is gone', () => !hasFile());
});

test('if nothing plays to the output when a service ends, this service puts the volume back at once', async (t) => {
  const { state, sleep, appliedVolumes, pass, record, path } = await startFading(t);
  await pass(5_000);
  await until('the sleep is over', () => record()?.active === false);
  state.remove('sink-input', 1);
  await sleep.leave();
  assert.deepEqual(appliedVolumes, [0.25, 0, 0.5]);
  assert.ok(!existsSync(path));
});

test('if a service cannot put the volume back in time at its end, the next service puts it back', async (t) => {
  const fading = await startFading(t);
  await leaveUnanswered(fading, 0);
  assert.deepEqual(fading.appliedVolumes, [0.25]);
  await recallAndFallSilent(fading);
  assert.deepEqual(fading.appliedVolumes, [0.25, 0.5]);
});

test('the next service puts the volume back, even if the last step was carried out without an answer', async (t) => {
  const fading = await startFading(t);
  // After 7 s of 10 s the step to 0.15 is sent.
  await leaveUnanswered(fading, 2_000);
  fading.putOutput(0.15);
  await recallAndFallSilent(fading);
  assert.deepEqual(fading.appliedVolumes, [0.25, 0.5]);
});

test('a stored sleep that would last longer than 12 hours is dropped, and the log gives this reason', async (t) => {
  const clock = new ManualClock();
  const recorder = new Recorder();
  const path = join(temporaryFolder(t), 'sleep.json');
  const inTwoDays = new Date(clock.date() + 2 * 24 * 3_600_000).toISOString();
  writeFileSync(path, JSON.stringify({ until: inTwoDays, fade: 20 }));
  const run = async () => REFUSED;
  const sleep = new Sleep({ path, state: new SoundState(), clock, node: recorder, run });

  await sleep.recall();
  assert.deepEqual(recorder.newest('audio.sleep'), { active: false });
  assert.deepEqual(recorder.logs, ['info: a sleep of an earlier process is dropped, because it is too long']);
});

test('a sleep keeps its length when the date is set, and the next process goes on with the sleep', async (t) => {
  const clock = new ManualClock();
  const path = join(temporaryFolder(t), 'sleep.json');
  const run = async () => REFUSED;
  const newSleep = () => {
    const recorder = new Recorder();
    const sleep = new Sleep({ path, state: new SoundState(), clock, node: recorder, run });
    return { sleep, record: () => recorder.newest<SleepRecord>('audio.sleep') };
  };
  const { sleep, record } = newSleep();
  await sleep.start(30);
  const endMs = clock.monotonic() + 30 * 60_000;
  const expectedUntil = () => new Date(clock.date() + endMs - clock.monotonic()).toISOString();

  // The sleep checks the date of its end every 30 s (sleep.ts).
  clock.shiftDate(500);
  const untilBefore = record()?.until;
  clock.advance(30_000);
  assert.equal(record()?.until, untilBefore, 'a small correction of the date changes nothing');

  clock.shiftDate(3_600_000);
  clock.advance(30_000);
  assert.equal(record()?.until, expectedUntil());
  await until('the file has the corrected date', () => readFileSync(path, 'utf8').includes(expectedUntil()));

  await sleep.leave();
  const next = newSleep();
  await next.sleep.recall();
  // The command names no length of the fade, so the fade takes 20 s (sleep.ts).
  assert.deepEqual(next.record(), { active: true, until: expectedUntil(), fade: 20 });
});

/** The time between two requests to pause the players (sleep.ts). */
const PAUSE_AGAIN_MS = 5_000;
/** The time from the first of these requests to the last one (sleep.ts). */
const PAUSE_TRIES_MAX_MS = 30_000;

/**
 * A node whose players answer a pause with `pauseStatus`: 202 if they pause, 502 if they refuse, 503 if they
 * are away, 504 if they do not answer in time.
 */
class NodeWithPlayers extends Recorder {
  pauseStatus = 503;
  override async ask(request: ChildRequest) {
    await super.ask(request);
    return { status: this.pauseStatus, body: 'not up' };
  }
}

/** Recalls a sleep that should have ended during a restart. Returns after the first request to pause. */
async function endAfterRestart(t: TestContext) {
  const clock = new ManualClock();
  const node = new NodeWithPlayers();
  const path = join(temporaryFolder(t), 'sleep.json');
  writeFileSync(path, JSON.stringify({ until: new Date(clock.date() - 1_000).toISOString(), fade: 1 }));
  const state = new SoundState();
  state.server = serverInfo({ defaultSink: 'living' });
  state.putSink(sinkInfo(0, 'living', { volume: [0.5 * RAW_FULL, 0.5 * RAW_FULL] }));
  state.putSinkInput(sinkInputInfo(1, 'music', { sink: 0, corked: false }));
  const volumes: number[] = [];
  const run = async (command: SoundCommand): Promise<Answer> => {
    assert.ok(command.do === 'fade');
    volumes.push(command.volume);
    state.putSink(sinkInfo(0, 'living', { volume: [command.volume * RAW_FULL, command.volume * RAW_FULL] }));
    return { ok: true, value: {} };
  };
  const sleep = new Sleep({ path, state, clock, node, run });
  t.after(() => sleep.leave());
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await finishWork();
  };
  await sleep.recall();
  // The fade begins 5 s after the start of the service (sleep.ts), and takes a second.
  await pass(5_000);
  await pass(1_000);
  assert.deepEqual(node.requested, ['pausePlayers']);
  return {
    node,
    sleep,
    path,
    pass,
    volumes,
    isActive: () => node.newest<SleepRecord>('audio.sleep')?.active,
  };
}

for (const status of [503, 504]) {
  test(`a sleep whose players answer ${status} requests the pause again until they are paused`, async (t) => {
    const { node, path, pass, isActive } = await endAfterRestart(t);
    node.pauseStatus = status;
    await pass(PAUSE_AGAIN_MS);
    await pass(PAUSE_AGAIN_MS);
    assert.equal(node.requested.length, 3);
    assert.ok(existsSync(path) && isActive(), 'another restart goes on with the sleep');

    node.pauseStatus = 202;
    await pass(PAUSE_AGAIN_MS);
    await until('the sleep is over', () => isActive() === false);
    await pass(PAUSE_TRIES_MAX_MS);
    assert.equal(node.requested.length, 4);
    assert.doesNotMatch(readFileSync(path, 'utf8'), /until/, 'the file has only the lowered output');
    assert.deepEqual(node.logs, []);
  });
}

test('a sleep whose players stay away ends without pausing them, and the log says so', async (t) => {
  const { node, pass, isActive } = await endAfterRestart(t);
  // The loop passes one interval more than necessary. No request may come in this interval.
  for (let passedMs = 0; passedMs <= PAUSE_TRIES_MAX_MS; passedMs += PAUSE_AGAIN_MS)
    await pass(PAUSE_AGAIN_MS);
  await until('the sleep is over', () => isActive() === false);
  assert.equal(node.requested.length, 1 + PAUSE_TRIES_MAX_MS / PAUSE_AGAIN_MS);
  assert.deepEqual(node.logs, ['warn: not all players could be paused for the sleep']);
});

test('a sleep whose players refuse to pause does not request the pause again', async (t) => {
  const { node, pass, isActive } = await endAfterRestart(t);
  node.pauseStatus = 502;
  await pass(PAUSE_AGAIN_MS);
  await until('the sleep is over', () => isActive() === false);
  await pass(PAUSE_TRIES_MAX_MS);
  assert.equal(node.requested.length, 2);
});

for (const [what, command] of [
  ['stopped', (sleep: Sleep) => sleep.stop()],
  ['replaced', (sleep: Sleep) => sleep.start(30)],
] as const) {
  test(`if a sleep is ${what} while its players are away, it requests no further pause, and puts the volume back`, async (t) => {
    const { node, sleep, pass, volumes } = await endAfterRestart(t);
    await command(sleep);
    assert.deepEqual(volumes, [0, 0.5]);
    await pass(PAUSE_TRIES_MAX_MS);
    assert.equal(node.requested.length, 1);
  });
}

test('a restart while the players are away keeps the file of the sleep', async (t) => {
  const { node, sleep, path, pass } = await endAfterRestart(t);
  await sleep.leave();
  await pass(PAUSE_TRIES_MAX_MS);
  assert.equal(node.requested.length, 1);
  assert.ok(existsSync(path));
});
