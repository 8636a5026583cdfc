// From the facts of a unit to its Service record.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceRecord } from '../../../src/actors/systemd/service-publisher.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';

const WATCHED = { key: 'user/x.service', scope: 'user', name: 'x.service' } as const;
const LOADED = { ...unknownUnit('x.service'), loadState: 'loaded', description: 'X' };
const BARE = { name: 'x.service', scope: 'user', running: false, enabled: false, exists: true } as const;
const GONE = { ...BARE, exists: false };

type Row = readonly [what: string, facts: Partial<UnitFacts>, file: string | undefined, expected: object];

const run = (activeState: string, subState: string) => ({ activeState, subState });
const active = (state: string, sub: string) => ({ active_state: state, sub_state: sub });
const RUNS = run('active', 'running');
const DEAD = active('inactive', 'dead');
const FAILED = active('failed', 'failed');
const RUNNING = { ...active('active', 'running'), running: true };

const ROWS: readonly Row[] = [
  ['running', RUNS, 'enabled', { ...RUNNING, enabled: true }],
  ['no program', run('active', 'exited'), 'static', active('active', 'exited')],
  ['a sub-state called running', run('activating', 'running'), undefined, active('activating', 'running')],
  ['enabled for this boot only is not enabled', {}, 'enabled-runtime', DEAD],
  ['failed', run('failed', 'failed'), 'disabled', FAILED],
  [
    'a newer state that has a known equivalent',
    run('refreshing', 'running'),
    undefined,
    active('reloading', 'running'),
  ],
  ['an unknown state', run('pondering', 'deep'), undefined, {}],
  ['a masked unit exists', { loadState: 'masked' }, 'masked', DEAD],
  ['a loaded unit without a file exists', RUNS, undefined, RUNNING],
  [
    'a unit that is deleted while it runs still exists',
    { ...RUNS, loadState: 'not-found' },
    undefined,
    RUNNING,
  ],
  ['a unit with a bad file exists', { loadState: 'bad-setting' }, 'disabled', DEAD],
];

for (const [what, facts, file, expected] of ROWS) {
  test(what, () => {
    const record = serviceRecord(WATCHED, { ...LOADED, ...facts }, file);
    const shown = file === undefined ? {} : { unit_file_state: file };
    assert.deepEqual(record, { ...BARE, description: 'X', ...shown, ...expected });
  });
}

test('a unit that does not exist has no state', () => {
  const facts = { ...LOADED, loadState: 'not-found', description: 'x.service' };
  assert.deepEqual(serviceRecord(WATCHED, facts, undefined), GONE);
});

test('the url is passed through, and optional fields are absent', () => {
  const record = serviceRecord({ ...WATCHED, url: 'http://u/' }, LOADED, undefined);
  assert.equal(record.url, 'http://u/');
  assert.ok(!Object.values(record).includes(undefined as never));
});

test('of a description as long as systemd takes one the beginning is shown', () => {
  const { description } = serviceRecord(WATCHED, { ...LOADED, description: 'x'.repeat(1 << 20) }, undefined);
  assert.equal(description, `${'x'.repeat(1024)}...`);
});
