// Tests which answer follows from a job's result and a unit's state. Also tests commands with a scripted
// systemd manager. A service is watched for a moment after its start job, because its program may still fail.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Bus } from '../../../src/actors/bus/bus.js';
import { answerAfterJob, commandUnit } from '../../../src/actors/systemd/commands.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import type { UnitVerb } from '../../../src/protocol/actor/commands.js';
import { ManualClock } from '../../manual-clock.js';
import { faultOf } from '../recorder.js';
import { JOB_PATH, ScriptedManager, settle } from '../units/scripted-manager.js';

/** Follows units of a scripted manager. `prepare` sets up the manager before the units are first read. */
async function followUnits(
  t: TestContext,
  clock: ManualClock,
  names: readonly string[],
  prepare: (manager: ScriptedManager) => void = () => undefined,
) {
  const owner = { up: () => undefined, down: () => undefined, changed: () => undefined };
  const manager = new ScriptedManager();
  const plan = { names, interest: 'runs', clock } as const;
  // The scripted manager replaces the user's bus.
  const follower = new UnitFollower<Bus<'units'>>(plan, owner, manager.busOf as never);
  t.after(() => follower.stop());
  prepare(manager);
  await follower.up();
  return { manager, follower };
}

/** The unit's invocation before the start. If the unit begins to run, it gets another invocation. */
const INVOCATION_BEFORE = Uint8Array.of(1);

/** Commands the start of a unit. The unit then gets the properties `stateAfterJob`, and its job ends. */
async function startUnit(t: TestContext, name: string, stateAfterJob: Readonly<Record<string, unknown>>) {
  const clock = new ManualClock();
  const { manager, follower } = await followUnits(t, clock, [name], (scripted) =>
    scripted.setUnit(name, { ActiveState: 'inactive', SubState: 'dead', InvocationID: INVOCATION_BEFORE }),
  );
  const answers: string[] = [];
  void commandUnit(follower, clock, 'start', name).then((answer) =>
    answers.push(answer.ok ? 'ok' : answer.error.detail),
  );
  await settle();

  manager.sendChange(name, stateAfterJob);
  manager.sendJobRemoved(JOB_PATH, name, 'done');
  await settle();
  return { clock, manager, answers };
}

const RUNS = { ActiveState: 'active', SubState: 'running', InvocationID: Uint8Array.of(2) };

test('the start of a service is answered 100 ms after its start job if the service still runs then', async (t) => {
  const { clock, answers } = await startUnit(t, 'x.service', RUNS);
  clock.advance(99);
  await settle();
  assert.deepEqual(answers, []);

  clock.advance(1);
  await settle();
  assert.deepEqual([answers, clock.timers], [['ok'], 0]);
});

test('the start of a service that fails within 100 ms after its start job is refused at once', async (t) => {
  const { clock, manager, answers } = await startUnit(t, 'x.service', RUNS);
  manager.sendChange('x.service', { ActiveState: 'failed', SubState: 'failed' });
  await settle();
  assert.match(answers.join(), /^The unit has failed: /);
  assert.equal(clock.timers, 0);
});

const ANSWERED_AT_ONCE: readonly [what: string, name: string, stateAfterJob: typeof RUNS][] = [
  ['a unit that is no service', 'x.target', RUNS],
  ['a service that ran already', 'x.service', { ...RUNS, InvocationID: INVOCATION_BEFORE }],
  ['a service whose program has ended', 'x.service', { ...RUNS, SubState: 'exited' }],
];
for (const [what, name, stateAfterJob] of ANSWERED_AT_ONCE) {
  test(`the start of ${what} is answered at once`, async (t) => {
    const { answers } = await startUnit(t, name, stateAfterJob);
    assert.deepEqual(answers, ['ok']);
  });
}

const FAILED = { ActiveState: 'failed', SubState: 'failed' };

/**
 * Commands a unit in this state, and resolves with the methods that are called for the command. The scripted
 * manager does not answer a reset.
 */
async function callsFor(t: TestContext, verb: UnitVerb, state: typeof FAILED, fileState = 'enabled') {
  const clock = new ManualClock();
  const { manager, follower } = await followUnits(t, clock, ['x.service'], (scripted) => {
    scripted.setUnit('x.service', state);
    scripted.files.set('x.service', fileState);
    scripted.refusals.set('ResetFailedUnit', { ok: false, error: { kind: 'timeout' } });
  });
  manager.calls.length = 0;
  const answer = commandUnit(follower, clock, verb, 'x.service');
  await settle();
  manager.sendJobRemoved(JOB_PATH, 'x.service', 'done');
  await answer;
  return manager.calls.filter((method) => /UnitFiles|FailedUnit|(Start|Stop|Restart)Unit/.test(method));
}

test('each command that starts a failed unit resets the unit before the start, and goes on even if the reset is not answered', async (t) => {
  assert.deepEqual(await callsFor(t, 'start', FAILED), ['ResetFailedUnit', 'StartUnit']);
  assert.deepEqual(await callsFor(t, 'restart', FAILED), ['ResetFailedUnit', 'RestartUnit']);
  const callsToEnable = await callsFor(t, 'enable', FAILED);
  assert.deepEqual(callsToEnable, ['EnableUnitFiles', 'ResetFailedUnit', 'StartUnit']);
});

test('a unit is reset only before it starts, only if it has failed, and only if systemd could load it again', async (t) => {
  assert.deepEqual(await callsFor(t, 'stop', FAILED), ['StopUnit']);
  const stopped = { ActiveState: 'inactive', SubState: 'dead' };
  assert.deepEqual(await callsFor(t, 'start', stopped), ['StartUnit']);
  // A reset may unload a unit. A transient unit has no lasting file, so it could not be loaded again.
  assert.deepEqual(await callsFor(t, 'start', FAILED, 'transient'), ['StartUnit']);
});

test('disable stops the real unit of an alias, even if the alias was made after the last reading', async (t) => {
  const clock = new ManualClock();
  const { manager, follower } = await followUnits(t, clock, ['alias.service']);
  const aliased = { Id: 'real.service', Names: ['real.service', 'alias.service'], ActiveState: 'active' };
  manager.setUnit('alias.service', aliased);
  // Disabling removes the alias.
  manager.effects.set('DisableUnitFiles', () => manager.units.delete('alias.service'));

  const answer = commandUnit(follower, clock, 'disable', 'alias.service');
  await settle();
  manager.sendJobRemoved(JOB_PATH, 'real.service', 'done');

  assert.deepEqual([await answer, manager.stopCalls], [{ ok: true, value: {} }, ['real.service']]);
});

for (const verb of ['enable', 'disable'] as const) {
  test(`${verb} times out after 9 s if systemd does not answer the readings of the unit`, async (t) => {
    const clock = new ManualClock();
    const { manager, follower } = await followUnits(t, clock, ['x.service']);
    manager.pauseReadings();

    const answer = commandUnit(follower, clock, verb, 'x.service');
    await settle();
    clock.advance(9_000);
    assert.equal(faultOf(await answer), 'timeout');
    assert.deepEqual([clock.timers, manager.stopCalls], [0, []]);
  });
}

type Goal = 'started' | 'stopped';
type JobRow = readonly [
  goal: Goal,
  jobResult: string | undefined,
  facts: Partial<UnitFacts>,
  refusal?: RegExp,
];

function inState(activeState: string, subState: string, more: Partial<UnitFacts> = {}): Partial<UnitFacts> {
  return { activeState, subState, ...more };
}

/**
 * A job result is undefined if the signal of the job's end was missed. Facts without a `result` have the
 * result `success`. After a start, an error in `result` counts only if the unit has ended or is ending, and
 * an unmet condition counts only if the unit is inactive. After a stop, neither counts.
 */
const JOBS: readonly JobRow[] = [
  ['started', 'done', inState('active', 'running')],
  ['started', 'done', inState('active', 'exited')],
  ['started', 'done', inState('inactive', 'dead')],
  ['started', 'done', inState('activating', 'start')],
  ['started', 'done', inState('active', 'running', { result: 'exit-code' })],
  ['started', 'done', inState('active', 'running', { isConditionMet: false })],
  ['started', 'done', inState('failed', 'failed', { result: 'exit-code' }), /failed.*done.*exit-code/],
  ['started', 'done', inState('activating', 'auto-restart', { result: 'signal' }), /again.*signal/],
  ['started', 'done', inState('activating', 'auto-restart-queued', { result: 'signal' }), /again/],
  ['started', 'done', inState('deactivating', 'stop-post', { result: 'exit-code' }), /failing.*exit-code/],
  ['started', 'done', inState('deactivating', 'stop-sigterm', { result: 'signal' }), /failing/],
  ['started', 'done', inState('deactivating', 'stop-sigterm')],
  ['started', 'done', inState('inactive', 'dead', { isConditionMet: false }), /condition/],
  ['started', 'done', inState('inactive', 'dead', { result: 'core-dump' }), /error.*core-dump/],
  ['started', 'failed', inState('failed', 'failed', { result: 'timeout' }), /result is failed.*timeout/],
  ['started', 'canceled', inState('inactive', 'dead'), /canceled/],
  ['started', 'timeout', inState('activating', 'start'), /timeout/],
  ['started', 'dependency', inState('inactive', 'dead'), /dependency.*success/],
  ['started', 'skipped', inState('inactive', 'dead'), /skipped/],
  ['started', 'assert', inState('inactive', 'dead'), /assert/],
  ['started', undefined, inState('active', 'running')],
  ['started', undefined, inState('failed', 'failed'), /unknown/],
  ['stopped', 'done', inState('inactive', 'dead')],
  ['stopped', 'done', inState('failed', 'failed', { result: 'timeout' })],
  ['stopped', 'done', inState('inactive', 'dead', { isConditionMet: false })],
  ['stopped', 'done', inState('deactivating', 'stop-post', { result: 'timeout' })],
  ['stopped', 'canceled', inState('active', 'running'), /canceled/],
  ['stopped', undefined, inState('active', 'running'), /still active/],
];

for (const [goal, jobResult, facts, refusal] of JOBS) {
  const outcome = refusal === undefined ? 'succeeds' : 'is refused';
  test(`a command with the goal ${goal} ${outcome} after the job result ${jobResult} if the facts are ${JSON.stringify(facts)}`, () => {
    const answer = answerAfterJob(goal, jobResult, { ...unknownUnit('x.service'), ...facts });
    assert.equal(faultOf(answer), refusal === undefined ? 'none' : 'refused');
    const detail = answer.ok ? '' : answer.error.detail;
    assert.match(detail, refusal ?? /^$/);
    // Each detail begins with a capital letter. It is empty if nothing is refused.
    assert.match(detail, /^([A-Z]|$)/);
  });
}
