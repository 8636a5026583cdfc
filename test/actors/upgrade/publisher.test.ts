// Tests what the upgrade's publisher publishes, and when. The table LAST_CHECKS has what clients get as the
// last check after certain changes of the check unit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_RAN, type RunFacts } from '../../../src/actors/units/facts.js';
import {
  type LastCheck,
  nextCheck,
  publishedCheck,
  UpgradePublisher,
} from '../../../src/actors/upgrade/publisher.js';
import { initialRun, type Run } from '../../../src/actors/upgrade/run.js';
import type { UpgradeSettings } from '../../../src/protocol/actor/settings.js';
import { ManualClock } from '../../manual-clock.js';

function createPublisher(changedSettings: Partial<UpgradeSettings> = {}) {
  /**
   * The published lines, such as `upgrade.info run {...}` and `up `. The record of the whole upgrade has the
   * key '', so its line has two spaces: `upgrade  {...}`.
   */
  const published: string[] = [];
  const clock = new ManualClock();
  const publish = {
    put: (collection: string, key: string, json: string) => published.push(`${collection} ${key} ${json}`),
    drop: () => undefined,
    level: () => undefined,
    status: (state: string, detail = '') => published.push(`${state} ${detail}`),
    log: () => undefined,
  };
  const settings = {
    enabled: true,
    progressSocket: '/s',
    stateFile: '/f',
    upgradeUnit: 'up.service',
    ...changedSettings,
  };
  const takePublished = () => published.splice(0);
  return { publisher: new UpgradePublisher(settings, publish, clock), clock, takePublished };
}

const RUNNING: Run = { ...initialRun(), state: 'running', origin: 'socket', startedMs: 1_000 };

test('upgrade.run is published at each step of a run, and the whole record only about ten times a second', () => {
  const { publisher, clock, takePublished } = createPublisher();
  publisher.up(RUNNING);
  takePublished();

  for (let step = 0; step < 1_000; step++) {
    publisher.setRun({ ...RUNNING, percent: step / 10 });
    clock.advance(1);
  }
  // The last whole record is put only after a pause (publisher.ts).
  clock.advance(200);

  const published = takePublished();
  const wholeRecords = published.filter((line) => line.startsWith('upgrade  '));
  const runs = published.filter((line) => line.startsWith('upgrade.run run '));
  assert.ok(wholeRecords.length >= 10 && wholeRecords.length <= 11, `${wholeRecords.length} whole records`);
  assert.equal(runs.length, 1_000);
  assert.equal(published.length, wholeRecords.length + runs.length);
  for (const records of [wholeRecords, runs]) assert.match(records.at(-1) ?? '', /"percent":99.9/);
  assert.equal(clock.timers, 0);
});

const RESULT = { ok: true, value: '{"current":"1","latest":"1","upgrade_available":false}' } as const;

test('only changes are published, but when the bus comes back, everything is published again', () => {
  const { publisher, takePublished } = createPublisher();
  publisher.setResult(RESULT);
  assert.deepEqual(takePublished(), [], 'nothing is published before the backend is up');

  publisher.up(RUNNING);
  const everything = takePublished();
  const lineStarts = everything.map((line) => line.split(' ').slice(0, 2).join(' '));
  assert.deepEqual(lineStarts, [
    'upgrade.info status',
    'upgrade.info run',
    'upgrade.run run',
    'upgrade ',
    'up ',
  ]);

  publisher.setRun(RUNNING);
  publisher.setResult(RESULT);
  assert.deepEqual(takePublished(), [], 'nothing has changed');

  publisher.noteProblem('result file', 'it is empty');
  publisher.noteProblem('result file', 'it is empty');
  assert.equal(takePublished().length, 1, 'the same problem is published once');

  publisher.noteProblem('result file', undefined);
  publisher.down('gone');
  takePublished();
  publisher.up(RUNNING);
  assert.deepEqual(takePublished(), everything);
});

/** This constant and those below have only the facts that differ from NOTHING_RAN. */
const WORKING: Partial<RunFacts> = { activeState: 'activating', subState: 'start', invocation: 'a' };

test('a check has an event of its own, upgrade.check, and upgrade.info has only runs and statuses', () => {
  const { publisher, takePublished } = createPublisher({ checkUnit: 'check.service' });
  publisher.up(initialRun());
  const atStart = takePublished();
  assert.ok(atStart.includes('upgrade.check  {"state":"idle"}'), atStart.join('\n'));
  // A run has `state`, and a status has `upgrade_available`.
  for (const line of atStart.filter((published) => published.startsWith('upgrade.info')))
    assert.match(line, /"state":|"upgrade_available":/);

  publisher.setCheck({ ...NOTHING_RAN, ...WORKING });
  const [event, wholeRecord = '', ...more] = takePublished();
  assert.equal(event, 'upgrade.check  {"state":"running"}');
  assert.deepEqual(more, []);
  assert.match(wholeRecord, /^upgrade {2}\{"current":.*"check":\{"state":"running"\}\}$/);
});

const NOW_MS = 5_000;
const NOW = '1970-01-01T00:00:05Z';
const DONE: Partial<RunFacts> = { invocation: 'a' };
const FAILED: Partial<RunFacts> = { activeState: 'failed', result: 'exit-code', invocation: 'a' };
/** The check has ended, but its unit has stayed active (RemainAfterExit=). */
const EXITED: Partial<RunFacts> = { activeState: 'active', subState: 'exited', invocation: 'a' };
const STOPPING: Partial<RunFacts> = { activeState: 'deactivating', subState: 'stop', invocation: 'a' };
/** The check has failed, and its failure was then reset (`systemctl reset-failed`). */
const RESET: Partial<RunFacts> = { ...FAILED, activeState: 'inactive', wasReset: true };

/**
 * `steps` has the facts of the check unit in the order of their arrival. A check that had ended before the
 * first of them has no `finished_at`, because the time of its end is unknown.
 */
const LAST_CHECKS: readonly (readonly [
  what: string,
  steps: readonly Partial<RunFacts>[],
  expected: object,
])[] = [
  ['it has not run', [{}], { state: 'idle' }],
  ['it runs', [{}, WORKING], { state: 'running' }],
  ['it has run', [{}, WORKING, DONE], { state: 'idle', finished_at: NOW }],
  ['it has run so quickly that it was never found at work', [{}, DONE], { state: 'idle', finished_at: NOW }],
  ['it had run before the first reading of its unit', [DONE], { state: 'idle' }],
  ['it failed', [WORKING, FAILED], { state: 'failed', finished_at: NOW, detail: 'its result is exit-code' }],
  [
    'it failed, and the failure was then reset in systemd',
    [FAILED, RESET],
    { state: 'failed', detail: 'its result is exit-code' },
  ],
  ['it begins, and is not at work yet', [{}, { invocation: 'a', job: '/job/1' }], { state: 'idle' }],
  [
    'it begins after a failure, and is not at work yet',
    [FAILED, { ...FAILED, result: 'success', invocation: 'b', job: '/job/1' }],
    { state: 'failed', detail: 'its result is exit-code' },
  ],
  [
    'it has ended, but the job of its unit has not',
    [WORKING, { ...DONE, job: '/job/1' }],
    { state: 'running' },
  ],
  [
    'it had ended, and its unit, which has stayed active, is being stopped',
    [EXITED, STOPPING],
    { state: 'idle' },
  ],
  [
    'it had ended, and its unit, which had stayed active, has been stopped',
    [EXITED, STOPPING, DONE],
    { state: 'idle' },
  ],
  ['it is being stopped', [WORKING, STOPPING], { state: 'running' }],
  ['it has ended, and its unit was then unloaded', [WORKING, DONE, {}], { state: 'idle', finished_at: NOW }],
];
for (const [what, steps, expected] of LAST_CHECKS) {
  test(`the last check is published with the right state if ${what}`, () => {
    let check: LastCheck | undefined;
    for (const step of steps) check = nextCheck(check, { ...NOTHING_RAN, ...step }, NOW_MS);
    assert.ok(check);
    assert.deepEqual(JSON.parse(JSON.stringify(publishedCheck(check))), expected);
  });
}
