// How changes are gathered into events.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventPace } from '../../../src/actors/systemd/event-pace.js';

/** Times of the events when a unit changes every `everyMs` for `forMs`. */
function eventsOf(everyMs: number, forMs: number): readonly number[] {
  const pace = new EventPace();
  const events: number[] = [];
  for (let at = 0; at < forMs; at += everyMs) {
    if (at < (events.at(-1) ?? 0)) continue;
    const windowMs = pace.windowMs('unit', at);
    pace.told('unit', windowMs, at + windowMs);
    events.push(at + windowMs);
  }
  return events;
}

test('a lone change is told after 50 ms, whenever it comes', () => {
  assert.deepEqual(eventsOf(10_000, 30_000), [50, 10_050, 20_050]);
});

test('200 changes in 100 ms cost two events', () => {
  assert.equal(eventsOf(0.5, 100).length, 2);
});

test('a start and a stop are told without delay', () => {
  assert.deepEqual(eventsOf(60, 240), [50, 110, 170, 230]);
});

test('a minute of crash loop costs an event every two seconds', () => {
  const events = eventsOf(5, 60_000);
  assert.ok(events.length < 40, `${events.length}`);
  const [before = 0, last = 0] = events.slice(-2);
  assert.equal(last - before, 2_000);
});

test('units do not slow each other down', () => {
  const pace = new EventPace();
  for (let at = 0; at < 1_000; at += 10) pace.told('restless', pace.windowMs('restless', at), at);
  assert.equal(pace.windowMs('calm', 1_000), 50);
});

test('a unit that has calmed down is quick again', () => {
  const pace = new EventPace();
  for (let at = 0; at < 1_000; at += 10) pace.told('unit', pace.windowMs('unit', at), at);
  assert.equal(pace.windowMs('unit', 1_000), 2_000);
  assert.equal(pace.windowMs('unit', 6_000), 50);
});
