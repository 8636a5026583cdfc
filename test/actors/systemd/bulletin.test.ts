// What is told, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Bulletin } from '../../../src/actors/systemd/bulletin.js';
import type { Watched } from '../../../src/actors/systemd/whitelist.js';
import { ManualClock } from '../manual-clock.js';

const UNITS: readonly Watched[] = [
  { key: 'system/s', scope: 'system', name: 's' },
  { key: 'user/u', scope: 'user', name: 'u' },
];
const [S, U] = UNITS as readonly [Watched, Watched];

function setUp(scopes: readonly ('system' | 'user')[] = ['system', 'user']) {
  const said: string[] = [];
  const texts = new Map<string, string>();
  const held = new Set<string>();
  const clock = new ManualClock();
  const publish = {
    put: (_: string, key: string, json: string, place?: number) => {
      assert.equal(
        place,
        UNITS.findIndex((unit) => unit.key === key),
      );
      return said.push(`${key}=${json}`);
    },
    drop: (_: string, key: string) => said.push(`${key} dropped`),
    status: (state: string, detail?: string) =>
      said.push(detail === undefined ? state : `${state}: ${detail}`),
  };
  const bulletin = new Bulletin(publish, clock, UNITS, {
    textOf: ({ key }) => texts.get(key),
    held: () => held.has('now'),
  });
  bulletin.begin(scopes);
  /** What was said since the last look. */
  const taken = (): readonly string[] => said.splice(0);
  const whole = (scope: 'system' | 'user', detail?: string) =>
    bulletin.scopeIs(scope, { kind: 'whole', detail });
  const away = (scope: 'system' | 'user', detail: string) =>
    bulletin.scopeIs(scope, { kind: 'away', detail });
  const change = (unit: Watched, text: string) => {
    texts.set(unit.key, text);
    bulletin.touched(unit);
  };
  return { bulletin, clock, taken, whole, away, change, texts, held };
}

/** Both scopes whole, everything said taken. */
function up() {
  const all = setUp();
  all.texts.set('system/s', 'S1').set('user/u', 'U1');
  all.whole('user');
  all.whole('system');
  assert.deepEqual(all.taken(), ['system/s=S1', 'user/u=U1', 'up']);
  return all;
}

test('it is up when every scope is whole, with all records in their order', () => {
  up();
});

test('without any unit it is up at once', () => {
  assert.deepEqual(setUp([]).taken(), ['up']);
});

test('changes are gathered, and the newest is told', () => {
  const { clock, taken, change } = up();
  change(U, 'U2');
  clock.pass(49);
  change(U, 'U3');
  assert.deepEqual(taken(), []);
  clock.pass(1);
  assert.deepEqual(taken(), ['user/u=U3']);
});

test('a change that comes to nothing is not told', () => {
  const { clock, taken, change } = up();
  change(U, 'U2');
  change(U, 'U1');
  clock.pass(100);
  change(U, 'U1');
  assert.equal(clock.waiting, 0);
  assert.deepEqual(taken(), []);
});

test('a flush tells at once, and once', () => {
  const { bulletin, clock, taken, change } = up();
  change(U, 'U2');
  bulletin.flush(U);
  assert.deepEqual(taken(), ['user/u=U2']);
  clock.pass(5_000);
  assert.deepEqual(taken(), []);
});

test('200 changes in 100 ms cost three events at most, and the last is true', () => {
  const { clock, taken, change } = up();
  for (let each = 0; each < 200; each += 1) {
    change(U, `U${each}`);
    clock.pass(0.5);
  }
  clock.pass(5_000);
  const told = taken();
  assert.ok(told.length <= 3, told.join());
  assert.equal(told.at(-1), 'user/u=U199');
});

test('a scope that is away takes the backend down, and says why once', () => {
  const { taken, away } = up();
  away('user', 'gone');
  away('user', 'gone');
  assert.deepEqual(taken(), ['connecting: user scope: gone']);
  away('system', 'gone too');
  assert.deepEqual(taken(), ['connecting: system scope: gone too; user scope: gone'].slice(0, 1));
});

test('the other scope goes on telling meanwhile; its return says nothing but what is so', () => {
  const { clock, taken, away, whole, change } = up();
  away('system', 'gone');
  taken();
  change(U, 'U2');
  clock.pass(50);
  assert.deepEqual(taken(), ['user/u=U2']);
  whole('system');
  assert.deepEqual(taken(), ['system/s=S1', 'user/u=U2', 'up']);
  away('system', 'gone');
  whole('system');
  assert.deepEqual(taken(), ['connecting: system scope: gone', 'system/s=S1', 'user/u=U2', 'up']);
});

test('a whole scope may have something to say, and may stop saying it', () => {
  const { taken, whole } = up();
  whole('user', 'no signals');
  whole('user', 'no signals');
  whole('user');
  assert.deepEqual(taken(), ['up: user scope: no signals', 'up']);
});

test('a unit that turns out to be internal is dropped', () => {
  const { bulletin, clock, taken, texts } = up();
  texts.delete('user/u');
  bulletin.touched(U);
  clock.pass(50);
  assert.deepEqual(taken(), ['user/u dropped']);
  bulletin.touched(U);
  assert.equal(clock.waiting, 0);
  assert.equal(S.key, 'system/s');
});

test('stopped, it waits for nothing', () => {
  const { bulletin, clock, change } = up();
  change(U, 'U2');
  bulletin.stop();
  assert.equal(clock.waiting, 0);
});

test('what was gathered when a reload began is held back until it is certain', () => {
  const { bulletin, clock, taken, change, held } = up();
  change(U, 'U2');
  held.add('now');
  clock.pass(5_000);
  assert.deepEqual(taken(), []);
  held.clear();
  bulletin.flush(U);
  assert.deepEqual(taken(), ['user/u=U2']);
});
