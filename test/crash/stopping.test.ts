// The end of the supervisor: it stops its children in reverse order and in time, in whatever state they are,
// and leaves nothing behind.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Supervisor } from '../../src/supervisor/supervisor.js';
import { childrenUp, type Fixtures, type ReportRecorder, startChildren } from './harness.js';

/** Stops all children, and resolves with those that were killed because they did not stop in time. */
async function lateAtStop({ supervisor, recorder }: { supervisor: Supervisor; recorder: ReportRecorder }) {
  await supervisor.stop();
  const killed = recorder.lines.filter(({ fields }) => /^did not stop/.test(String(fields['detail'])));
  return killed.map(({ fields }) => fields['backend']);
}

test('children stop in reverse order of their start', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'obedient', power: 'obedient' };
  const { supervisor, recorder } = await childrenUp(t, fixtures);
  assert.deepEqual(await lateAtStop({ supervisor, recorder }), []);
  const stopped = recorder.lines.filter(({ message }) => message === 'stops as told');
  const names = stopped.map(({ fields }) => fields['backend']);
  assert.deepEqual(names, ['power', 'systemd', 'audio']);
});

test('a child that ignores the stop is killed and reported, and the others stop cleanly', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'ignores-stop', power: 'obedient' };
  const { supervisor, recorder } = await childrenUp(t, fixtures, { stopWithinMs: 1000 });
  assert.deepEqual(await lateAtStop({ supervisor, recorder }), ['systemd']);
  const warnings = recorder.lines.filter(({ level }) => level === 'warn');
  const actual = warnings.map(({ fields }) => fields);
  assert.deepEqual(actual, [{ backend: 'systemd', detail: 'did not stop within 1000 ms' }]);
  assert.equal(recorder.lines.filter(({ message }) => message === 'stops as told').length, 2);
});

test('when two children ignore the stop, and time is short for all, the last child still stops cleanly', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', systemd: 'ignores-stop', power: 'ignores-stop' };
  const { supervisor, recorder } = await childrenUp(t, fixtures, { stopWithinMs: 10_000 });
  await supervisor.stop(3_000);
  const late = recorder.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['detail']);
  assert.equal(late.length, 2);
  const lateMs = late.map((detail) => Number(/^did not stop within (\d+) ms$/.exec(String(detail))?.[1]));
  assert.ok(Math.max(...lateMs) <= 1_000, `${lateMs}`);
  assert.equal(recorder.lines.at(-1)?.message, 'stops as told');
});

test('a stop that fails is logged and is not late, and a peer that is lost during the stop is not reported', async (t) => {
  const { supervisor, recorder } = await childrenUp(t, { audio: 'rejects-stop' });
  assert.deepEqual(await lateAtStop({ supervisor, recorder }), []);
  assert.equal(recorder.lines.at(-1)?.fields['detail'], 'cannot let go');
  assert.deepEqual(recorder.states('audio'), ['connecting', 'up']);
});

for (const [state, waitsMs] of Object.entries({ restarting: [3_600_000], failed: [] })) {
  test(`a child that is ${state} stops at once and is not started again`, async (t) => {
    const restarts = { waitsMs, windowMs: 60_000, pauseMs: 3_600_000 };
    const { supervisor, recorder } = startChildren(t, { audio: 'throws-at-load' }, { restarts });
    await recorder.untilState('audio', state, 1);
    assert.deepEqual(await lateAtStop({ supervisor, recorder }), []);
    assert.equal(recorder.now('audio')?.state, state);
  });
}

test('a child that waits for its restart is not started while another stops', async (t) => {
  const fixtures: Fixtures = { audio: 'throws-at-load', power: 'ignores-stop' };
  const restarts = { waitsMs: [200, 0, 0], windowMs: 60_000, pauseMs: 60_000 };
  const { supervisor, recorder } = startChildren(t, fixtures, { stopWithinMs: 1000, restarts });
  await recorder.untilState('audio', 'restarting', 1);
  await recorder.untilState('power', 'connecting');
  assert.deepEqual(await lateAtStop({ supervisor, recorder }), ['power']);
  assert.equal(recorder.now('audio')?.restarts, 1);
});

test('a child that dies while another stops is not started again', async (t) => {
  const fixtures: Fixtures = { audio: 'obedient', power: 'ignores-stop' };
  const { supervisor, recorder, ask } = await childrenUp(t, fixtures, { stopWithinMs: 1000 });
  const exiting = ask('audio', 'exit');
  assert.deepEqual(await lateAtStop({ supervisor, recorder }), ['power']);
  assert.equal((await exiting).ok, false);
  assert.deepEqual(recorder.states('audio'), ['connecting', 'up']);
});

test('commands that wait when the supervisor stops are answered, and later commands are refused at once', async (t) => {
  const { supervisor, ask } = await childrenUp(t, { audio: 'obedient' });
  const waiting = ask('audio', 'wait');
  const stopping = supervisor.stop();
  const late = await ask('audio', 'who');
  assert.deepEqual(late, {
    ok: false,
    error: { fault: 'unavailable', detail: 'The audio backend is stopping' },
  });
  assert.equal((await waiting).ok, false);
  await stopping;
  assert.equal((await ask('audio', 'who')).ok, false);
});
