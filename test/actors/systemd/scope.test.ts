// A scope over a scripted manager: reloads whose end is never told, signals that overtake answers, refusals.

import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Scope } from '../../../src/actors/systemd/scope.js';
import { watchedUnits } from '../../../src/actors/systemd/whitelist.js';
import { ManualClock } from '../manual-clock.js';
import { ScriptedManager } from './scripted-manager.js';

const KEY = 'system/x.service';
const REFUSED = { ok: false, error: { kind: 'dbus', name: 'org.x.Error.No', text: 'refused' } } as const;
const NOBODY = {
  ok: false,
  error: { kind: 'dbus', name: 'org.freedesktop.DBus.Error.NameHasNoOwner', text: 'nobody' },
} as const;

/** Lets promises settle that wait for nothing outside. */
async function settle(): Promise<void> {
  for (let each = 0; each < 20; each += 1) await turn();
}

function setUp(t: TestContext, names: readonly string[] = ['x.service']) {
  const clock = new ManualClock();
  const said: string[] = [];
  const listener = {
    whole: (_: string, detail: string | undefined) =>
      said.push(detail === undefined ? 'whole' : `whole: ${detail}`),
    away: (_: string, reason: string) => said.push(`away: ${reason}`),
    touched: (rows: readonly { readonly watched: { readonly name: string } }[]) =>
      said.push(...rows.map(({ watched }) => watched.name)),
    certain: () => said.push('certain'),
  };
  const plan = {
    scope: 'system',
    watched: watchedUnits({ system: names.map((name) => ({ name })), user: [], internal: [] }),
    unitsDirectory: join(tmpdir(), 'tonearm-no-such-folder'),
    clock,
  } as const;
  const made: ScriptedManager[] = [];
  const scope = new Scope(plan, listener, (owner) => {
    const manager = new ScriptedManager(owner);
    made.push(manager);
    return manager;
  });
  const [manager] = made;
  assert.ok(manager);
  for (const name of names) {
    manager.unitIs(name, { ActiveState: 'inactive', SubState: 'dead' });
    manager.files.set(name, 'disabled');
  }
  t.after(() => scope.stop());
  return {
    clock,
    scope,
    manager,
    state: () => scope.table.row(KEY)?.facts.activeState,
    /** What was said since the last look. */
    taken: () => said.splice(0),
    pass: async (ms: number) => {
      clock.pass(ms);
      await settle();
    },
  };
}

async function up(t: TestContext) {
  const all = setUp(t);
  await all.scope.up();
  assert.deepEqual(all.taken(), ['whole', 'x.service']);
  all.manager.counted('');
  return all;
}

test('it is whole when everything has been read', async (t) => {
  const { scope } = await up(t);
  assert.equal(scope.absence, undefined);
});

test('at rest it waits for nothing', async (t) => {
  const { clock } = await up(t);
  assert.equal(clock.waiting, 0);
});

test('a signal is believed without reading', async (t) => {
  const { manager, state, taken } = await up(t);
  manager.changed('x.service', { ActiveState: 'active' });
  await settle();
  assert.equal(state(), 'active');
  assert.deepEqual(taken(), ['x.service']);
  assert.equal(manager.counted('GetAll'), 0);
});

test('units that come and go do not make it read them: that would go on for ever', async (t) => {
  const { manager, pass } = await up(t);
  for (let each = 0; each < 10; each += 1) manager.unitRemoved('x.service');
  await pass(1_000);
  assert.equal(manager.counted('GetAll'), 0);
});

test('a signal that overtakes an answer wins', async (t) => {
  const { scope, manager, state } = await up(t);
  let open = (): void => undefined;
  manager.gate = new Promise((resolve) => {
    open = resolve;
  });
  const read = scope.refresh(KEY);
  manager.changed('x.service', { ActiveState: 'failed' });
  open();
  await read;
  assert.equal(state(), 'failed');
});

test('readings of one unit do not pile up', async (t) => {
  const { scope, manager } = await up(t);
  await Promise.all(Array.from({ length: 10 }, () => scope.refresh(KEY)));
  assert.equal(manager.counted('GetAll'), 2, 'one under way, one behind it');
});

test('nothing is told during a reload; everything is read after it, and a storm is one', async (t) => {
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
  assert.deepEqual([taken(), state()], [['x.service', 'certain'], 'failed']);
});

test('a reload whose end is never told ends after 30 s', async (t) => {
  const { clock, manager, state, taken, pass } = await up(t);
  manager.reloading(true);
  manager.changed('x.service', { ActiveState: 'active' });
  manager.unitIs('x.service', { ActiveState: 'active' });
  await pass(29_000);
  assert.deepEqual(taken(), []);
  await pass(1_000);
  assert.deepEqual([taken(), state(), clock.waiting], [['x.service', 'certain'], 'active', 0]);
});

test('a storm of reloads that does not end is not waited for', async (t) => {
  const { manager, state, taken, pass } = await up(t);
  for (let at = 0; at < 6_000; at += 20) {
    manager.reloading(true);
    manager.unitRemoved('x.service');
    manager.reloading(false);
    if (at === 1_000) manager.unitIs('x.service', { ActiveState: 'active' });
    await pass(20);
  }
  assert.equal(state(), 'active');
  assert.ok(taken().includes('certain'));
});

test('the file state is read after files changed, once for a burst', async (t) => {
  const { scope, manager, pass } = await up(t);
  manager.files.set('x.service', 'enabled');
  for (let each = 0; each < 10; each += 1) manager.unitFilesChanged();
  await pass(50);
  assert.equal(manager.counted('GetUnitFileState'), 1);
  assert.equal(scope.table.row(KEY)?.fileState, 'enabled');
});

const CROWD = Array.from({ length: 300 }, (_, n) => `unit-${n}.service`);

/** Each does one thing to all units of a crowd, of which every single one must be known afterwards. */
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
    async ({ scope }) => {
      await Promise.all(CROWD.map((name) => scope.refresh(`system/${name}`)));
    },
  ],
];

for (const [what, act] of CROWD_CHANGES) {
  test(`300 units are more than a connection takes calls at once, and all are read: ${what}`, async (t) => {
    const all = setUp(t, CROWD);
    await all.scope.up();
    for (const name of CROWD) all.manager.files.set(name, 'enabled');
    await act(all);
    const missed = all.scope.table.rows().filter(({ fileState }) => fileState !== 'enabled');
    assert.deepEqual(missed, []);
  });
}

test('300 units without signals: the directory has all of them read', async (t) => {
  const { scope, manager, pass } = setUp(t, CROWD);
  manager.refusals.set('Subscribe', REFUSED);
  await scope.up();
  for (const name of CROWD) manager.unitIs(name, { ActiveState: 'activating' });
  await pass(250);
  for (const name of CROWD) manager.unitIs(name, { ActiveState: 'active' });
  await pass(500);
  const missed = scope.table.rows().filter(({ facts }) => facts.activeState !== 'active');
  assert.deepEqual(missed, []);
});

test('refused signals: it is whole, says so, and asks again until they come', async (t) => {
  const { scope, manager, taken, pass, clock } = setUp(t);
  manager.refusals.set('Subscribe', REFUSED);
  await scope.up();
  assert.match(taken()[0] ?? '', /^whole: no signals \(refused\)/);
  assert.equal(scope.hasSignals, false);
  await pass(250);
  assert.equal(scope.hasSignals, false);
  manager.refusals.clear();
  taken();
  await pass(500);
  assert.deepEqual(taken(), ['whole', 'x.service']);
  assert.equal(clock.waiting, 0);
});

test('a bus without a manager: it is away until one comes', async (t) => {
  const { scope, manager, taken, pass } = setUp(t);
  for (const member of ['Subscribe', 'GetAll', 'GetUnitFileState']) manager.refusals.set(member, NOBODY);
  await scope.up();
  assert.match(taken()[0] ?? '', /^away: nobody/);
  assert.match(scope.absence ?? '', /nobody/);
  await pass(250);
  manager.refusals.clear();
  scope.ownerChanged('org.freedesktop.systemd1', true);
  await settle();
  assert.deepEqual(taken().slice(-2), ['whole', 'x.service']);
});

test('a manager that is replaced at once is not missed, one that leaves is', async (t) => {
  const { scope, taken } = await up(t);
  scope.ownerChanged('org.freedesktop.systemd1', true);
  await settle();
  assert.deepEqual(taken(), ['whole', 'x.service']);
  scope.ownerChanged('org.freedesktop.systemd1', false);
  assert.match(taken()[0] ?? '', /^away: systemd is not on the bus/);
});

test('what an old connection still answers is of no interest', async (t) => {
  const { scope, manager, taken } = setUp(t);
  let open = (): void => undefined;
  manager.gate = new Promise((resolve) => {
    open = resolve;
  });
  const begun = scope.up();
  await settle();
  scope.down('gone');
  open();
  await begun;
  await settle();
  assert.deepEqual(
    taken().map((line) => line.slice(0, 10)),
    ['away: gone'],
  );
});

test('a unit that did not exist and runs now is read', async (t) => {
  const { scope, manager } = setUp(t);
  manager.units.clear();
  manager.files.clear();
  await scope.up();
  manager.unitIs('x.service', { ActiveState: 'active', Description: 'Here' });
  manager.changed('x.service', { ActiveState: 'active' });
  await settle();
  assert.equal(scope.table.row(KEY)?.facts.description, 'Here');
});

test('an alias: the unit behind it is listened to', async (t) => {
  const { scope, manager, state } = setUp(t);
  manager.units.set('x.service', { Id: 'real.service', Names: ['real.service', 'x.service'] });
  await scope.up();
  assert.ok(manager.matches.some(({ arg0 }) => arg0 === 'real.service'));
  manager.changed('real.service', { ActiveState: 'active' });
  assert.equal(state(), 'active');
});

test('a job that is gone after the manager was replaced is over', async (t) => {
  const { scope } = await up(t);
  const { end } = scope.jobs.wait('/job/1', KEY);
  scope.ownerChanged('org.freedesktop.systemd1', true);
  assert.deepEqual(await end, { kind: 'ended' });
});

test('stopped, it holds nothing', async (t) => {
  const { scope, manager, clock } = await up(t);
  manager.reloading(true);
  const { end } = scope.jobs.wait('/job/1', KEY);
  scope.stop();
  assert.deepEqual([await end, clock.waiting, manager.stopped], [{ kind: 'away' }, 0, true]);
});
