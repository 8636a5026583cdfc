// Readings and signals, in any order, and the units that they are about.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnitTable } from '../../../src/actors/units/table.js';
import { unitPath } from '../../../src/protocol/dbus/systemd.js';

const NAME = 'x.service';
const PATH = unitPath(NAME);

const reading = (state: string, more: Readonly<Record<string, unknown>> = {}) => ({
  properties: { Id: 'x.service', Names: ['x.service'], LoadState: 'loaded', ActiveState: state, ...more },
  file: { state: 'disabled', asked: 1 },
});

function table() {
  const units = new UnitTable([NAME, 'y.service']);
  return { units, x: () => units.unit(NAME) };
}

test('a unit is unknown until it has been read', () => {
  const { units, x } = table();
  assert.equal(x()?.known, false);
  units.read(NAME, units.mark(NAME), reading('active', { SubState: 'running' }));
  assert.equal(x()?.known, true);
  assert.equal(x()?.facts.activeState, 'active');
});

test('a signal that came since a reading began wins over it, in what signals tell', () => {
  const { units, x } = table();
  const mark = units.mark(NAME);
  units.changed(PATH, { ActiveState: 'failed', SubState: 'failed', Result: 'exit-code' });
  units.read(NAME, mark, reading('active', { Description: 'X' }));
  assert.deepEqual(
    [x()?.facts.activeState, x()?.facts.result, x()?.facts.description],
    ['failed', 'exit-code', 'X'],
  );
});

test('a reading that begins after a signal wins', () => {
  const { units, x } = table();
  units.changed(PATH, { ActiveState: 'failed' });
  units.read(NAME, units.mark(NAME), reading('active'));
  assert.equal(x()?.facts.activeState, 'active');
});

test('what a reading lacks is no longer so, except how the last run ended', () => {
  const { units, x } = table();
  units.read(NAME, units.mark(NAME), reading('active', { Description: 'X' }));
  units.changed(PATH, { Result: 'signal' });
  units.read(NAME, units.mark(NAME), { properties: {}, file: { state: undefined, asked: 2 } });
  assert.deepEqual(
    [x()?.facts.activeState, x()?.facts.description, x()?.facts.result, x()?.fileState],
    ['inactive', '', 'signal', undefined],
  );
});

test('signals of other units touch nothing', () => {
  const { units } = table();
  assert.deepEqual(units.changed(unitPath('z.service'), { ActiveState: 'active' }), []);
  assert.deepEqual(units.removed('z.service'), []);
  assert.equal(units.changed(PATH, {}).length, 1);
});

test('a unit that is let go is at rest, and how it ended stays known', () => {
  const { units, x } = table();
  units.changed(PATH, { ActiveState: 'failed', SubState: 'failed', Result: 'oom-kill', Job: [3, '/job/3'] });
  assert.equal(x()?.facts.job, '/job/3');
  units.removed('x.service');
  const facts = x()?.facts;
  assert.deepEqual(
    [facts?.activeState, facts?.subState, facts?.job, facts?.result],
    ['inactive', 'dead', '', 'oom-kill'],
  );
});

test('an alias follows the unit behind it, from its first reading on', () => {
  const units = new UnitTable(['alias.service', NAME]);
  const named = { ...reading('inactive'), file: { state: 'alias', asked: 1 } };
  units.read('alias.service', 0, named);
  const touched = units.changed(PATH, { ActiveState: 'active' });
  assert.deepEqual(
    touched.map(({ name }) => name),
    ['alias.service', 'x.service'],
  );
  assert.equal(units.unitsOf('x.service').length, 2);
});

test('without a file a unit at rest is gone, and one that runs is not', () => {
  const { units, x } = table();
  units.read(NAME, units.mark(NAME), reading('active'));
  units.file(NAME, { state: undefined, asked: 2 });
  assert.equal(x()?.facts.loadState, 'loaded');
  units.removed('x.service');
  units.file(NAME, { state: undefined, asked: 2 });
  assert.equal(x()?.facts.loadState, 'not-found');
});

test('the answer to an older question about the file is not taken', () => {
  const { units, x } = table();
  units.file(NAME, { state: 'enabled', asked: 5 });
  units.read(NAME, units.mark(NAME), reading('active'));
  assert.deepEqual([x()?.fileState, x()?.known], ['enabled', true]);
  units.file(NAME, { state: 'masked', asked: 4 });
  assert.equal(x()?.fileState, 'enabled');
});
