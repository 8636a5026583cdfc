// From job results and states to answers; and a start over a scripted manager after the end of its job: only
// then is it known if the program can run.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Bus } from '../../../src/actors/bus/bus.js';
import { answerAfterJob, commandUnit } from '../../../src/actors/systemd/commands.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import { ManualClock } from '../../manual-clock.js';
import { faultOf } from '../recorder.js';
import { JOB_PATH, ScriptedManager, settle } from '../units/scripted-manager.js';

/** Sends the command that starts a unit; its job ends, and the unit is in the state `now`. */
async function startUnit(t: TestContext, name: string, now: Readonly<Record<string, unknown>>) {
  const clock = new ManualClock();
  const owner = { up: () => undefined, down: () => undefined, changed: () => undefined };
  const plan = { names: [name], interest: 'state', clock } as const;
  const manager = new ScriptedManager();
  // The scripted manager replaces the user's bus.
  const follower = new UnitFollower<Bus<'units'>>(plan, owner, manager.busOf as never);
  t.after(() => follower.stop());
  manager.setUnit(name, { ActiveState: 'inactive', SubState: 'dead', InvocationID: Uint8Array.of(1) });
  await follower.up();
  const answers: string[] = [];
  const answered = commandUnit(follower, clock, 'start', name);
  void answered.then((answer) => answers.push(answer.ok ? 'ok' : answer.error.detail));
  await settle();
  manager.sendChange(name, now);
  manager.sendJobRemoved(JOB_PATH, name, 'done');
  await settle();
  return { clock, manager, answers };
}

const RUNS = { ActiveState: 'active', SubState: 'running', InvocationID: Uint8Array.of(2) };

test('a service that has just begun to run has 100 ms to fail, and no more', async (t) => {
  const { clock, answers } = await startUnit(t, 'x.service', RUNS);
  clock.advance(99);
  await settle();
  assert.deepEqual(answers, []);
  clock.advance(1);
  await settle();
  assert.deepEqual([answers, clock.timers], [['ok'], 0]);
});

test('a service that fails within these 100 ms is refused at once', async (t) => {
  const { clock, manager, answers } = await startUnit(t, 'x.service', RUNS);
  manager.sendChange('x.service', { ActiveState: 'failed', SubState: 'failed' });
  await settle();
  assert.match(answers.join(), /^The unit has failed: /);
  assert.equal(clock.timers, 0);
});

const AT_ONCE: readonly [what: string, name: string, now: typeof RUNS][] = [
  ['a unit that is no service', 'x.target', RUNS],
  ['a service that ran already', 'x.service', { ...RUNS, InvocationID: Uint8Array.of(1) }],
  ['a service whose program has ended', 'x.service', { ...RUNS, SubState: 'exited' }],
];
for (const [what, name, now] of AT_ONCE) {
  test(`the start of ${what} is answered at once`, async (t) => {
    const { answers } = await startUnit(t, name, now);
    assert.deepEqual(answers, ['ok']);
  });
}

test('disable stops the unit of an alias that was made a moment ago, before anybody has read it', async (t) => {
  const clock = new ManualClock();
  const owner = { up: () => undefined, down: () => undefined, changed: () => undefined };
  const manager = new ScriptedManager();
  const plan = { names: ['alias.service'], interest: 'runs', clock } as const;
  // The scripted manager replaces the user's bus.
  const follower = new UnitFollower<Bus<'units'>>(plan, owner, manager.busOf as never);
  t.after(() => follower.stop());
  await follower.up();
  const behind = { Id: 'real.service', Names: ['real.service', 'alias.service'], ActiveState: 'active' };
  manager.setUnit('alias.service', behind);
  manager.effects.set('DisableUnitFiles', () => manager.units.delete('alias.service'));
  const answer = commandUnit(follower, clock, 'disable', 'alias.service');
  await settle();
  manager.sendJobRemoved(JOB_PATH, 'real.service', 'done');
  assert.deepEqual([await answer, manager.stopCalls], [{ ok: true, value: {} }, ['real.service']]);
});

type Aim = 'started' | 'stopped';
type JobRow = readonly [aim: Aim, result: string | undefined, facts: Partial<UnitFacts>, refused?: RegExp];

function run(activeState: string, subState: string, more: Partial<UnitFacts> = {}): Partial<UnitFacts> {
  return { activeState, subState, ...more };
}

const JOBS: readonly JobRow[] = [
  ['started', 'done', run('active', 'running')],
  ['started', 'done', run('active', 'exited')],
  ['started', 'done', run('inactive', 'dead')],
  ['started', 'done', run('activating', 'start')],
  ['started', 'done', run('active', 'running', { result: 'exit-code' })],
  ['started', 'done', run('active', 'running', { isConditionMet: false })],
  ['started', 'done', run('failed', 'failed', { result: 'exit-code' }), /failed.*done.*exit-code/],
  ['started', 'done', run('activating', 'auto-restart', { result: 'signal' }), /again.*signal/],
  ['started', 'done', run('activating', 'auto-restart-queued', { result: 'signal' }), /again/],
  ['started', 'done', run('deactivating', 'stop-post', { result: 'exit-code' }), /failing.*exit-code/],
  ['started', 'done', run('deactivating', 'stop-sigterm', { result: 'signal' }), /failing/],
  ['started', 'done', run('deactivating', 'stop-sigterm')],
  ['started', 'done', run('inactive', 'dead', { isConditionMet: false }), /condition/],
  ['started', 'done', run('inactive', 'dead', { result: 'core-dump' }), /error.*core-dump/],
  ['started', 'failed', run('failed', 'failed', { result: 'timeout' }), /result is failed.*timeout/],
  ['started', 'canceled', run('inactive', 'dead'), /canceled/],
  ['started', 'timeout', run('activating', 'start'), /timeout/],
  ['started', 'dependency', run('inactive', 'dead'), /dependency.*success/],
  ['started', 'skipped', run('inactive', 'dead'), /skipped/],
  ['started', 'assert', run('inactive', 'dead'), /assert/],
  ['started', undefined, run('active', 'running')],
  ['started', undefined, run('failed', 'failed'), /unknown/],
  ['stopped', 'done', run('inactive', 'dead')],
  ['stopped', 'done', run('failed', 'failed', { result: 'timeout' })],
  ['stopped', 'done', run('inactive', 'dead', { isConditionMet: false })],
  ['stopped', 'done', run('deactivating', 'stop-post', { result: 'timeout' })],
  ['stopped', 'canceled', run('active', 'running'), /canceled/],
  ['stopped', undefined, run('active', 'running'), /still active/],
];

for (const [aim, result, facts, refused] of JOBS) {
  test(`${aim}: ${result}, ${JSON.stringify(facts)}`, () => {
    const answer = answerAfterJob(aim, result, { ...unknownUnit('x.service'), ...facts });
    assert.equal(faultOf(answer), refused === undefined ? 'none' : 'refused');
    const detail = answer.ok ? '' : answer.error.detail;
    assert.match(detail, refused ?? /^$/);
    assert.match(detail, /^([A-Z]|$)/);
  });
}
