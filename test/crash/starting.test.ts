// The start of the supervisor: it starts one child after another, and a child that hangs or dies while it
// loads does not delay the next one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RESTARTS } from '../../src/supervisor/policy.js';
import { ManualClock } from '../manual-clock.js';
import { DEFAULT_SETTINGS } from '../supervisor/config/full.js';
import { childrenUp, startChildren, THREW_AT_LOAD } from './harness.js';

test('a child starts when the one before it has sent its first message', async (t) => {
  // The clock stands still, because the wait for a child's first message has a limit (START_SPACING_MAX_MS
  // in supervisor.ts). A busy machine could exceed this limit, and the next child would start too early.
  const clock = new ManualClock();
  const fixtures = { audio: 'obedient', systemd: 'obedient', power: 'obedient' };
  const { recorder } = await childrenUp(t, fixtures, { clock });
  const states = recorder.healths.map(([backend, { state }]) => `${backend} ${state}`).join();
  const expected = 'audio connecting,audio up,systemd connecting,systemd up,power connecting,power up';
  assert.equal(states, expected);
});

for (const fixture of ['hangs-at-load', 'throws-at-load', 'throws-at-start']) {
  test(`a child that ${fixture.replaceAll('-', ' ')} does not delay the next one`, async (t) => {
    // A child that hangs ignores its stop, too, so without a short limit the test would last a minute.
    const { recorder } = startChildren(
      t,
      { audio: fixture, systemd: 'obedient' },
      { stopWithinMs: { audio: 100 } },
    );
    await recorder.untilState('systemd', 'up');
  });
}

test('later children start although a reload stops a child before its turn to start', async (t) => {
  const fixtures = { audio: 'obedient', systemd: 'obedient', power: 'obedient' };
  const { supervisor, recorder } = startChildren(t, fixtures);

  const systemd = { ...DEFAULT_SETTINGS.systemd, user: [{ name: 'mpd.service' }] };
  assert.deepEqual(await supervisor.stopChanged({ ...DEFAULT_SETTINGS, systemd }), ['systemd']);
  supervisor.startMissing();
  await recorder.untilState('systemd', 'up');
  await recorder.untilState('power', 'up');
});

for (const [fixture, detail] of [
  ['exits-at-load', /^thread ended: exit code 3$/],
  ['throws-at-load', THREW_AT_LOAD],
] as const) {
  test(`a thread that was started in advance and ${fixture.replaceAll('-', ' ')} is restarted like any other`, async (t) => {
    const options = { warmUp: fixture, restarts: RESTARTS };
    const { recorder } = startChildren(t, { audio: fixture, power: 'obedient' }, options);
    const restartsMin = 1;
    await recorder.untilState('audio', 'restarting', restartsMin);
    assert.match(recorder.healthOf('audio')?.detail ?? '', detail);
    await recorder.untilState('power', 'up');
  });
}

test('a child gets the thread that was started in advance, or a new one when that thread has ended', async (t) => {
  const { ask, recorder } = await childrenUp(t, { audio: 'obedient' }, { warmUp: 'obedient' });
  assert.deepEqual(await ask('audio', 'warm'), { ok: true, value: { text: 'true' } });

  await ask('audio', 'exit');
  const restartsMin = 1;
  await recorder.untilState('audio', 'up', restartsMin);
  assert.deepEqual(await ask('audio', 'warm'), { ok: true, value: { text: 'false' } });
});
