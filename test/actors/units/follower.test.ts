// Tests a follower of units with a scripted manager: reloads, late replies, refusals, aliases and waits.
// test/node/scenarios/systemd.ts has the tests with a real manager.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import type { Interest } from '../../../src/actors/units/unit-reader.js';
import { ManualClock } from '../../manual-clock.js';
import { ScriptedManager, settle } from './scripted-manager.js';

const NAME = 'x.service';
/** A follower waits this long after a reload before it reads (`QUIET_MS` of follower.ts). */
const QUIET_MS = 50;

function setUp(t: TestContext, names: readonly string[] = [NAME], interest: Interest = 'state') {
  const clock = new ManualClock();
  const events: string[] = [];
  const owner = {
    up: () => events.push('up'),
    down: (reason: string) => events.push(`down: ${reason}`),
    changed: (units: readonly { readonly name: string }[]) => events.push(...units.map(({ name }) => name)),
    jobEnded: (job: string, id: string, result: string) => events.push(`${job} of ${id}: ${result}`),
  };
  const manager = new ScriptedManager();
  const follower = new UnitFollower({ names, interest, clock }, owner, manager.busOf);
  for (const name of names) {
    manager.setUnit(name, { ActiveState: 'inactive', SubState: 'dead' });
    manager.files.set(name, 'disabled');
  }
  t.after(() => follower.stop());
  return {
    clock,
    follower,
    manager,
    activeState: () => follower.table.unit(NAME)?.facts.activeState,
    /** The reports to the owner since the last call. */
    takeEvents: () => events.splice(0),
    /** Advances the clock, and then lets promises settle. */
    pass: async (ms: number) => {
      clock.advance(ms);
      await settle();
    },
  };
}

/** Sets up a follower that is up and has no timer. The events and calls so far are removed. */
async function setUpConnected(t: TestContext) {
  const started = setUp(t);
  const { clock, follower, manager, takeEvents } = started;
  await follower.up();
  assert.deepEqual([takeEvents(), clock.timers], [['up'], 0]);
  manager.calls.length = 0;
  return started;
}

test('nothing is reported during a storm of reloads, and after the storm everything is read a single time', async (t) => {
  const { manager, activeState, takeEvents, pass } = await setUpConnected(t);
  manager.sendChange(NAME, { ActiveState: 'active' });
  takeEvents();

  // The pauses are shorter than QUIET_MS, so nothing is read in a pause.
  for (let reload = 0; reload < 5; reload += 1) {
    manager.sendReloading(true);
    manager.sendUnitRemoved(NAME);
    manager.sendReloading(false);
    await pass(20);
  }

  assert.deepEqual(takeEvents(), []);
  assert.equal(activeState(), 'active', 'a removal during a reload does not change the state');

  manager.setUnit(NAME, { ActiveState: 'failed' });
  await pass(QUIET_MS);
  assert.equal(manager.takeCallCount('GetAll'), 1);
  assert.deepEqual([takeEvents(), activeState()], [[NAME], 'failed']);
});

test('a follower with the interest `verdicts` reports each change and job result, also during a reload', async (t) => {
  const { follower, manager, takeEvents } = setUp(t, [NAME], 'verdicts');
  await follower.up();
  takeEvents();

  manager.sendReloading(true);
  manager.sendChange(NAME, { ActiveState: 'failed' });
  manager.sendJobRemoved('/job/1', NAME, 'failed');

  assert.deepEqual(takeEvents(), [NAME, `/job/1 of ${NAME}: failed`]);
});

test('a reload whose end is never announced counts as ended after 30 s', async (t) => {
  const { clock, manager, activeState, takeEvents, pass } = await setUpConnected(t);
  manager.sendReloading(true);
  manager.sendChange(NAME, { ActiveState: 'active' });
  // The reading after the reload finds the same state.
  manager.setUnit(NAME, { ActiveState: 'active' });

  await pass(29_000);
  assert.deepEqual(takeEvents(), []);

  await pass(1_000);
  assert.deepEqual([takeEvents(), activeState(), clock.timers], [[NAME], 'active', 0]);
});

test('a reading is not reported if another reload begins before the answer comes', async (t) => {
  const { manager, takeEvents, pass } = await setUpConnected(t);
  manager.sendReloading(true);
  manager.sendReloading(false);

  const answerReadings = manager.pauseReadings();
  await pass(QUIET_MS);
  manager.sendReloading(true);
  answerReadings();
  await settle();

  assert.deepEqual(takeEvents(), []);
  manager.sendReloading(false);
  await pass(QUIET_MS);
  assert.deepEqual(takeEvents(), [NAME]);
});

test('after a new connection the follower subscribes again, and reads everything', async (t) => {
  const { follower, manager, activeState, takeEvents } = await setUpConnected(t);
  const matchesBefore = manager.matches.splice(0);

  follower.down('gone');
  manager.setUnit(NAME, { ActiveState: 'active' });
  await follower.up();

  assert.deepEqual(
    [takeEvents(), manager.matches, activeState()],
    [['down: gone', 'up'], matchesBefore, 'active'],
  );
  assert.ok(matchesBefore.length > 0);
});

test('late replies of an old connection are ignored', async (t) => {
  const { follower, manager, takeEvents } = setUp(t);
  const answerReadings = manager.pauseReadings();
  const connected = follower.up();
  await settle();

  follower.down('gone');
  answerReadings();
  await connected;
  await settle();

  assert.deepEqual(takeEvents(), ['down: gone']);
});

const dbusError = (name: string) =>
  ({ ok: false, error: { kind: 'dbus', name: `org.freedesktop.DBus.Error.${name}`, text: '' } }) as const;

test('if the bus answers TimedOut in place of the manager, the units are read again, and no unit gets a problem', async (t) => {
  const { clock, follower, manager, takeEvents, pass } = setUp(t);
  manager.refusals.set('GetUnitFileState', dbusError('TimedOut'));
  await follower.up();
  assert.deepEqual(takeEvents(), ['down: org.freedesktop.DBus.Error.TimedOut']);
  assert.equal(clock.timers, 1, 'another attempt is planned');

  manager.refusals.clear();
  // The wait before another attempt is shorter than 60 s (`backoffMs` in host/clock.ts).
  await pass(60_000);
  assert.deepEqual(takeEvents(), ['up']);
  assert.equal(follower.table.unit(NAME)?.file.problem, undefined);
});

// systemd answers LimitsExceeded for a file with a line of more than 1 MiB.
for (const name of ['AccessDenied', 'LimitsExceeded']) {
  test(`if systemd answers ${name} about a unit's file, this unit has a problem, but the follower is up`, async (t) => {
    const { follower, manager, takeEvents } = setUp(t);
    manager.refusals.set('GetUnitFileState', dbusError(name));
    await follower.up();
    assert.deepEqual(takeEvents(), ['up']);
    assert.equal(follower.table.unit(NAME)?.file.problem, `org.freedesktop.DBus.Error.${name}`);
  });
}

test('a unit that is followed under an alias is watched under its primary name', async (t) => {
  const { follower, manager, activeState } = setUp(t);
  manager.units.set(NAME, { Id: 'real.service', Names: ['real.service', NAME] });
  await follower.up();

  assert.ok(manager.matches.some(({ arg0 }) => arg0 === 'real.service'));
  manager.sendChange('real.service', { ActiveState: 'active' });
  assert.equal(activeState(), 'active');
});

test('a wait for a state ends when the unit has this state, even during a reload, when no state is reported', async (t) => {
  const { follower, manager, takeEvents } = await setUpConnected(t);
  const reached = follower.waitUntil(NAME, ({ facts }) => facts.activeState === 'failed', 1_000);

  manager.sendReloading(true);
  manager.sendChange(NAME, { ActiveState: 'active' });
  manager.sendChange(NAME, { ActiveState: 'failed' });

  await reached;
  assert.deepEqual(takeEvents(), []);
});

test('a stop of the follower ends its waits, its timers and its bus', async (t) => {
  const { follower, manager, clock } = await setUpConnected(t);
  manager.sendReloading(true);
  const wait = follower.waits.forJob('/job/1', NAME, 1_000);

  follower.stop();
  assert.deepEqual([await wait, clock.timers, manager.isStopped], [{ kind: 'away' }, 0, true]);
});
