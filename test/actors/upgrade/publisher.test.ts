// Tests what the upgrade's publisher sends, and when; and from the facts of the check unit to its last run, a
// row per step.

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

function publisher(more: Partial<UpgradeSettings> = {}) {
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
    ...more,
  };
  return { made: new UpgradePublisher(settings, publish, clock), clock, taken: () => published.splice(0) };
}

const RUNNING: Run = { ...initialRun(), state: 'running', origin: 'socket', startedMs: 1_000 };

test('a thousand steps of a run are published at once at first, then ten times a second, and the last one always', () => {
  const { made, clock, taken } = publisher();
  made.up(RUNNING);
  taken();
  const step = (percent: number) => made.setRun({ ...RUNNING, percent });
  for (let n = 0; n < 1_000; n++) {
    step(n / 10);
    clock.advance(1);
  }
  clock.advance(200);
  const published = taken();
  assert.ok(published.length >= 10 && published.length <= 11, `${published.length}`);
  assert.ok(published.every((line) => line.startsWith('upgrade  ')));
  assert.match(published.at(-1) ?? '', /"percent":99.9/);
  assert.equal(clock.timers, 0);
});

test('only what has changed is published, but everything again after the bus was lost', () => {
  const { made, taken } = publisher();
  made.setResult({ ok: true, value: '{"current":"1","latest":"1","upgrade_available":false}' });
  assert.deepEqual(taken(), []);
  made.up(RUNNING);
  const all = taken();
  const topics = all.map((line) => line.split(' ').slice(0, 2).join(' '));
  assert.deepEqual(topics, ['upgrade.info status', 'upgrade.info run', 'upgrade ', 'up ']);
  made.setRun(RUNNING);
  made.setResult({ ok: true, value: '{"current":"1","latest":"1","upgrade_available":false}' });
  assert.deepEqual(taken(), []);
  made.noteProblem('result file', 'it is empty');
  made.noteProblem('result file', 'it is empty');
  assert.equal(taken().length, 1);
  made.noteProblem('result file', undefined);
  made.down('gone');
  taken();
  made.up(RUNNING);
  assert.deepEqual(taken(), all);
});

test('a check is an event of its own, as clients take each upgrade.info without a state for a whole status', () => {
  const { made, taken } = publisher({ checkUnit: 'check.service' });
  made.up(initialRun());
  const first = taken();
  assert.ok(first.includes('upgrade.check  {"state":"idle"}'), first.join('\n'));
  for (const line of first.filter((each) => each.startsWith('upgrade.info')))
    assert.match(line, /"state":|"upgrade_available":/);
  made.setCheck({ ...NOTHING_RAN, ...WORKING });
  const [event = '', whole = '', ...more] = taken();
  assert.deepEqual([event, more], ['upgrade.check  {"state":"running"}', []]);
  assert.match(whole, /^upgrade {2}\{"current":.*"check":\{"state":"running"\}\}$/);
});

const NOW_MS = 5_000;
const AT = '1970-01-01T00:00:05Z';
const WORKING: Partial<RunFacts> = { activeState: 'activating', subState: 'start', invocation: 'a' };
const DONE: Partial<RunFacts> = { invocation: 'a' };
const FAILED: Partial<RunFacts> = { activeState: 'failed', result: 'exit-code', invocation: 'a' };
const FORGOTTEN: Partial<RunFacts> = { ...FAILED, activeState: 'inactive', wasReset: true };

const ROWS: readonly (readonly [name: string, steps: readonly Partial<RunFacts>[], expected: object])[] = [
  ['it has not run', [{}], { state: 'idle' }],
  ['it runs', [{}, WORKING], { state: 'running' }],
  ['it has run', [{}, WORKING, DONE], { state: 'idle', finished_at: AT }],
  ['it has run so quickly that nobody saw it', [{}, DONE], { state: 'idle', finished_at: AT }],
  ['it ran before anybody looked', [DONE], { state: 'idle' }],
  ['it failed', [WORKING, FAILED], { state: 'failed', finished_at: AT, detail: 'its result is exit-code' }],
  ['it failed, and systemd was made to forget that', [FAILED, FORGOTTEN], { state: 'idle' }],
  ['it is unloaded after its end', [WORKING, DONE, {}], { state: 'idle', finished_at: AT }],
];
for (const [name, steps, expected] of ROWS) {
  test(name, () => {
    let check: LastCheck | undefined;
    for (const step of steps) check = nextCheck(check, { ...NOTHING_RAN, ...step }, NOW_MS);
    assert.ok(check);
    assert.deepEqual(JSON.parse(JSON.stringify(publishedCheck(check))), expected);
  });
}
