// A start over a scripted manager after the end of its job: only then is it known if the program can run. Verdicts: verdict.test.ts.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Bus } from '../../../src/actors/bus/bus.js';
import { commandUnit } from '../../../src/actors/systemd/commands.js';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import { ManualClock } from '../../manual-clock.js';
import { JOB_PATH, ScriptedManager, settle } from '../units/scripted-manager.js';

/** A start whose job has ended, with the unit in the state `now`. */
async function started(t: TestContext, name: string, now: Readonly<Record<string, unknown>>) {
  const clock = new ManualClock();
  const owner = { up: () => undefined, down: () => undefined, changed: () => undefined };
  const plan = { names: [name], interest: 'state', clock } as const;
  const manager = new ScriptedManager();
  // The scripted manager replaces the user's bus.
  const follower = new UnitFollower<Bus<'units'>>(plan, owner, manager.busOf as never);
  t.after(() => follower.stop());
  manager.unitIs(name, { ActiveState: 'inactive', SubState: 'dead', InvocationID: Uint8Array.of(1) });
  await follower.up();
  const said: string[] = [];
  const answered = commandUnit(follower, clock, 'start', name);
  void answered.then((answer) => said.push(answer.ok ? 'ok' : answer.detail));
  await settle();
  manager.changed(name, now);
  manager.jobRemoved(JOB_PATH, name, 'done');
  await settle();
  return { clock, manager, said };
}

const RUNS = { ActiveState: 'active', SubState: 'running', InvocationID: Uint8Array.of(2) };

test('a service that has just begun to run has 100 ms to fail, and no more', async (t) => {
  const { clock, said } = await started(t, 'x.service', RUNS);
  clock.advance(99);
  await settle();
  assert.deepEqual(said, []);
  clock.advance(1);
  await settle();
  assert.deepEqual([said, clock.timers], [['ok'], 0]);
});

test('a service that fails within these 100 ms is refused at once', async (t) => {
  const { clock, manager, said } = await started(t, 'x.service', RUNS);
  manager.changed('x.service', { ActiveState: 'failed', SubState: 'failed' });
  await settle();
  assert.match(said.join(), /^The unit has failed: /);
  assert.equal(clock.timers, 0);
});

const AT_ONCE: readonly [what: string, name: string, now: typeof RUNS][] = [
  ['a unit that is no service', 'x.target', RUNS],
  ['a service that ran already', 'x.service', { ...RUNS, InvocationID: Uint8Array.of(1) }],
  ['a service whose program has ended', 'x.service', { ...RUNS, SubState: 'exited' }],
];
for (const [what, name, now] of AT_ONCE) {
  test(`the start of ${what} is answered at once`, async (t) => {
    const { said } = await started(t, name, now);
    assert.deepEqual(said, ['ok']);
  });
}
