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

interface Row {
  readonly what: string;
  readonly facts: Partial<UnitFacts>;
  readonly file?: string;
  readonly source?: FactSource;
  readonly expected: object;
}

const active = (state: string, sub: string) => ({ active_state: state, sub_state: sub });

const ROWS: readonly Row[] = [
  {
    what: 'running',
    facts: { activeState: 'active', subState: 'running' },
    file: 'enabled',
    expected: { ...active('active', 'running'), running: true, enabled: true, unit_file_state: 'enabled' },
  },
  {
    what: 'active but not running',
    facts: { activeState: 'active', subState: 'exited' },
    file: 'static',
    expected: { ...active('active', 'exited'), unit_file_state: 'static' },
  },
  {
    what: 'starting, with a sub-state called running',
    facts: { activeState: 'activating', subState: 'running' },
    expected: active('activating', 'running'),
  },
  {
    what: 'enabled for this boot only is not enabled',
    facts: {},
    file: 'enabled-runtime',
    expected: { ...active('inactive', 'dead'), unit_file_state: 'enabled-runtime' },
  },
  {
    what: 'failed',
    facts: { activeState: 'failed', subState: 'failed' },
    file: 'disabled',
    expected: { ...active('failed', 'failed'), unit_file_state: 'disabled' },
  },
  {
    what: 'a state of a newer systemd that the contract can say',
    facts: { activeState: 'refreshing', subState: 'running' },
    expected: active('reloading', 'running'),
  },
  {
    what: 'a state that nobody knows',
    facts: { activeState: 'pondering', subState: 'deep' },
    expected: {},
  },
  {
    what: 'masked exists',
    facts: { loadState: 'masked' },
    file: 'masked',
    expected: { ...active('inactive', 'dead'), unit_file_state: 'masked' },
  },
  {
    what: 'loaded without a file exists',
    facts: { activeState: 'active', subState: 'running' },
    expected: { ...active('active', 'running'), running: true },
  },
  {
    what: 'deleted while it runs still exists',
    facts: { loadState: 'not-found', activeState: 'active', subState: 'running' },
    expected: { ...active('active', 'running'), running: true },
  },
  {
    what: 'a bad unit file exists',
    facts: { loadState: 'bad-setting' },
    file: 'disabled',
    expected: { ...active('inactive', 'dead'), unit_file_state: 'disabled' },
  },
  {
    what: 'the directory agrees with the manager',
    facts: { activeState: 'active', subState: 'running' },
    source: { kind: 'directory', atRest: false },
    expected: { ...active('active', 'running'), running: true },
  },
  {
    what: 'failed is as much at rest as the directory can tell',
    facts: { activeState: 'failed', subState: 'failed' },
    source: { kind: 'directory', atRest: true },
    expected: active('failed', 'failed'),
  },
  {
    what: 'the directory says it has ended: stopped or failed is not known',
    facts: { activeState: 'active', subState: 'running' },
    source: { kind: 'directory', atRest: true },
    expected: {},
  },
  {
    what: 'the directory says it was started',
    facts: { activeState: 'inactive', subState: 'dead' },
    source: { kind: 'directory', atRest: false },
    expected: { running: true },
  },
];

for (const { what, facts, file, source, expected } of ROWS) {
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
