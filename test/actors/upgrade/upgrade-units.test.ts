// Starts of the check unit and the upgrade unit by a scripted manager, for moments that no real systemd can
// be made to have.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UpgradePublisher } from '../../../src/actors/upgrade/publisher.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import { UpgradeUnits } from '../../../src/actors/upgrade/upgrade-units.js';
import { ManualClock } from '../../manual-clock.js';
import { Recorder } from '../recorder.js';
import { JOB_PATH, ScriptedManager, settle } from '../units/scripted-manager.js';

const UNIT = 'up.service';
const CHECK_UNIT = 'check.service';
/** A `ConditionTimestamp` other than 0 means that systemd has checked the conditions of the unit. */
const AT_REST = { ActiveState: 'inactive', SubState: 'dead', ConditionResult: true, ConditionTimestamp: 1n };
const INVOCATION = Uint8Array.of(2);

async function startUnits(t: TestContext) {
  const clock = new ManualClock();
  const manager = new ScriptedManager();
  const names = { checkUnit: CHECK_UNIT, upgradeUnit: UNIT };
  const settings = { enabled: true, progressSocket: '/s', stateFile: '/f', ...names };
  const publisher = new UpgradePublisher(settings, new Recorder(), clock);
  const states: string[] = [];
  const owner = {
    changed: ({ state }: { readonly state: string }) => states.push(state),
    save: () => undefined,
    readUnit: () => units.readUpgradeUnit(),
  };
  const keeper = new RunKeeper({ boot: 'b', manager: '', unit: UNIT }, owner, clock);
  const dependencies = {
    bus: {},
    bootId: 'b',
    clock,
    settings,
    keeper,
    publisher,
    ready: Promise.resolve(),
    wasStopped: async () => false,
  };
  // The scripted manager replaces the user's bus.
  const units = new UpgradeUnits(dependencies, manager.busOf as never);
  t.after(() => units.stop());
  for (const unit of [UNIT, CHECK_UNIT]) manager.setUnit(unit, AT_REST);
  await manager.up();
  await settle();
  states.length = 0;
  return { manager, units, states };
}

test('a run is not forgotten if systemd unloads the unit before answering the start', async (t) => {
  const { manager, units, states } = await startUnits(t);
  manager.effects.set('StartUnit', () => {
    const working = { ActiveState: 'activating', SubState: 'start', InvocationID: INVOCATION };
    manager.sendChange(UNIT, { ...working, Job: [1, JOB_PATH] });
    manager.sendJobRemoved(JOB_PATH, UNIT, 'done');
    manager.sendChange(UNIT, { ...AT_REST, InvocationID: INVOCATION, Job: [0, '/'] });
    manager.sendUnitRemoved(UNIT);
  });

  assert.deepEqual(await units.startUpgrade(), { ok: true, value: { job: JOB_PATH, jobResult: 'done' } });
  assert.deepEqual([...new Set(states)], ['running', 'idle']);
});

test('a start is refused if a condition of the unit is not met, even if the unit has run before', async (t) => {
  const { manager, units } = await startUnits(t);
  manager.sendChange(UNIT, { ...AT_REST, InvocationID: INVOCATION });
  manager.sendUnitRemoved(UNIT);
  manager.effects.set('StartUnit', () => {
    manager.sendChange(UNIT, { ...AT_REST, ConditionResult: false });
    manager.sendJobRemoved(JOB_PATH, UNIT, 'done');
  });

  const answer = await units.startUpgrade();
  assert.ok(!answer.ok);
  assert.match(answer.error.detail, /a condition of the unit is not met/);
});

test('a check unit that has exited, but has stayed active, is restarted, because StartUnit has no effect on it', async (t) => {
  const { manager, units } = await startUnits(t);
  const answer = { ok: true, value: { job: JOB_PATH } };
  assert.deepEqual(await units.startCheck(), answer);
  assert.equal(manager.takeCallCount('StartUnit'), 1);

  manager.sendChange(CHECK_UNIT, { ActiveState: 'active', SubState: 'exited', InvocationID: INVOCATION });
  assert.deepEqual(await units.startCheck(), answer);
  assert.deepEqual(manager.calls, ['RestartUnit']);
});
