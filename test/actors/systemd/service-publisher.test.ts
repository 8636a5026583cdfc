// From the facts of a unit to its Service record; which changes of units are published, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ServicePublisher,
  serviceRecord,
  type WatchedUnit,
} from '../../../src/actors/systemd/service-publisher.js';
import { type UnitFacts, unknownUnit } from '../../../src/actors/units/facts.js';
import type { ServiceRecord } from '../../../src/protocol/actor/schemas.js';
import { ManualClock } from '../../manual-clock.js';

const S: WatchedUnit = { key: 'system/s', scope: 'system', name: 's' };
const U: WatchedUnit = { key: 'user/u', scope: 'user', name: 'u' };
const UNITS: readonly WatchedUnit[] = [S, U];

function setUp(watched: readonly WatchedUnit[] = UNITS, logged: (line: string) => void = () => undefined) {
  const published: string[] = [];
  const encoded = { count: 0 };
  const clock = new ManualClock();
  const publish = {
    put: (_: string, key: string, json: string, rank?: number) => {
      assert.equal(UNITS[rank ?? -1]?.key, key);
      return published.push(`${key}=${JSON.parse(json).description}`);
    },
    drop: () => assert.fail('no unit is hidden'),
    status: (state: string, detail?: string) =>
      published.push(detail === undefined ? state : `${state}: ${detail}`),
    log: (_level: string, _message: string, fields?: object) => logged(Object.values(fields ?? {}).join(' ')),
    level: () => undefined,
  };
  const services = new ServicePublisher(publish, clock, watched);
  const record = (unit: WatchedUnit, description: string): ServiceRecord => {
    const { name, scope } = unit;
    const bare = { name, scope, running: false, enabled: false, exists: true, description };
    const toJSON = () => {
      encoded.count += 1;
      return bare;
    };
    return { ...bare, toJSON } as ServiceRecord;
  };
  const change = (unit: WatchedUnit, text: string) => services.changed(unit, record(unit, text));
  /** The lines since the last call. */
  const taken = (): readonly string[] => published.splice(0);
  return { services, clock, taken, change, encoded };
}

/** Both scopes are up, and all lines so far are taken. */
function up() {
  const all = setUp();
  all.change(U, 'U1');
  all.change(S, 'S1');
  all.services.setAbsence('user', undefined);
  assert.deepEqual(all.taken(), []);
  all.services.setAbsence('system', undefined);
  assert.deepEqual(all.taken(), ['system/s=S1', 'user/u=U1', 'up']);
  assert.equal(all.clock.timers, 0);
  all.encoded.count = 0;
  return all;
}

test('the backend without any unit is up at once', () => assert.deepEqual(setUp([]).taken(), ['up']));

test('only the newest of the changes of a unit within 50 ms is encoded and published; other units do not wait', () => {
  const { clock, taken, change, encoded } = up();
  change(U, 'U2');
  clock.advance(49);
  change(U, 'U3');
  change(S, 'S2');
  assert.deepEqual(taken(), []);
  clock.advance(1);
  assert.deepEqual([taken(), encoded.count], [['user/u=U3'], 1]);
  clock.advance(49);
  assert.deepEqual(taken(), ['system/s=S2']);
});

test('an urgent change is published at once, and once', () => {
  const { services, clock, taken, change, encoded } = up();
  change(U, 'U2');
  change(U, 'U3');
  services.publishNow(U);
  assert.deepEqual(taken(), ['user/u=U3']);
  clock.advance(5_000);
  assert.deepEqual([taken(), encoded.count], [[], 1]);
});

test('if a scope is down, the backend reports once that it is down, with the reason of the scope', () => {
  const { services, taken } = up();
  services.setAbsence('user', 'gone');
  services.setAbsence('user', 'gone');
  assert.deepEqual(taken(), ['connecting: user scope: gone']);
  services.setAbsence('system', 'gone too');
  assert.deepEqual(taken(), ['connecting: system scope: gone too; user scope: gone']);
});

test('the other scope is published meanwhile; the return of a scope publishes all its records again', () => {
  const { services, clock, taken, change } = up();
  services.setAbsence('system', 'gone');
  taken();
  change(U, 'U2');
  clock.advance(50);
  assert.deepEqual(taken(), ['user/u=U2']);
  services.setAbsence('system', undefined);
  assert.deepEqual(taken(), ['system/s=S1', 'user/u=U2', 'up']);
});

test('the reason why unit files cannot be read is logged once, until it changes or ends', () => {
  const logged: string[] = [];
  const { services } = setUp(UNITS, (line) => logged.push(line));
  const folder = 'Is a directory';
  for (const problem of [undefined, folder, folder, 'Invalid argument', undefined, folder])
    services.noteFileProblem(U, problem);
  assert.deepEqual(logged, [`user u ${folder}`, 'user u Invalid argument', `user u ${folder}`]);
});

const WATCHED = { key: 'user/x.service', scope: 'user', name: 'x.service' } as const;
const LOADED = { ...unknownUnit('x.service'), loadState: 'loaded', description: 'X' };
const BARE = { name: 'x.service', scope: 'user', running: false, enabled: false, exists: true } as const;

type Row = readonly [what: string, facts: Partial<UnitFacts>, file: string | undefined, expected: object];

const run = (activeState: string, subState: string) => ({ activeState, subState });
const active = (state: string, sub: string) => ({ active_state: state, sub_state: sub });
const RUNS = run('active', 'running');
const DEAD = active('inactive', 'dead');
const RUNNING = { ...active('active', 'running'), running: true };

const ROWS: readonly Row[] = [
  ['running', RUNS, 'enabled', { ...RUNNING, enabled: true }],
  ['no program', run('active', 'exited'), 'static', active('active', 'exited')],
  ['a sub-state called running', run('activating', 'running'), undefined, active('activating', 'running')],
  ['enabled for this boot only is not enabled', {}, 'enabled-runtime', DEAD],
  ['failed', run('failed', 'failed'), 'disabled', active('failed', 'failed')],
  ['a newer state of a known kind', run('refreshing', 'running'), undefined, active('reloading', 'running')],
  ['an unknown state', run('pondering', 'deep'), undefined, {}],
  ['a masked unit exists', { loadState: 'masked' }, 'masked', DEAD],
  ['a loaded unit without a file exists', RUNS, undefined, RUNNING],
  ['a unit that is deleted while it runs exists', { ...RUNS, loadState: 'not-found' }, undefined, RUNNING],
  ['a unit with a bad file exists', { loadState: 'bad-setting' }, 'disabled', DEAD],
];

for (const [what, facts, file, expected] of ROWS) {
  test(what, () => {
    const record = serviceRecord(WATCHED, { ...LOADED, ...facts }, file);
    const fileFields = file === undefined ? {} : { unit_file_state: file };
    assert.deepEqual(record, { ...BARE, description: 'X', ...fileFields, ...expected });
  });
}

test('a unit that does not exist has no state', () => {
  const facts = { ...LOADED, loadState: 'not-found', description: 'x.service' };
  assert.deepEqual(serviceRecord(WATCHED, facts, undefined), { ...BARE, exists: false });
});

test('the url is passed through, and optional fields are absent', () => {
  const record = serviceRecord({ ...WATCHED, url: 'http://u/' }, LOADED, undefined);
  assert.equal(record.url, 'http://u/');
  assert.ok(!Object.values(record).includes(undefined as never));
});

test('a description of the largest size is cut at its end', () => {
  const { description } = serviceRecord(WATCHED, { ...LOADED, description: 'x'.repeat(1 << 20) }, undefined);
  assert.equal(description, `${'x'.repeat(1024)}...`);
});
