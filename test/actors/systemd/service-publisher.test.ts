// Tests which Service record is made from the facts of a unit, when records and the backend's status are
// published, and which problems with unit files are logged. A scope is away while its systemd is not reached.

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

/** `onLog` is called for each log line. It gets the values of the fields of this line, joined by blanks. */
function setUp(
  watchedUnits: readonly WatchedUnit[] = UNITS,
  onLog: (fieldValues: string) => void = () => undefined,
) {
  /** A line for each published record or status, such as `user/u=DESCRIPTION` or `up`. */
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
    drop: () => assert.fail('every unit has a record, so nothing is dropped'),
    status: (state: string, detail?: string) =>
      published.push(detail === undefined ? state : `${state}: ${detail}`),
    log: (_level: string, _message: string, fields?: object) => onLog(Object.values(fields ?? {}).join(' ')),
    level: () => undefined,
  };
  const services = new ServicePublisher(publish, clock, watchedUnits);
  const record = (unit: WatchedUnit, description: string): ServiceRecord => {
    const { name, scope } = unit;
    const fields = { name, scope, running: false, enabled: false, exists: true, description };
    const toJSON = () => {
      encoded.count += 1;
      return fields;
    };
    return { ...fields, toJSON } as ServiceRecord;
  };
  const change = (unit: WatchedUnit, description: string) =>
    services.changed(unit, record(unit, description));
  /** The lines that were published since the last call. */
  const takePublished = (): readonly string[] => published.splice(0);
  return { services, clock, takePublished, change, encoded };
}

/** Sets up a publisher whose two scopes are both reached, and removes the lines that were published. */
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

test('if a unit changes several times within 50 ms, only the newest record is encoded and published; the 50 ms of each unit begin at its own first change', () => {
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

test('`publishNow` publishes the newest record of a unit at once, and this record is not published again later', () => {
  const { services, clock, takePublished, change, encoded } = setUpScopes();
  change(USER_UNIT, 'U2');
  change(USER_UNIT, 'U3');
  services.publishNow(USER_UNIT);
  assert.deepEqual(takePublished(), ['user/u=U3']);

  clock.advance(5_000);
  assert.deepEqual([takePublished(), encoded.count], [[], 1]);
});

test('while a scope is away, the backend is `connecting`, and each new reason is published once', () => {
  const { services, takePublished } = setUpScopes();
  services.setAbsence('user', 'gone');
  services.setAbsence('user', 'gone');
  assert.deepEqual(takePublished(), ['connecting: user scope: gone']);

  services.setAbsence('system', 'gone too');
  assert.deepEqual(takePublished(), ['connecting: system scope: gone too; user scope: gone']);
});

test('when a scope is reached, it is no longer reported as away, even if the other scope is not reached yet', () => {
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

test('while one scope is away, the records of the other are published; when both are reached again, all records are published again', () => {
  const { services, clock, takePublished, change } = setUpScopes();
  services.setAbsence('system', 'gone');
  takePublished();
  change(USER_UNIT, 'U2');
  clock.advance(50);
  assert.deepEqual(takePublished(), ['user/u=U2']);

  services.setAbsence('system', undefined);
  assert.deepEqual(takePublished(), ['system/s=S1', 'user/u=U2', 'up']);
});

test('a problem with the files of a unit is logged when it appears or changes, but not while it stays the same', () => {
  const logged: string[] = [];
  const { services } = setUp(UNITS, (fieldValues) => logged.push(fieldValues));
  const folderError = 'Is a directory';
  for (const problem of [undefined, folderError, folderError, 'Invalid argument', undefined, folderError])
    services.noteFileProblem(USER_UNIT, problem);
  assert.deepEqual(logged, [`user u ${folderError}`, 'user u Invalid argument', `user u ${folderError}`]);
});

const WATCHED_UNIT = { key: 'user/x.service', scope: 'user', name: 'x.service' } as const;
const LOADED_FACTS = { ...unknownUnit('x.service'), loadState: 'loaded', description: 'X' };
const BASE_RECORD = {
  name: 'x.service',
  scope: 'user',
  running: false,
  enabled: false,
  exists: true,
} as const;

/**
 * `facts` has only what differs from LOADED_FACTS. These are the facts of an inactive unit. `expected` has
 * only what differs from BASE_RECORD. The test adds `description` and `unit_file_state` to `expected`.
 */
type Row = readonly [
  title: string,
  facts: Partial<UnitFacts>,
  fileState: string | undefined,
  expected: object,
];

/** The facts of a unit in this state. */
const factsOf = (activeState: string, subState: string) => ({ activeState, subState });
/** The fields that the record of a unit has in this state. */
const fieldsOf = (activeState: string, subState: string) => ({
  active_state: activeState,
  sub_state: subState,
});

const RUNNING_FACTS = factsOf('active', 'running');
const RUNNING_FIELDS = { ...fieldsOf('active', 'running'), running: true };
const DEAD_FIELDS = fieldsOf('inactive', 'dead');

const ROWS: readonly Row[] = [
  [
    'a running unit with an enabled file is running and enabled',
    RUNNING_FACTS,
    'enabled',
    { ...RUNNING_FIELDS, enabled: true },
  ],
  [
    'an active unit whose program has ended is not running',
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
  ['a unit that is enabled only until the next boot is not `enabled`', {}, 'enabled-runtime', DEAD_FIELDS],
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
  ['a state that clients do not know is not published', factsOf('pondering', 'deep'), undefined, {}],
  ['a masked unit exists', { loadState: 'masked' }, 'masked', DEAD_FIELDS],
  ['a loaded unit without a file exists', RUNNING_FACTS, undefined, RUNNING_FIELDS],
  [
    'a running unit still exists after its file is deleted',
    { ...RUNNING_FACTS, loadState: 'not-found' },
    undefined,
    RUNNING_FIELDS,
  ],
  ['a unit with a bad file exists', { loadState: 'bad-setting' }, 'disabled', DEAD_FIELDS],
];

for (const [title, unitFacts, fileState, expected] of ROWS) {
  test(title, () => {
    const record = serviceRecord(WATCHED_UNIT, { ...LOADED_FACTS, ...unitFacts }, fileState);
    const fileFields = fileState === undefined ? {} : { unit_file_state: fileState };
    assert.deepEqual(record, { ...BASE_RECORD, description: 'X', ...fileFields, ...expected });
  });
}

test('a unit that does not exist has neither a state nor a description', () => {
  // systemd uses the name of a missing unit as its description.
  const missing = { ...LOADED_FACTS, loadState: 'not-found', description: 'x.service' };
  assert.deepEqual(serviceRecord(WATCHED_UNIT, missing, undefined), { ...BASE_RECORD, exists: false });
});

test('a record has the configured url, and none of its fields is undefined', () => {
  const record = serviceRecord({ ...WATCHED_UNIT, url: 'http://u/' }, LOADED_FACTS, undefined);
  assert.equal(record.url, 'http://u/');
  assert.ok(!Object.values(record).includes(undefined as never));
});

test('a description of 1 MiB is cut to its first 1024 characters and three dots', () => {
  const facts = { ...LOADED_FACTS, description: 'x'.repeat(1 << 20) };
  const { description } = serviceRecord(WATCHED_UNIT, facts, undefined);
  assert.equal(description, `${'x'.repeat(1024)}...`);
});
