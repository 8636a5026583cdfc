// From a unit's properties to its facts; readings and signals in any order, and the units that they concern.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isAtRest,
  type RunFacts,
  UnitTable,
  unknownUnit,
  updatedFacts,
} from '../../../src/actors/units/facts.js';
import { unitPath } from '../../../src/protocol/dbus/systemd.js';

const WORKS = { activeState: 'active', subState: 'running', invocation: 'ab', job: '/job/1' };
const BEFORE = { ...unknownUnit('x.service'), ...WORKS, result: 'signal' };

const ENDED_AT_7 = { ActiveState: 'inactive', StateChangeTimestamp: 7n };
const FORGOTTEN = { activeState: 'inactive', wasReset: true };

const CHANGES: readonly (readonly [record: object, change: Partial<RunFacts>])[] = [
  [{}, {}],
  [{ InvocationID: Uint8Array.of(0, 255) }, { invocation: '00ff' }],
  [{ InvocationID: new Uint8Array(0) }, { invocation: '' }],
  [{ Job: [7, '/job/7'] }, { job: '/job/7' }],
  [{ Job: [0, '/'] }, { job: '' }],
  [{ Result: 'exit-code' }, { result: 'exit-code' }],
  [{ NRestarts: 2 }, { restarts: 2 }],
  [{ InactiveExitTimestamp: 5_999n }, { startedMs: 5 }],
  [{ InactiveExitTimestamp: 0n }, {}],
  [{ ...ENDED_AT_7, InactiveEnterTimestamp: 5n }, FORGOTTEN],
  [{ ...ENDED_AT_7, InactiveEnterTimestamp: 7n }, { activeState: 'inactive' }],
  [{ StateChangeTimestamp: 7n, InactiveEnterTimestamp: 5n }, {}],
  [{ ConditionResult: false, ConditionTimestamp: 5 }, { isConditionMet: false }],
  [{ ConditionResult: false, ConditionTimestamp: 5n }, { isConditionMet: false }],
  [{ ConditionResult: false }, {}],
  // An unloaded unit has these values.
  [{ ConditionResult: false, ConditionTimestamp: 0 }, {}],
  // A value of a wrong type leaves the known one.
  [{ ActiveState: 7, SubState: null, InvocationID: [1], Job: 'none', Result: 1n }, {}],
];

for (const [record, change] of CHANGES) {
  test(`${Object.keys(record).join(' and ') || 'nothing'} changes ${JSON.stringify(change)}`, () =>
    assert.deepEqual(updatedFacts(BEFORE, { ...record }), { ...BEFORE, ...change }));
}

test('a unit rests only in the states in which it neither runs nor is about to', () => {
  const states = 'inactive failed maintenance active activating deactivating yet-to-come'.split(' ');
  const resting = states.filter((activeState) => isAtRest({ activeState }));
  assert.deepEqual(resting, ['inactive', 'failed', 'maintenance']);
});

const NAME = 'x.service';
const PATH = unitPath(NAME);

const FILE = { state: 'disabled', requestNumber: 1 };

const reading = (state: string, more: Readonly<Record<string, unknown>> = {}) => ({
  Id: 'x.service',
  Names: ['x.service'],
  LoadState: 'loaded',
  ActiveState: state,
  ...more,
});

function table() {
  const units = new UnitTable([NAME, 'y.service']);
  return { units, x: () => units.unit(NAME) };
}

test('a signal that comes during a reading counts more than the answer, in the properties that signals carry', () => {
  const { units, x } = table();
  const countBefore = units.signalCount(NAME);
  units.applyProperties(PATH, { ActiveState: 'failed', SubState: 'failed', Result: 'exit-code' });
  units.applyReading(NAME, countBefore, reading('active', { Description: 'X' }), FILE);
  const actual = [x()?.facts.activeState, x()?.facts.result, x()?.facts.description];
  assert.deepEqual(actual, ['failed', 'exit-code', 'X']);
});

test('a property that is missing in a reading is reset, except the result of the last run', () => {
  const { units, x } = table();
  units.applyReading(NAME, units.signalCount(NAME), reading('active', { Description: 'X' }), FILE);
  units.applyProperties(PATH, { Result: 'signal' });
  units.applyReading(NAME, units.signalCount(NAME), {}, { state: undefined, requestNumber: 2 });
  const actual = [x()?.facts.activeState, x()?.facts.description, x()?.facts.result, x()?.file.state];
  assert.deepEqual(actual, ['inactive', '', 'signal', undefined]);
});

test('a unit that systemd unloads is at rest, and the result of its last run is kept', () => {
  const { units, x } = table();
  units.applyProperties(PATH, {
    ActiveState: 'failed',
    SubState: 'failed',
    Result: 'oom-kill',
    Job: [3, '/job/3'],
  });
  assert.equal(x()?.facts.job, '/job/3');
  units.applyRemoval('x.service');
  const facts = x()?.facts;
  const actual = [facts?.activeState, facts?.subState, facts?.job, facts?.result];
  assert.deepEqual(actual, ['inactive', 'dead', '', 'oom-kill']);
});

test('a unit without a file is gone when it rests, and stays while it runs', () => {
  const { units, x } = table();
  units.applyReading(NAME, units.signalCount(NAME), reading('active'), FILE);
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });
  assert.equal(x()?.facts.loadState, 'loaded');
  units.applyRemoval('x.service');
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });
  assert.equal(x()?.facts.loadState, 'not-found');
});

test('a unit that starts without a file stays', () => {
  const { units, x } = table();
  units.applyReading(NAME, units.signalCount(NAME), reading('inactive'), {
    state: undefined,
    requestNumber: 1,
  });
  units.applyProperties(PATH, { ActiveState: 'active' });
  units.applyRemoval(NAME);
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });
  assert.equal(x()?.facts.loadState, 'loaded');
});

test('the answer to an older query of the file is ignored', () => {
  const { units, x } = table();
  units.applyFile(NAME, { state: 'enabled', requestNumber: 5 });
  units.applyReading(NAME, units.signalCount(NAME), reading('active'), FILE);
  assert.deepEqual([x()?.file.state, x()?.isKnown], ['enabled', true]);
  units.applyFile(NAME, { state: 'masked', requestNumber: 4 });
  assert.equal(x()?.file.state, 'enabled');
});
