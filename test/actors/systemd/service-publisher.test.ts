// Tests how the facts of a unit become its Service record, which changes of units are published, and when.

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

const SYSTEM_UNIT: WatchedUnit = { key: 'system/s', scope: 'system', name: 's' };
const USER_UNIT: WatchedUnit = { key: 'user/u', scope: 'user', name: 'u' };
const UNITS: readonly WatchedUnit[] = [SYSTEM_UNIT, USER_UNIT];

/** `onLog` is called for each log line, with the values of the line's fields. */
function setUp(watched: readonly WatchedUnit[] = UNITS, onLog: (line: string) => void = () => undefined) {
  const published: string[] = [];
  /** How many records were encoded as JSON. */
  const encoded = { count: 0 };
  const clock = new ManualClock();
  const publish = {
    put: (_: string, key: string, json: string, rank?: number) => {
      // The rank of a record is the place of its unit among the watched units.
      assert.equal(UNITS[rank ?? -1]?.key, key);
      return published.push(`${key}=${JSON.parse(json).description}`);
    },
    drop: () => assert.fail('no unit is hidden'),
    status: (state: string, detail?: string) =>
      published.push(detail === undefined ? state : `${state}: ${detail}`),
    log: (_level: string, _message: string, fields?: object) => onLog(Object.values(fields ?? {}).join(' ')),
    level: () => undefined,
  };
  const services = new ServicePublisher(publish, clock, watched);
  const record = (unit: WatchedUnit, description: string): ServiceRecord => {
    const { name, scope } = unit;
    const fields = { name, scope, running: false, enabled: false, exists: true, description };
    const toJSON = () => {
      encoded.count += 1;
      return fields;
    };
    return { ...fields, toJSON } as ServiceRecord;
  };
  const change = (unit: WatchedUnit, text: string) => services.changed(unit, record(unit, text));
  /** The lines that were published since the last call. */
  const takePublished = (): readonly string[] => published.splice(0);
  return { services, clock, takePublished, change, encoded };
}

/** Sets up a publisher whose scopes are both up, and takes the lines so far. */
function setUpScopes() {
  const publisher = setUp();
  const { services, clock, takePublished, change, encoded } = publisher;
  change(USER_UNIT, 'U1');
  change(SYSTEM_UNIT, 'S1');
  services.setAbsence('user', undefined);
  assert.deepEqual(takePublished(), []);
  services.setAbsence('system', undefined);
  assert.deepEqual(takePublished(), ['system/s=S1', 'user/u=U1', 'up']);
  assert.equal(clock.timers, 0);
  encoded.count = 0;
  return publisher;
}

test('the backend without any unit is up at once', () => assert.deepEqual(setUp([]).takePublished(), ['up']));

test("only the newest of a unit's changes within 50 ms is encoded and published; each unit has 50 ms of its own", () => {
  const { clock, takePublished, change, encoded } = setUpScopes();
  change(USER_UNIT, 'U2');
  clock.advance(49);
  change(USER_UNIT, 'U3');
  change(SYSTEM_UNIT, 'S2');
  assert.deepEqual(takePublished(), []);

  clock.advance(1);
  assert.deepEqual([takePublished(), encoded.count], [['user/u=U3'], 1]);

  clock.advance(49);
  assert.deepEqual(takePublished(), ['system/s=S2']);
});

test('a unit that changes every 10 ms is published every 50 ms for as long as it changes', () => {
  const { clock, takePublished, change, encoded } = setUpScopes();
  const publishedEach50Ms = Array.from({ length: 100 }, (_, step) => {
    for (let part = 0; part < 5; part += 1) {
      change(USER_UNIT, `U${step}.${part}`);
      clock.advance(10);
    }
    return takePublished().length;
  });
  assert.deepEqual(publishedEach50Ms, Array(100).fill(1));
  assert.equal(encoded.count, 100);
});

test('an urgent change is published at once, and not again later', () => {
  const { services, clock, takePublished, change, encoded } = setUpScopes();
  change(USER_UNIT, 'U2');
  change(USER_UNIT, 'U3');
  services.publishNow(USER_UNIT);
  assert.deepEqual(takePublished(), ['user/u=U3']);

  clock.advance(5_000);
  assert.deepEqual([takePublished(), encoded.count], [[], 1]);
});

test('if a scope is down, the backend reports this once, with the reason of the scope', () => {
  const { services, takePublished } = setUpScopes();
  services.setAbsence('user', 'gone');
  services.setAbsence('user', 'gone');
  assert.deepEqual(takePublished(), ['connecting: user scope: gone']);

  services.setAbsence('system', 'gone too');
  assert.deepEqual(takePublished(), ['connecting: system scope: gone too; user scope: gone']);
});

test('a scope that is reached is no longer reported as away, even if the other scope was never reached', () => {
  const { services, takePublished, change } = setUp();
  services.setAbsence('user', 'gone');
  assert.deepEqual(takePublished(), ['connecting: system scope: not connected yet; user scope: gone']);

  change(USER_UNIT, 'U1');
  services.setAbsence('user', undefined);
  assert.deepEqual(takePublished(), ['connecting: system scope: not connected yet']);

  change(SYSTEM_UNIT, 'S1');
  services.setAbsence('system', undefined);
  assert.deepEqual(takePublished(), ['system/s=S1', 'user/u=U1', 'up']);
});

test('while a scope is down, the other scope is published; when the scope returns, all records are published again', () => {
  const { services, clock, takePublished, change } = setUpScopes();
  services.setAbsence('system', 'gone');
  takePublished();
  change(USER_UNIT, 'U2');
  clock.advance(50);
  assert.deepEqual(takePublished(), ['user/u=U2']);

  services.setAbsence('system', undefined);
  assert.deepEqual(takePublished(), ['system/s=S1', 'user/u=U2', 'up']);
});

test('the reason why unit files cannot be read is logged once, and again only after it has changed or ended', () => {
  const logged: string[] = [];
  const { services } = setUp(UNITS, (line) => logged.push(line));
  const folderError = 'Is a directory';
  for (const problem of [undefined, folderError, folderError, 'Invalid argument', undefined, folderError])
    services.noteFileProblem(USER_UNIT, problem);
  assert.deepEqual(logged, [`user u ${folderError}`, 'user u Invalid argument', `user u ${folderError}`]);
});

const WATCHED = { key: 'user/x.service', scope: 'user', name: 'x.service' } as const;
const LOADED = { ...unknownUnit('x.service'), loadState: 'loaded', description: 'X' };
const EXISTING = { name: 'x.service', scope: 'user', running: false, enabled: false, exists: true } as const;

/**
 * Facts that a row lacks are those of LOADED, which is inactive. `expected` has each field whose value is not
 * that of EXISTING, and each field that EXISTING lacks. The test itself adds the description and the file's
 * state.
 */
type Row = readonly [
  what: string,
  facts: Partial<UnitFacts>,
  fileState: string | undefined,
  expected: object,
];

/** A state, in the form of a unit's facts. */
const factsOf = (activeState: string, subState: string) => ({ activeState, subState });
/** A state, in the form of a unit's record. */
const fieldsOf = (state: string, sub: string) => ({ active_state: state, sub_state: sub });

const RUNNING_FACTS = factsOf('active', 'running');
const RUNNING = { ...fieldsOf('active', 'running'), running: true };
const DEAD = fieldsOf('inactive', 'dead');

const ROWS: readonly Row[] = [
  [
    'a running unit with an enabled file is running and enabled',
    RUNNING_FACTS,
    'enabled',
    { ...RUNNING, enabled: true },
  ],
  [
    'an active unit without a program is not running',
    factsOf('active', 'exited'),
    'static',
    fieldsOf('active', 'exited'),
  ],
  [
    'an activating unit is not running, even if its sub-state is `running`',
    factsOf('activating', 'running'),
    undefined,
    fieldsOf('activating', 'running'),
  ],
  ['a unit that is enabled for this boot only is not enabled', {}, 'enabled-runtime', DEAD],
  [
    'a failed unit is published as failed',
    factsOf('failed', 'failed'),
    'disabled',
    fieldsOf('failed', 'failed'),
  ],
  [
    'the state `refreshing` is published as `reloading`',
    factsOf('refreshing', 'running'),
    undefined,
    fieldsOf('reloading', 'running'),
  ],
  ['an unknown state is not published', factsOf('pondering', 'deep'), undefined, {}],
  ['a masked unit exists', { loadState: 'masked' }, 'masked', DEAD],
  ['a loaded unit without a file exists', RUNNING_FACTS, undefined, RUNNING],
  [
    'a running unit still exists after its file is deleted',
    { ...RUNNING_FACTS, loadState: 'not-found' },
    undefined,
    RUNNING,
  ],
  ['a unit with a bad file exists', { loadState: 'bad-setting' }, 'disabled', DEAD],
];

for (const [what, unitFacts, fileState, expected] of ROWS) {
  test(what, () => {
    const record = serviceRecord(WATCHED, { ...LOADED, ...unitFacts }, fileState);
    const fileFields = fileState === undefined ? {} : { unit_file_state: fileState };
    assert.deepEqual(record, { ...EXISTING, description: 'X', ...fileFields, ...expected });
  });
}

test('a unit that does not exist has neither a state nor a description', () => {
  // systemd uses the name of a missing unit as its description.
  const missing = { ...LOADED, loadState: 'not-found', description: 'x.service' };
  assert.deepEqual(serviceRecord(WATCHED, missing, undefined), { ...EXISTING, exists: false });
});

test('the url is passed through, and no field of a record is undefined', () => {
  const record = serviceRecord({ ...WATCHED, url: 'http://u/' }, LOADED, undefined);
  assert.equal(record.url, 'http://u/');
  assert.ok(!Object.values(record).includes(undefined as never));
});

test('a description of 1 MiB is cut to its first 1024 characters and three dots', () => {
  const { description } = serviceRecord(WATCHED, { ...LOADED, description: 'x'.repeat(1 << 20) }, undefined);
  assert.equal(description, `${'x'.repeat(1024)}...`);
});
