// What is remembered of removed records: how much of it, for how long, and that what is forgotten makes room.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamEvent } from '../../../src/gateway/events/event.js';
import { entriesOf } from '../../../src/gateway/events/queue.js';
import { Tombstones } from '../../../src/gateway/events/ring.js';
import { numbers } from './node-under-test.js';
import { NodeWorld } from './node-world.js';

const COUNT_MAX = 1024;
const BYTES_MAX = 2 * 1024 * 1024;
/** So many bytes of text make a tombstone of 1/128 of that. */
const EXACT = (BYTES_MAX / 128 - 96) / 2;

/** Records that come and go, each event with the next sequence number. */
class ComingAndGoing {
  readonly tombstones = new Tombstones();
  readonly #world = new NodeWorld();
  #sequence = 0;

  /** A record whose text has so many bytes, fewer characters. */
  come(id: number, bytes = 0): void {
    const bare = { id, pad: 'é' };
    const missing = Math.max(bytes - Buffer.byteLength(JSON.stringify(bare)), 0);
    const record = { ...bare, pad: 'é'.repeat(1 + Math.floor(missing / 2)) + 'x'.repeat(missing % 2) };
    this.#note(this.#world.clients(record));
  }

  go(id: number): void {
    this.#note(this.#world.drop('audio.clients', String(id)));
  }

  #note(events: readonly StreamEvent[]): void {
    for (const event of events) {
      this.#sequence += 1;
      this.tombstones.note(event.removal, entriesOf(event, this.#sequence));
    }
  }

  /** The ids of the removed records, in order. */
  removed(after = 0): readonly number[] {
    return this.tombstones.since(after).map(({ json }) => (JSON.parse(json) as { readonly id: number }).id);
  }
}

/** The last `count` of the numbers below `end`. */
const lastOf = (end: number, count: number): readonly number[] => numbers(end - count, count);

const BOUNDS: readonly [name: string, gone: number, bytes: number, kept: number][] = [
  ['small removals are bounded by their number', 3 * COUNT_MAX, 0, COUNT_MAX],
  ['large removals are bounded by their bytes', 500, EXACT, 128],
  ['the bound of bytes is exact', 129, EXACT + 1, 127],
  ['a removal that is larger than the bound is not kept', 3, BYTES_MAX + 1, 0],
];
for (const [name, gone, bytes, kept] of BOUNDS) {
  test(`${name}: the latest are kept`, () => {
    const node = new ComingAndGoing();
    for (let id = 0; id < gone; id += 1) {
      node.come(id, bytes);
      node.go(id);
    }
    assert.deepEqual(node.removed(), lastOf(gone, kept));
  });
}

test('however much has been removed in a lifetime, what came back weighs nothing', () => {
  const node = new ComingAndGoing();
  node.come(0);
  node.go(0);
  for (let times = 0; times < 500; times += 1) {
    node.come(1, 8192);
    node.go(1);
  }
  assert.deepEqual(node.removed(), [0, 1]);
  node.come(1, 8192);
  assert.deepEqual(node.removed(), [0]);
});

test('of records that had one key after the other each comes back for itself, and weighs nothing then', () => {
  const node = new ComingAndGoing();
  for (let times = 0; times < 300; times += 1) {
    // Their texts differ.
    for (const bytes of [8192, 8193]) {
      node.come(1, bytes);
      node.go(1);
    }
  }
  assert.deepEqual(node.removed(), [1, 1]);
  for (let id = 2; id < 200; id += 1) {
    node.come(id, EXACT);
    node.go(id);
  }
  assert.deepEqual(node.removed(), lastOf(200, 128));
});

test('what made room for others is forgotten, and small removals are kept again behind large ones', () => {
  const node = new ComingAndGoing();
  for (let id = 0; id < 500; id += 1) {
    node.come(id, 8192);
    node.go(id);
  }
  for (let id = 500; id < 500 + COUNT_MAX; id += 1) {
    node.come(id);
    node.go(id);
  }
  assert.equal(node.removed().at(-1), 500 + COUNT_MAX - 1);
  assert.equal(node.removed().length, COUNT_MAX);
});

test('only the removals after a sequence number are told', () => {
  const node = new ComingAndGoing();
  for (const id of [0, 1, 2]) {
    node.come(id);
    node.go(id);
  }
  const told = [0, 2, 3, 4, 6].map((after) => node.removed(after).join());
  assert.deepEqual(told, ['0,1,2', '1,2', '1,2', '2', '']);
});
