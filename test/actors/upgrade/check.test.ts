// From the facts of the check unit to its last run: a row per step.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import { type LastCheck, nextCheck, shownCheck } from '../../../src/actors/upgrade/publisher.js';

const NOW_MS = 5_000;
const AT = '1970-01-01T00:00:05Z';
const WORKING: Partial<RunFacts> = { activeState: 'activating', subState: 'start', invocation: 'a' };
const DONE: Partial<RunFacts> = { invocation: 'a' };
const FAILED: Partial<RunFacts> = { activeState: 'failed', result: 'exit-code', invocation: 'a' };

const ROWS: readonly (readonly [name: string, steps: readonly Partial<RunFacts>[], shown: object])[] = [
  ['it has not run', [{}], { state: 'idle' }],
  ['it runs', [{}, WORKING], { state: 'running' }],
  [
    'it runs, and is no oneshot',
    [{ activeState: 'active', subState: 'running', invocation: 'a' }],
    { state: 'running' },
  ],
  ['it has run', [{}, WORKING, DONE], { state: 'idle', finished_at: AT }],
  [
    'it has run and remembers it',
    [WORKING, { ...DONE, activeState: 'active', subState: 'exited' }],
    { state: 'idle', finished_at: AT },
  ],
  ['it has run so quickly that nobody saw it', [{}, DONE], { state: 'idle', finished_at: AT }],
  ['it ran before anybody looked', [DONE], { state: 'idle' }],
  [
    'it has failed',
    [WORKING, FAILED],
    { state: 'failed', finished_at: AT, detail: 'its result is exit-code' },
  ],
  ['it failed before anybody looked', [FAILED], { state: 'failed', detail: 'its result is exit-code' }],
  [
    'it failed, and systemd was made to forget that',
    [FAILED, { ...FAILED, activeState: 'inactive', reset: true }],
    { state: 'idle' },
  ],
  ['it is unloaded after its end', [WORKING, DONE, {}], { state: 'idle', finished_at: AT }],
];
for (const [name, steps, shown] of ROWS) {
  test(name, () => {
    let check: LastCheck | undefined;
    for (const step of steps) check = nextCheck(check, { ...NOTHING_RAN, ...step }, NOW_MS);
    assert.ok(check);
    assert.deepEqual(JSON.parse(JSON.stringify(shownCheck(check))), shown);
  });
}
