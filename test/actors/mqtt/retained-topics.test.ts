// Tests when each topic is published: the test moves the clock, and decides when the broker acknowledges.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  PUBLICATION_GAP_MS,
  type Publication,
  RetainedTopics,
} from '../../../src/actors/mqtt/retained-topics.js';

/** The broker accepts the whole text. */
const whole = ({ text }: Publication): string => text;

/** `wanted` is the text that each topic should hold. */
function treeOf(wanted: Map<string, string>, held: Record<string, string> = {}): RetainedTopics {
  const tree = new RetainedTopics((topic) => wanted.get(topic));
  tree.begin(new Map(Object.entries(held)));
  return tree;
}

function all(tree: RetainedTopics, nowMs: number): readonly string[] {
  const next = tree.next(nowMs, whole);
  return next === undefined ? [] : [`${next.topic}=${next.text}`, ...all(tree, nowMs)];
}

test('a topic that the broker holds already is not published', () => {
  const tree = treeOf(
    new Map([
      ['a', '1'],
      ['b', '2'],
      ['c', ''],
    ]),
    { a: '1', b: 'old', c: 'stale', d: 'nobody knows' },
  );
  assert.deepEqual(all(tree, 0), ['b=2', 'c=']);
});

test('a topic that changes all the time is published once in each gap, the last value at the end', () => {
  const wanted = new Map<string, string>();
  const tree = treeOf(wanted);
  const published: [number, string][] = [];
  for (let now = 0; now <= 2000; now += 5) {
    if (now <= 1000) {
      wanted.set('a', `${now}`);
      tree.touch('a');
    }
    const next = tree.next(now, whole);
    if (next !== undefined) {
      published.push([now, next.text]);
      tree.acknowledged('a');
    }
  }
  const gaps = published.slice(1).map(([at], i) => at - (published[i]?.[0] ?? 0));
  assert.ok(
    gaps.every((gap) => gap >= PUBLICATION_GAP_MS),
    String(gaps),
  );
  assert.equal(published.at(-1)?.[1], '1000');
});

test('the time of the next publication is known, or that none is due', () => {
  const wanted = new Map([['a', '1']]);
  const tree = treeOf(wanted);
  tree.touch('a');
  tree.next(7, whole);
  wanted.set('a', '2');
  tree.touch('a');
  assert.equal(tree.dueAt(), undefined, 'it is under way');
  tree.acknowledged('a');
  assert.equal(tree.dueAt(), 7 + PUBLICATION_GAP_MS);
  assert.equal(tree.next(7 + PUBLICATION_GAP_MS - 1, whole), undefined);
  assert.deepEqual(all(tree, 7 + PUBLICATION_GAP_MS), ['a=2']);
});

test('a topic that others overwrite is published again, also before the acknowledgement', () => {
  const tree = treeOf(new Map([['status', 'online']]));
  tree.touch('status');
  assert.deepEqual(all(tree, 0), ['status=online']);
  tree.published('status', 'online');
  tree.published('status', 'offline');
  tree.acknowledged('status');
  assert.deepEqual(all(tree, PUBLICATION_GAP_MS), ['status=online']);
});

test('a topic that was in flight when a connection ended is still to be published', () => {
  const tree = treeOf(new Map([['a', '1']]));
  tree.touch('a');
  assert.deepEqual(all(tree, 0), ['a=1']);
  tree.begin(new Map());
  tree.touch('a');
  assert.deepEqual(all(tree, PUBLICATION_GAP_MS), ['a=1']);
});

test('a topic that does not fit is replaced, or left as it is', () => {
  const tree = treeOf(
    new Map([
      ['a', 'too large'],
      ['b', 'too large'],
    ]),
    { a: 'old', b: 'old' },
  );
  const fitted = ({ topic }: Publication) => (topic === 'a' ? '' : undefined);
  assert.deepEqual(tree.next(0, fitted), { topic: 'a', text: '' });
  assert.equal(tree.next(0, fitted), undefined);
});

test('a topic to be repeated is published though it is held or in flight', () => {
  const tree = treeOf(new Map([['a', '1']]), { a: '1' });
  tree.again('a');
  assert.deepEqual(all(tree, 0), ['a=1']);
  tree.again('a');
  tree.acknowledged('a');
  assert.deepEqual(all(tree, PUBLICATION_GAP_MS), ['a=1']);
});
