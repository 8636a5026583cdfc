// The end of the supervisor: it stops its children in reverse order and in time, in whatever state they are,
// and leaves nothing behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Supervisor } from '../../src/supervisor/supervisor.js';
import { DEFAULT_SETTINGS } from '../supervisor/config/full.js';
import { childrenUp, type Fixtures, type ReportRecorder, startChildren } from './harness.js';

/** The log line with which the fixture `obedient` stops. */
const CLEAN_STOP = 'stops as told';

/** Stops all children, and resolves with those that were killed because they did not stop in time. */
async function stopAndListKilled({
  supervisor,
  recorder,
}: {
  supervisor: Supervisor;
  recorder: ReportRecorder;
}) {
  await supervisor.stop();
  const killed = recorder.lines.filter(({ fields }) => /^did not stop/.test(String(fields['detail'])));
  return killed.map(({ fields }) => fields['backend']);
}

test('children stop in reverse order of their start', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'obedient', power: 'obedient' };
  const { supervisor, recorder } = await childrenUp(t, fixtures);
  assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), []);
  const stopped = recorder.lines.filter(({ message }) => message === CLEAN_STOP);
  const names = stopped.map(({ fields }) => fields['backend']);
  assert.deepEqual(names, ['power', 'systemd', 'audio']);
});

test('a child that ignores the stop is killed and reported, and the others stop cleanly', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'ignores-stop', power: 'obedient' };
  const { supervisor, recorder } = await childrenUp(t, fixtures, { stopWithinMs: { systemd: 1_000 } });

  assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), ['systemd']);
  const warnings = recorder.lines.filter(({ level }) => level === 'warn');
  const warned = warnings.map(({ fields }) => fields);
  assert.deepEqual(warned, [{ backend: 'systemd', detail: 'did not stop within 1000 ms' }]);
  assert.equal(recorder.lines.filter(({ message }) => message === CLEAN_STOP).length, 2);
});

test('the last child stops cleanly in a short stop, although two children before it ignore the stop', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'ignores-stop', power: 'ignores-stop' };
  // Children stop in the reverse order, so `audio` is the last one. The supervisor gets half of the sum of
  // these times, so each child has half of its own time (`stopTimeMs` in policy.ts). The 30 s of `audio` are
  // enough also on a busy machine.
  const stopWithinMs = { audio: 60_000, systemd: 1_000, power: 1_000 };
  const sumOfTimesMs = stopWithinMs.audio + stopWithinMs.systemd + stopWithinMs.power;
  const { supervisor, recorder } = await childrenUp(t, fixtures, { stopWithinMs });

  await supervisor.stop(sumOfTimesMs / 2);

  const lateDetails = recorder.lines
    .filter(({ level }) => level === 'warn')
    .map(({ fields }) => fields['detail']);
  assert.equal(lateDetails.length, 2);
  const waitsMs = lateDetails.map((detail) =>
    Number(/^did not stop within (\d+) ms$/.exec(String(detail))?.[1]),
  );
  // Each of the two late children has half of its 1000 ms.
  assert.ok(Math.max(...waitsMs) <= 500, `waited ${waitsMs} ms for the late children`);
  assert.equal(recorder.lines.at(-1)?.message, CLEAN_STOP);
});

test('the error of a stop that fails is logged, but a lost peer is not reported during the stop', async (t) => {
  const { supervisor, recorder } = await childrenUp(t, { audio: 'rejects-stop' });
  assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), []);
  // The fixture reports during its stop that its peer has gone, and then throws the error `cannot let go`.
  assert.equal(recorder.lines.at(-1)?.fields['detail'], 'cannot let go');
  assert.deepEqual(recorder.statesOf('audio'), ['connecting', 'up']);
});

/** The waits of a restart policy, by the state in which they leave a child after its first death. */
const WAITS_MS_OF_STATE = { restarting: [3_600_000], failed: [] };
for (const [state, waitsMs] of Object.entries(WAITS_MS_OF_STATE)) {
  test(`a child that is ${state} stops at once and is not started again`, async (t) => {
    const restarts = { waitsMs, windowMs: 60_000, pauseMs: 3_600_000 };
    const { supervisor, recorder } = startChildren(t, { audio: 'throws-at-load' }, { restarts });
    const restartsMin = 1;
    await recorder.untilState('audio', state, restartsMin);

    assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), []);
    assert.equal(recorder.healthOf('audio')?.state, state);
  });
}

test('a child that waits for its restart is not started while another stops', async (t) => {
  const fixtures: Fixtures = { audio: 'throws-at-load', power: 'ignores-stop' };
  // The wait of `audio` ends while `power` still has time to stop.
  const restarts = { waitsMs: [200, 0, 0], windowMs: 60_000, pauseMs: 60_000 };
  const { supervisor, recorder } = startChildren(t, fixtures, { stopWithinMs: { power: 1_000 }, restarts });
  const restartsMin = 1;
  await recorder.untilState('audio', 'restarting', restartsMin);
  await recorder.untilState('power', 'connecting');

  assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), ['power']);
  assert.equal(recorder.healthOf('audio')?.restarts, 1);
});

test('a child that dies while another stops is not started again', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', power: 'ignores-stop' };
  const { supervisor, recorder, ask } = await childrenUp(t, fixtures, { stopWithinMs: { power: 1_000 } });

  const exiting = ask('audio', 'exit');
  assert.deepEqual(await stopAndListKilled({ supervisor, recorder }), ['power']);
  assert.equal((await exiting).ok, false);
  assert.deepEqual(recorder.statesOf('audio'), ['connecting', 'up']);
});

/** With these settings the supervisor of `childrenUp` has to stop `audio` and `power`. */
const CHANGED_SETTINGS = {
  ...DEFAULT_SETTINGS,
  audio: { ...DEFAULT_SETTINGS.audio, serveCookie: !DEFAULT_SETTINGS.audio.serveCookie },
  power: { ...DEFAULT_SETTINGS.power, enabled: !DEFAULT_SETTINGS.power.enabled },
};
type Step = (supervisor: Supervisor) => Promise<unknown>;
const stopAll: Step = (supervisor) => supervisor.stop();
const stopChanged: Step = (supervisor) => supervisor.stopChanged(CHANGED_SETTINGS);
const ORDERS: readonly (readonly [what: string, first: Step, second: Step])[] = [
  ['a reload that begins while all children stop', stopAll, stopChanged],
  ['a reload that began before the stop of all children', stopChanged, stopAll],
];
for (const [what, first, second] of ORDERS) {
  test(`the supervisor stops, and each child stops once, in spite of ${what}`, async (t) => {
    const fixtures: Fixtures = { audio: 'obedient', systemd: 'obedient', power: 'obedient' };
    const { supervisor, recorder } = await childrenUp(t, fixtures);
    await Promise.all([first(supervisor), second(supervisor)]);
    const stopped = recorder.lines.filter(({ message }) => message === CLEAN_STOP);
    assert.deepEqual(stopped.map(({ fields }) => fields['backend']).sort(), ['audio', 'power', 'systemd']);
  });
}

test('commands that wait when the supervisor stops are answered, and later commands are refused at once', async (t) => {
  const { supervisor, ask } = await childrenUp(t, { audio: 'obedient' });
  // The fixture never answers `wait`, and would answer `who` at once.
  const waiting = ask('audio', 'wait');

  const stopping = supervisor.stop();
  assert.deepEqual(await ask('audio', 'who'), {
    ok: false,
    error: { fault: 'unavailable', detail: 'The audio backend is stopping' },
  });
  assert.equal((await waiting).ok, false);
  await stopping;
  assert.equal((await ask('audio', 'who')).ok, false);
});
