// A unit's properties -> what is known of its run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAtRest, NOTHING_RAN, type RunFacts, withRun } from '../../../src/actors/units/facts.js';

const BEFORE: RunFacts = {
  activeState: 'active',
  subState: 'running',
  invocation: 'ab',
  job: '/job/1',
  result: 'signal',
  conditionMet: true,
  reset: false,
  restarts: 0,
};

const CHANGES: readonly (readonly [record: object, change: Partial<RunFacts>])[] = [
  [{}, {}],
  [
    { ActiveState: 'failed', SubState: 'dead' },
    { activeState: 'failed', subState: 'dead' },
  ],
  [{ InvocationID: Uint8Array.of(0, 255) }, { invocation: '00ff' }],
  [{ InvocationID: new Uint8Array(0) }, { invocation: '' }],
  [{ Job: [7, '/job/7'] }, { job: '/job/7' }],
  [{ Job: [0, '/'] }, { job: '' }],
  [{ Result: 'exit-code' }, { result: 'exit-code' }],
  [{ NRestarts: 2 }, { restarts: 2 }],
  [{ InactiveExitTimestamp: 5_999n }, { startedMs: 5 }],
  [{ InactiveExitTimestamp: 0n }, {}],
  [
    { ActiveState: 'inactive', StateChangeTimestamp: 7n, InactiveEnterTimestamp: 5n },
    { activeState: 'inactive', reset: true },
  ],
  [
    { ActiveState: 'inactive', StateChangeTimestamp: 7n, InactiveEnterTimestamp: 7n },
    { activeState: 'inactive' },
  ],
  [{ StateChangeTimestamp: 7n, InactiveEnterTimestamp: 5n }, {}],
  [{ ConditionResult: false, ConditionTimestamp: 5 }, { conditionMet: false }],
  [{ ConditionResult: false, ConditionTimestamp: 5n }, { conditionMet: false }],
  [{ ConditionResult: false }, {}],
  // What an unloaded unit says.
  [{ ConditionResult: false, ConditionTimestamp: 0 }, {}],
  // Of a wrong type: what was known stays.
  [{ ActiveState: 7, SubState: null, InvocationID: [1], Job: 'none', Result: 1n }, {}],
];

for (const [record, change] of CHANGES) {
  test(`${Object.keys(record).join(' and ') || 'nothing'} changes ${JSON.stringify(change)}`, () => {
    assert.deepEqual(withRun(BEFORE, { ...record }), { ...BEFORE, ...change });
  });
}

const RESTS: readonly (readonly [state: string, rests: boolean])[] = [
  ['inactive', true],
  ['failed', true],
  ['maintenance', true],
  ['active', false],
  ['activating', false],
  ['deactivating', false],
  ['reloading', false],
  ['a state to come', false],
];

for (const [activeState, rests] of RESTS) {
  test(`a unit that is ${activeState} ${rests ? 'rests' : 'does not rest'}`, () => {
    assert.equal(isAtRest({ ...NOTHING_RAN, activeState }), rests);
  });
}
