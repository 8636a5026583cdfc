// Tests how properties of a unit become facts, and how the table of units applies readings and signals,
// whose order may vary.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  isAtRest,
  type RunFacts,
  UnitTable,
  unknownUnit,
  updatedFacts,
} from '../../../src/actors/units/facts.js';
import { unitPath } from '../../../src/protocol/dbus/systemd.js';

const NAME = 'x.service';
const PATH = unitPath(NAME);

const RUNNING = { activeState: 'active', subState: 'running', invocation: 'ab', job: '/job/1' };
const FACTS_BEFORE = { ...unknownUnit(NAME), ...RUNNING, result: 'signal' };

/**
 * Properties of an inactive unit. A reset (`reset-failed`) changes StateChangeTimestamp, but not
 * InactiveEnterTimestamp (facts.ts). So the unit was reset if its InactiveEnterTimestamp is not 7.
 */
const INACTIVE_CHANGED_AT_7 = { ActiveState: 'inactive', StateChangeTimestamp: 7n };
const RESET = { activeState: 'inactive', wasReset: true };

const CHANGES: readonly (readonly [properties: object, change: Partial<RunFacts>])[] = [
  [{}, {}],
  [{ InvocationID: Uint8Array.of(0, 255) }, { invocation: '00ff' }],
  [{ InvocationID: new Uint8Array(0) }, { invocation: '' }],
  [{ Job: [7, '/job/7'] }, { job: '/job/7' }],
  [{ Job: [0, '/'] }, { job: '' }],
  [{ Result: 'exit-code' }, { result: 'exit-code' }],
  [{ NRestarts: 2 }, { restarts: 2 }],
  [{ Type: 'simple' }, { isOneshot: false }],
  // FACTS_BEFORE has no type, and a unit of an unknown type counts as oneshot already.
  [{ Type: 'oneshot' }, {}],
  // A timestamp is in microseconds, and 0 stands for never.
  [{ InactiveExitTimestamp: 5_999n }, { startedMs: 5 }],
  [{ InactiveExitTimestamp: 0n }, {}],
  [{ ...INACTIVE_CHANGED_AT_7, InactiveEnterTimestamp: 5n }, RESET],
  [{ ...INACTIVE_CHANGED_AT_7, InactiveEnterTimestamp: 7n }, { activeState: 'inactive' }],
  // The unit is still active, so it was not reset.
  [{ StateChangeTimestamp: 7n, InactiveEnterTimestamp: 5n }, {}],
  // A timestamp of D-Bus may be a number or a bigint.
  [{ ConditionResult: false, ConditionTimestamp: 5 }, { isConditionMet: false }],
  [{ ConditionResult: false, ConditionTimestamp: 5n }, { isConditionMet: false }],
  // If ConditionTimestamp is missing or 0, the condition was not checked. It is 0 for an unloaded unit.
  [{ ConditionResult: false }, {}],
  [{ ConditionResult: false, ConditionTimestamp: 0 }, {}],
  // A value of a wrong type changes nothing.
  [{ ActiveState: 7, SubState: null, InvocationID: [1], Job: 'none', Result: 1n }, {}],
];

for (const [properties, change] of CHANGES) {
  const propertiesText = inspect(properties, { breakLength: Number.POSITIVE_INFINITY });
  test(`a signal with ${propertiesText} changes the facts by ${JSON.stringify(change)}`, () =>
    assert.deepEqual(updatedFacts(FACTS_BEFORE, { ...properties }), { ...FACTS_BEFORE, ...change }));
}

test('a unit is at rest only in states in which it does not run and is not about to run', () => {
  const states = 'inactive failed maintenance active activating deactivating yet-to-come'.split(' ');
  const resting = states.filter((activeState) => isAtRest({ activeState }));
  assert.deepEqual(resting, ['inactive', 'failed', 'maintenance']);
});

const FIRST_FILE_READING = { state: 'disabled', requestNumber: 1 };

/** The properties that a reading brings while the unit is in this state. */
const propertiesIn = (activeState: string, otherProperties: Readonly<Record<string, unknown>> = {}) => ({
  Id: NAME,
  Names: [NAME],
  LoadState: 'loaded',
  ActiveState: activeState,
  ...otherProperties,
});

function setUpTable() {
  const units = new UnitTable([NAME, 'y.service']);
  return { units, unit: () => units.unit(NAME) };
}

test('a signal that comes during a reading overrides the reading, but only in the properties that signals carry', () => {
  const { units, unit } = setUpTable();
  // The reading begins here, before the signal.
  const countBefore = units.signalCount(NAME);
  units.applyProperties(PATH, { ActiveState: 'failed', SubState: 'failed', Result: 'exit-code' });
  units.applyReading(NAME, countBefore, propertiesIn('active', { Description: 'X' }), FIRST_FILE_READING);

  const { activeState, result, description } = unit()?.facts ?? assert.fail('the unit is not listed');
  assert.deepEqual([activeState, result, description], ['failed', 'exit-code', 'X']);
});

test('a fact that a reading lacks gets its default again, except the result of the last run', () => {
  const { units, unit } = setUpTable();
  units.applyReading(
    NAME,
    units.signalCount(NAME),
    propertiesIn('active', { Description: 'X' }),
    FIRST_FILE_READING,
  );
  units.applyProperties(PATH, { Result: 'signal' });
  units.applyReading(NAME, units.signalCount(NAME), {}, { state: undefined, requestNumber: 2 });

  const { facts, file } = unit() ?? assert.fail('the unit is not listed');
  const { activeState, description, result } = facts;
  assert.deepEqual([activeState, description, result], ['inactive', '', 'signal']);
  assert.equal(file.state, undefined);
});

test('a unit that systemd unloads is at rest, and the result of its last run is kept', () => {
  const { units, unit } = setUpTable();
  units.applyProperties(PATH, {
    ActiveState: 'failed',
    SubState: 'failed',
    Result: 'oom-kill',
    Job: [3, '/job/3'],
  });
  assert.equal(unit()?.facts.job, '/job/3');

  units.applyRemoval(NAME);
  const { activeState, subState, job, result } = unit()?.facts ?? assert.fail('the unit is not listed');
  assert.deepEqual([activeState, subState, job, result], ['inactive', 'dead', '', 'oom-kill']);
});

test('a unit without a file counts as gone when it is inactive, but not while it runs', () => {
  const { units, unit } = setUpTable();
  units.applyReading(NAME, units.signalCount(NAME), propertiesIn('active'), FIRST_FILE_READING);
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });
  assert.equal(unit()?.facts.loadState, 'loaded');

  units.applyRemoval(NAME);
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });
  assert.equal(unit()?.facts.loadState, 'not-found');
});

test('a unit does not count as gone if the last reading found it loaded and at rest, but without a file', () => {
  const { units, unit } = setUpTable();
  // A broken link to a drop-in causes such a reading (`isLoadedWithoutFile` in facts.ts).
  units.applyReading(NAME, units.signalCount(NAME), propertiesIn('inactive'), {
    state: undefined,
    requestNumber: 1,
  });
  units.applyProperties(PATH, { ActiveState: 'active' });
  units.applyRemoval(NAME);
  units.applyFile(NAME, { state: undefined, requestNumber: 2 });

  assert.equal(unit()?.facts.loadState, 'loaded');
});

test('an answer about the file of a unit is ignored if a newer request was answered before it', () => {
  const { units, unit } = setUpTable();
  units.applyFile(NAME, { state: 'enabled', requestNumber: 5 });
  units.applyReading(NAME, units.signalCount(NAME), propertiesIn('active'), FIRST_FILE_READING);
  assert.deepEqual([unit()?.file.state, unit()?.isKnown], ['enabled', true]);

  units.applyFile(NAME, { state: 'masked', requestNumber: 4 });
  assert.equal(unit()?.file.state, 'enabled');
});
