// Tests how the check unit and the upgrade unit are started and followed. A scripted manager replaces
// systemd, and causes situations that a real systemd cannot be made to cause.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UpgradePublisher } from '../../../src/actors/upgrade/publisher.js';
import { RunKeeper } from '../../../src/actors/upgrade/run-keeper.js';
import { UpgradeUnits } from '../../../src/actors/upgrade/upgrade-units.js';
import type { Collection } from '../../../src/protocol/actor/collections.js';
import { ManualClock } from '../../manual-clock.js';
import { Recorder } from '../recorder.js';
import { JOB_PATH, ScriptedManager, settle } from '../units/scripted-manager.js';

const UNIT = 'up.service';
const CHECK_UNIT = 'check.service';
/** A `ConditionTimestamp` other than 0 means that systemd has checked the conditions of the unit. */
const AT_REST = { ActiveState: 'inactive', SubState: 'dead', ConditionResult: true, ConditionTimestamp: 1n };
const INVOCATION = Uint8Array.of(2);
const NEXT_INVOCATION = Uint8Array.of(3);
const CHECK_AT_WORK = { ActiveState: 'activating', SubState: 'start', InvocationID: INVOCATION };
const CHECK_FAILED = { ActiveState: 'failed', SubState: 'failed', InvocationID: INVOCATION };
const CHECK_WAITING = { ActiveState: 'activating', SubState: 'auto-restart', InvocationID: INVOCATION };

class CheckRecorder extends Recorder {
  /** The published states of the check, in order. */
  readonly checkStates: string[] = [];

  override put(collection: Collection, key: string, json: string): void {
    super.put(collection, key, json);
    if (collection === 'upgrade.check') this.checkStates.push(JSON.parse(json).state);
  }
}

async function startUnits(t: TestContext) {
  const clock = new ManualClock();
  const manager = new ScriptedManager();
  const names = { checkUnit: CHECK_UNIT, upgradeUnit: UNIT };
  const settings = { enabled: true, progressSocket: '/s', stateFile: '/f', ...names };
  const recorder = new CheckRecorder();
  const publisher = new UpgradePublisher(settings, recorder, clock);
  const runStates: string[] = [];
  const owner = {
    changed: ({ state }: { readonly state: string }) => runStates.push(state),
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
  for (const unit of [UNIT, CHECK_UNIT]) {
    manager.setUnit(unit, AT_REST);
    manager.files.set(unit, 'static');
  }
  await manager.up();
  await settle();
  runStates.length = 0;
  recorder.checkStates.length = 0;
  return { manager, units, runStates, recorder, clock };
}

test('a run is not lost if systemd unloads the unit before systemd answers the start', async (t) => {
  const { manager, units, runStates } = await startUnits(t);
  // An effect of a method is what systemd does between the call and its answer.
  manager.effects.set('StartUnit', () => {
    const working = { ActiveState: 'activating', SubState: 'start', InvocationID: INVOCATION };
    manager.sendChange(UNIT, { ...working, Job: [1, JOB_PATH] });
    manager.sendJobRemoved(JOB_PATH, UNIT, 'done');
    manager.sendChange(UNIT, { ...AT_REST, InvocationID: INVOCATION, Job: [0, '/'] });
    manager.sendUnitRemoved(UNIT);
  });

  assert.deepEqual(await units.startUpgrade(), { ok: true, value: { job: JOB_PATH, jobResult: 'done' } });
  assert.deepEqual([...new Set(runStates)], ['running', 'idle']);
});

const STARTS = [
  { title: 'an upgrade', unit: UNIT, start: (units: UpgradeUnits) => units.startUpgrade() },
  { title: 'a check', unit: CHECK_UNIT, start: (units: UpgradeUnits) => units.startCheck() },
];

for (const { title, unit, start } of STARTS) {
  test(`${title} is refused if a condition of its unit is not met, even if the unit has run before`, async (t) => {
    const { manager, units } = await startUnits(t);
    // The unit has run, and was then unloaded.
    manager.sendChange(unit, { ...AT_REST, InvocationID: INVOCATION });
    manager.sendUnitRemoved(unit);
    // systemd checks the condition during the start. The result of the job is `done` even if the condition is
    // not met.
    manager.effects.set('StartUnit', () => {
      manager.sendChange(unit, { ...AT_REST, ConditionResult: false });
      manager.sendJobRemoved(JOB_PATH, unit, 'done');
    });

    const answer = await start(units);
    assert.ok(!answer.ok);
    assert.match(answer.error.detail, /a condition of the unit is not met/);
  });

  test(`${title} is refused if its unit requires another unit, which fails`, async (t) => {
    const { manager, units } = await startUnits(t);
    manager.effects.set('StartUnit', () => manager.sendJobRemoved(JOB_PATH, unit, 'dependency'));

    const answer = await start(units);
    assert.ok(!answer.ok);
    assert.match(answer.error.detail, /the job's result is dependency/);
  });

  test(`${title} resets its unit before the start if the unit has failed`, async (t) => {
    const { manager, units } = await startUnits(t);
    manager.sendChange(unit, { ActiveState: 'failed', SubState: 'failed', InvocationID: INVOCATION });
    await settle();
    manager.calls.length = 0;
    manager.effects.set('StartUnit', () => manager.sendChange(unit, { InvocationID: NEXT_INVOCATION }));
    assert.ok((await start(units)).ok);
    assert.deepEqual(manager.calls, ['ResetFailedUnit', 'StartUnit']);
  });

  test(`${title} is accepted if its unit is still queued after eight seconds`, async (t) => {
    const { manager, units, clock } = await startUnits(t);
    const answer = start(units);
    await settle();
    assert.equal(manager.takeCallCount('StartUnit'), 1);
    clock.advance(8_000);
    assert.deepEqual(await answer, { ok: true, value: { job: JOB_PATH } });
  });
}

test('a check is accepted at once while its unit is at work, although the start brings no new invocation', async (t) => {
  const { manager, units } = await startUnits(t);
  manager.sendChange(CHECK_UNIT, CHECK_AT_WORK);
  manager.effects.set('StartUnit', () => manager.sendJobRemoved(JOB_PATH, CHECK_UNIT, 'done'));
  assert.ok((await units.startCheck()).ok);
});

test('a check restarts its unit if the unit has exited, but has stayed active, because StartUnit would do nothing', async (t) => {
  const { manager, units } = await startUnits(t);
  const exited = { ActiveState: 'active', SubState: 'exited' };
  manager.effects.set('StartUnit', () =>
    manager.sendChange(CHECK_UNIT, { ...exited, InvocationID: INVOCATION }),
  );
  manager.effects.set('RestartUnit', () =>
    manager.sendChange(CHECK_UNIT, { ...exited, InvocationID: NEXT_INVOCATION }),
  );
  const expected = { ok: true, value: { job: JOB_PATH } };
  assert.deepEqual(await units.startCheck(), expected);
  assert.equal(manager.takeCallCount('StartUnit'), 1);

  assert.deepEqual(await units.startCheck(), expected);
  assert.deepEqual(manager.calls, ['RestartUnit']);
});

test('a check counts as failed only when systemd does not restart its unit any more', async (t) => {
  const { manager, recorder } = await startUnits(t);
  const failureLineCount = () =>
    recorder.logs.filter((line) => line === 'warn: the check unit failed').length;
  manager.sendChange(CHECK_UNIT, CHECK_AT_WORK);
  // At the signal of the failure the daemon reads the unit once more (`GetAll`). Before systemd answers this
  // call, it sends the signal of the coming restart.
  manager.setUnit(CHECK_UNIT, CHECK_WAITING);
  manager.effects.set('GetAll', () => manager.sendChange(CHECK_UNIT, CHECK_WAITING));
  manager.sendChange(CHECK_UNIT, CHECK_FAILED);
  await settle();
  assert.deepEqual([recorder.checkStates, failureLineCount()], [['running'], 0]);

  manager.effects.clear();
  manager.sendChange(CHECK_UNIT, { ...CHECK_AT_WORK, InvocationID: NEXT_INVOCATION });
  manager.setUnit(CHECK_UNIT, CHECK_FAILED);
  manager.sendChange(CHECK_UNIT, { ...CHECK_FAILED, InvocationID: NEXT_INVOCATION });
  await settle();
  assert.deepEqual([recorder.checkStates, failureLineCount()], [['running', 'failed'], 1]);
});

test('a failed check counts as failed even if systemd unloads its unit at once', async (t) => {
  const { manager, recorder } = await startUnits(t);
  manager.sendChange(CHECK_UNIT, CHECK_AT_WORK);
  manager.units.delete(CHECK_UNIT);
  manager.sendChange(CHECK_UNIT, CHECK_FAILED);
  manager.sendUnitRemoved(CHECK_UNIT);
  await settle();
  assert.deepEqual(recorder.checkStates, ['running', 'failed']);
});

test('a failed check counts as failed even if its unit cannot be read again', async (t) => {
  const { manager, recorder } = await startUnits(t);
  manager.sendChange(CHECK_UNIT, CHECK_AT_WORK);
  manager.refusals.set('GetAll', { ok: false, error: { kind: 'timeout' } });
  manager.sendChange(CHECK_UNIT, CHECK_FAILED);
  await settle();
  assert.deepEqual(recorder.checkStates, ['running', 'failed']);
});
