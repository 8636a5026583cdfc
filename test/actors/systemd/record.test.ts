// Facts of a unit -> Service record.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FactSource, serviceRecord } from '../../../src/actors/systemd/services.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';

const MANAGER: FactSource = { kind: 'manager' };
const WATCHED = { key: 'user/x.service', scope: 'user', name: 'x.service' } as const;
const LOADED = { ...unknownUnit('x.service'), loadState: 'loaded', description: 'X' };
const BARE = { name: 'x.service', scope: 'user', running: false, enabled: false, exists: true } as const;
const GONE = { ...BARE, exists: false };

type Row = readonly [
  what: string,
  facts: Partial<UnitFacts>,
  file: string | undefined,
  expected: object,
  source?: FactSource,
];

const run = (activeState: string, subState: string) => ({ activeState, subState });
const active = (state: string, sub: string) => ({ active_state: state, sub_state: sub });
const RUNS = run('active', 'running');
const DEAD = active('inactive', 'dead');
const RUNNING = { ...active('active', 'running'), running: true };
const directory = (atRest: boolean): FactSource => ({ kind: 'directory', atRest });

const ROWS: readonly Row[] = [
  ['running', RUNS, 'enabled', { ...RUNNING, enabled: true, unit_file_state: 'enabled' }],
  [
    'no program',
    run('active', 'exited'),
    'static',
    { ...active('active', 'exited'), unit_file_state: 'static' },
  ],
  ['a sub-state called running', run('activating', 'running'), undefined, active('activating', 'running')],
  [
    'enabled for this boot only is not',
    {},
    'enabled-runtime',
    { ...DEAD, unit_file_state: 'enabled-runtime' },
  ],
  [
    'failed',
    run('failed', 'failed'),
    'disabled',
    { ...active('failed', 'failed'), unit_file_state: 'disabled' },
  ],
  ['a newer state that we can say', run('refreshing', 'running'), undefined, active('reloading', 'running')],
  ['a state that nobody knows', run('pondering', 'deep'), undefined, {}],
  ['masked exists', { loadState: 'masked' }, 'masked', { ...DEAD, unit_file_state: 'masked' }],
  ['loaded without a file exists', RUNS, undefined, RUNNING],
  ['deleted while it runs still exists', { ...RUNS, loadState: 'not-found' }, undefined, RUNNING],
  ['a bad file exists', { loadState: 'bad-setting' }, 'disabled', { ...DEAD, unit_file_state: 'disabled' }],
  ['the directory agrees with the manager', RUNS, undefined, RUNNING, directory(false)],
  [
    'failed is as much at rest as the directory can tell',
    ...([run('failed', 'failed'), undefined, active('failed', 'failed'), directory(true)] as const),
  ],
  ['ended, says the directory: stopped or failed is not known', RUNS, undefined, {}, directory(true)],
  ['started, says the directory', run('inactive', 'dead'), undefined, { running: true }, directory(false)],
];

for (const [what, facts, file, expected, source] of ROWS) {
  test(what, () => {
    const record = serviceRecord(WATCHED, { ...LOADED, ...facts }, file, source ?? MANAGER);
    assert.deepEqual(record, { ...BARE, description: 'X', ...expected });
  });
}

test('a unit that does not exist has no state', () => {
  const facts = { ...LOADED, loadState: 'not-found', description: 'x.service' };
  assert.deepEqual(serviceRecord(WATCHED, facts, undefined, MANAGER), GONE);
});

test('the url is passed through, and optional fields are absent', () => {
  const record = serviceRecord({ ...WATCHED, url: 'http://u/' }, LOADED, undefined, MANAGER);
  assert.equal(record.url, 'http://u/');
  assert.ok(!Object.values(record).includes(undefined as never));
});
