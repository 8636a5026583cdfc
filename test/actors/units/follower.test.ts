// A follower over a scripted manager: reloads without a signal of their end, and late replies. A real one:
// test/node/scenarios/systemd.ts.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import type { Interest } from '../../../src/actors/units/unit-reader.js';
import { ManualClock } from '../../manual-clock.js';
import { ScriptedManager, settle } from './scripted-manager.js';

const NAME = 'x.service';

function setUp(t: TestContext, names: readonly string[] = ['x.service'], interest: Interest = 'state') {
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
    state: () => follower.table.unit(NAME)?.facts.activeState,
    /** The lines since the last call. */
    taken: () => events.splice(0),
    pass: async (ms: number) => {
      clock.advance(ms);
      await settle();
    },
  };
}

async function up(t: TestContext) {
  const all = setUp(t);
  await all.follower.up();
  assert.deepEqual([all.taken(), all.clock.timers], [['up'], 0], 'at rest it waits for nothing');
  all.manager.takeCallCount('');
  return all;
}

test('nothing is published during a reload; everything is read once after it, also after a storm of reloads', async (t) => {
  const { manager, state, taken, pass } = await up(t);
  manager.sendChange('x.service', { ActiveState: 'active' });
  taken();
  for (let each = 0; each < 5; each += 1) {
    manager.sendReloading(true);
    manager.sendUnitRemoved('x.service');
    manager.sendReloading(false);
    await pass(20);
  }
  assert.deepEqual(taken(), []);
  assert.equal(state(), 'active', 'what seems to go in a reload stays');
  manager.setUnit('x.service', { ActiveState: 'failed' });
  await pass(50);
  assert.equal(manager.takeCallCount('GetAll'), 1);
  assert.deepEqual([taken(), state()], [['x.service'], 'failed']);
});

test('a follower that needs verdicts gets every change, also during a reload, and the results of jobs', async (t) => {
  const { follower, manager, taken } = setUp(t, [NAME], 'verdicts');
  await follower.up();
  taken();
  manager.sendReloading(true);
  manager.sendChange(NAME, { ActiveState: 'failed' });
  manager.sendJobRemoved('/job/1', NAME, 'failed');
  assert.deepEqual(taken(), [NAME, `/job/1 of ${NAME}: failed`]);
});

test('a reload whose end is never announced counts as ended after 30 s', async (t) => {
  const { clock, manager, state, taken, pass } = await up(t);
  manager.sendReloading(true);
  manager.sendChange('x.service', { ActiveState: 'active' });
  manager.setUnit('x.service', { ActiveState: 'active' });
  await pass(29_000);
  assert.deepEqual(taken(), []);
  await pass(1_000);
  assert.deepEqual([taken(), state(), clock.timers], [['x.service'], 'active', 0]);
});

test('a reading that began before the next reload is not published', async (t) => {
  const { manager, taken, pass } = await up(t);
  for (const begins of [true, false]) manager.sendReloading(begins);
  const open = manager.pauseReadings();
  await pass(50);
  manager.sendReloading(true);
  open();
  await settle();
  assert.deepEqual(taken(), []);
  manager.sendReloading(false);
  await pass(50);
  assert.deepEqual(taken(), ['x.service']);
});

test('after a new connection the follower subscribes again, and reads everything', async (t) => {
  const { follower, manager, state, taken } = await up(t);
  const first = manager.matches.splice(0);
  follower.down('gone');
  manager.setUnit(NAME, { ActiveState: 'active' });
  await follower.up();
  assert.deepEqual([taken(), manager.matches, state()], [['down: gone', 'up'], first, 'active']);
  assert.ok(first.length > 0);
});

test('late replies of an old connection are ignored', async (t) => {
  const { follower, manager, taken } = setUp(t);
  const open = manager.pauseReadings();
  const begun = follower.up();
  await settle();
  follower.down('gone');
  open();
  await begun;
  await settle();
  assert.deepEqual(taken(), ['down: gone']);
});

test('the unit behind an alias is watched', async (t) => {
  const { follower, manager, state } = setUp(t);
  manager.units.set('x.service', { Id: 'real.service', Names: ['real.service', 'x.service'] });
  await follower.up();
  assert.ok(manager.matches.some(({ arg0 }) => arg0 === 'real.service'));
  manager.sendChange('real.service', { ActiveState: 'active' });
  assert.equal(state(), 'active');
});

test('a wait for a state ends when it is reached, also while a reload keeps it from being published', async (t) => {
  const { follower, manager, taken } = await up(t);
  const reached = follower.waitUntil(NAME, ({ facts }) => facts.activeState === 'failed', 1_000);
  manager.sendReloading(true);
  manager.sendChange('x.service', { ActiveState: 'active' });
  manager.sendChange('x.service', { ActiveState: 'failed' });
  await reached;
  assert.deepEqual(taken(), []);
});

test('a follower that is stopped leaves nothing behind', async (t) => {
  const { follower, manager, clock } = await up(t);
  manager.sendReloading(true);
  const end = follower.waits.forJob('/job/1', NAME, 1_000);
  follower.stop();
  assert.deepEqual([await end, clock.timers, manager.isStopped], [{ kind: 'away' }, 0, true]);
});
