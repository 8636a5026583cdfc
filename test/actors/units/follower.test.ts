// A follower over a scripted manager: reloads without a signal of their end, signals that overtake answers, refusals.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { UnitFollower } from '../../../src/actors/units/follower.js';
import type { Interest } from '../../../src/actors/units/unit-reader.js';
import { ManualClock } from '../../manual-clock.js';
import { ScriptedManager, settle } from './scripted-manager.js';

const NAME = 'x.service';
const REFUSED = { ok: false, error: { kind: 'dbus', name: 'org.x.Error.No', text: 'refused' } } as const;
const NOBODY = {
  ok: false,
  error: { kind: 'dbus', name: 'org.freedesktop.DBus.Error.NameHasNoOwner', text: 'nobody' },
} as const;

function setUp(t: TestContext, names: readonly string[] = ['x.service'], interest: Interest = 'state') {
  const clock = new ManualClock();
  const said: string[] = [];
  const owner = {
    up: (noSignals: string | undefined) => said.push(noSignals === undefined ? 'up' : `up: ${noSignals}`),
    down: (reason: string) => said.push(`down: ${reason}`),
    changed: (units: readonly { readonly name: string }[]) => said.push(...units.map(({ name }) => name)),
    jobEnded: (job: string, id: string, result: string) => said.push(`${job} of ${id}: ${result}`),
  };
  const manager = new ScriptedManager();
  const follower = new UnitFollower({ names, interest, clock }, owner, manager.busOf);
  for (const name of names) {
    manager.unitIs(name, { ActiveState: 'inactive', SubState: 'dead' });
    manager.files.set(name, 'disabled');
  }
  t.after(() => follower.stop());
  return {
    clock,
    follower,
    manager,
    state: () => follower.table.unit(NAME)?.facts.activeState,
    /** The lines since the last call. */
    taken: () => said.splice(0),
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
  all.manager.counted('');
  return all;
}

test('a signal is applied without a reading', async (t) => {
  const { manager, state, taken } = await up(t);
  manager.changed('x.service', { ActiveState: 'active' });
  await settle();
  assert.equal(state(), 'active');
  assert.deepEqual(taken(), ['x.service']);
  assert.equal(manager.counted('GetAll'), 0);
});

test('units that are loaded and unloaded are not read: that would go on for ever', async (t) => {
  const { manager, pass } = await up(t);
  for (let each = 0; each < 10; each += 1) manager.unitRemoved('x.service');
  await pass(1_000);
  assert.equal(manager.counted('GetAll'), 0);
});

test('a signal that overtakes a reply wins', async (t) => {
  const { follower, manager, state } = await up(t);
  const open = manager.hold();
  const read = follower.refresh([NAME]);
  manager.changed('x.service', { ActiveState: 'failed' });
  open();
  await read;
  assert.equal(state(), 'failed');
});

test('readings of one unit do not pile up', async (t) => {
  const { follower, manager } = await up(t);
  await Promise.all(Array.from({ length: 10 }, () => follower.refresh([NAME])));
  assert.equal(manager.counted('GetAll'), 2, 'one under way, one behind it');
});

test('nothing is published during a reload; everything is read once after it, also after a storm of reloads', async (t) => {
  const { manager, state, taken, pass } = await up(t);
  manager.changed('x.service', { ActiveState: 'active' });
  taken();
  for (let each = 0; each < 5; each += 1) {
    manager.reloading(true);
    manager.unitRemoved('x.service');
    manager.reloading(false);
    await pass(20);
  }
  assert.deepEqual(taken(), []);
  assert.equal(state(), 'active', 'what seems to go in a reload stays');
  manager.unitIs('x.service', { ActiveState: 'failed' });
  await pass(50);
  assert.equal(manager.counted('GetAll'), 1);
  assert.deepEqual([taken(), state()], [['x.service'], 'failed']);
});

test('who waits for verdicts gets every change, also during a reload, and the results of jobs', async (t) => {
  const { follower, manager, taken } = setUp(t, [NAME], 'verdicts');
  await follower.up();
  taken();
  manager.reloading(true);
  manager.changed(NAME, { ActiveState: 'failed' });
  manager.jobRemoved('/job/1', NAME, 'failed');
  assert.deepEqual(taken(), [NAME, `/job/1 of ${NAME}: failed`]);
});

test('readings include how a run ended only for who waits for verdicts', async (t) => {
  for (const [interest, result] of [
    ['runs', 'success'],
    ['verdicts', 'exit-code'],
  ] as const) {
    const { follower, manager } = setUp(t, [NAME], interest);
    manager.unitIs(NAME, { ActiveState: 'failed' });
    manager.results.set(NAME, 'exit-code');
    await follower.up();
    assert.equal(follower.table.unit(NAME)?.facts.result, result);
  }
});

test('a reload without an end ends after 30 s', async (t) => {
  const { clock, manager, state, taken, pass } = await up(t);
  manager.reloading(true);
  manager.changed('x.service', { ActiveState: 'active' });
  manager.unitIs('x.service', { ActiveState: 'active' });
  await pass(29_000);
  assert.deepEqual(taken(), []);
  await pass(1_000);
  assert.deepEqual([taken(), state(), clock.timers], [['x.service'], 'active', 0]);
});

test('an endless storm of reloads is not waited for', async (t) => {
  const { manager, state, taken, pass } = await up(t);
  for (let at = 0; at < 6_000; at += 20) {
    manager.reloading(true);
    manager.unitRemoved('x.service');
    manager.reloading(false);
    if (at === 1_000) manager.unitIs('x.service', { ActiveState: 'active' });
    await pass(20);
  }
  assert.equal(state(), 'active');
  assert.ok(taken().includes('x.service'));
});

test('the file state is read after files changed, once for a burst', async (t) => {
  const { follower, manager, pass } = await up(t);
  manager.files.set('x.service', 'enabled');
  for (let each = 0; each < 10; each += 1) manager.unitFilesChanged();
  await pass(50);
  assert.equal(manager.counted('GetUnitFileState'), 1);
  assert.equal(follower.table.unit(NAME)?.fileState, 'enabled');
});

const CROWD = Array.from({ length: 300 }, (_, n) => `unit-${n}.service`);

/** Each row does one thing to all units of a crowd; afterwards the follower must know every single one. */
const CROWD_CHANGES: readonly (readonly [
  what: string,
  act: (all: ReturnType<typeof setUp>) => Promise<void>,
])[] = [
  [
    'their files changed',
    async ({ manager, pass }) => {
      manager.unitFilesChanged();
      await pass(50);
    },
  ],
  [
    'each was let go',
    async ({ manager }) => {
      for (const name of CROWD) manager.unitRemoved(name);
      await settle();
    },
  ],
  [
    'each was asked for by itself',
    async ({ follower }) => {
      await Promise.all(CROWD.map((name) => follower.refresh([name])));
    },
  ],
];

for (const [what, act] of CROWD_CHANGES) {
  test(`300 units, more than a connection takes calls at once, are all read: ${what}`, async (t) => {
    const all = setUp(t, CROWD);
    await all.follower.up();
    for (const name of CROWD) all.manager.files.set(name, 'enabled');
    await act(all);
    const missed = all.follower.table.units().filter(({ fileState }) => fileState !== 'enabled');
    assert.deepEqual(missed, []);
  });
}

test('refused signals leave the scope up with a detail, and are requested again until granted', async (t) => {
  const { follower, manager, taken, pass, clock } = setUp(t);
  manager.refusals.set('Subscribe', REFUSED);
  await follower.up();
  assert.deepEqual(taken(), ['up: refused']);
  assert.equal(follower.hasSignals, false);
  await pass(250);
  assert.equal(follower.hasSignals, false);
  manager.refusals.clear();
  taken();
  await pass(500);
  assert.deepEqual(taken(), ['up']);
  assert.equal(clock.timers, 0);
});

test('an error of the manager about unit files is no reason to reconnect, and the unit stays', async (t) => {
  const { follower, manager, taken, pass } = setUp(t);
  const error = { kind: 'dbus', name: 'System.Error.EISDIR', text: 'Is a directory' } as const;
  manager.refusals.set('GetUnitFileState', { ok: false, error });
  await follower.up();
  manager.unitRemoved(NAME);
  manager.unitFilesChanged();
  await pass(50);
  assert.deepEqual(taken(), ['up', NAME, NAME]);
  const { fileState, fileTrouble, facts } = follower.table.unit(NAME) ?? assert.fail();
  assert.deepEqual([fileState, fileTrouble, facts.loadState], [undefined, 'Is a directory', 'loaded']);
  manager.refusals.clear();
  manager.unitFilesChanged();
  await pass(50);
  assert.equal(follower.table.unit(NAME)?.fileTrouble, undefined);
});

test('a bus without a manager is down until one appears', async (t) => {
  const { follower, manager, taken, pass } = setUp(t);
  for (const member of ['Subscribe', 'GetAll', 'GetUnitFileState']) manager.refusals.set(member, NOBODY);
  await follower.up();
  assert.deepEqual(taken(), ['down: nobody']);
  await pass(250);
  manager.refusals.clear();
  follower.ownerChanged('org.freedesktop.systemd1', true);
  await settle();
  assert.deepEqual(taken().slice(-1), ['up']);
});

test('a manager that is replaced at once causes no outage, one that leaves does', async (t) => {
  const { follower, taken } = await up(t);
  follower.ownerChanged('org.freedesktop.systemd1', true);
  await settle();
  assert.deepEqual(taken(), ['up']);
  follower.ownerChanged('org.freedesktop.systemd1', false);
  assert.deepEqual(taken(), ['down: systemd is not on the bus']);
});

test('late replies of an old connection are ignored', async (t) => {
  const { follower, manager, taken } = setUp(t);
  const open = manager.hold();
  const begun = follower.up();
  await settle();
  follower.down('gone');
  open();
  await begun;
  await settle();
  assert.deepEqual(taken(), ['down: gone']);
});

test('a unit that did not exist and runs now is read', async (t) => {
  const { follower, manager } = setUp(t);
  manager.units.clear();
  manager.files.clear();
  await follower.up();
  manager.unitIs('x.service', { ActiveState: 'active', Description: 'Here' });
  manager.changed('x.service', { ActiveState: 'active' });
  await settle();
  assert.equal(follower.table.unit(NAME)?.facts.description, 'Here');
});

test('the unit behind an alias is watched', async (t) => {
  const { follower, manager, state } = setUp(t);
  manager.units.set('x.service', { Id: 'real.service', Names: ['real.service', 'x.service'] });
  await follower.up();
  assert.ok(manager.matches.some(({ arg0 }) => arg0 === 'real.service'));
  manager.changed('real.service', { ActiveState: 'active' });
  assert.equal(state(), 'active');
});

test('a job that is gone after the manager was replaced is over', async (t) => {
  const { follower } = await up(t);
  const { end } = follower.jobs.wait('/job/1', NAME);
  follower.ownerChanged('org.freedesktop.systemd1', true);
  assert.deepEqual(await end, { kind: 'ended' });
});

test('who waits for a state gets it, also while a reload holds it back from the publisher', async (t) => {
  const { follower, manager, taken } = await up(t);
  const { end, forget } = follower.wait(NAME, ({ facts }) => facts.activeState === 'failed');
  manager.reloading(true);
  manager.changed('x.service', { ActiveState: 'active' });
  manager.changed('x.service', { ActiveState: 'failed' });
  await end;
  forget();
  assert.deepEqual(taken(), []);
});

test('a follower that is stopped holds nothing', async (t) => {
  const { follower, manager, clock } = await up(t);
  manager.reloading(true);
  const { end } = follower.jobs.wait('/job/1', NAME);
  follower.stop();
  assert.deepEqual([await end, clock.timers, manager.stopped], [{ kind: 'away' }, 0, true]);
});
