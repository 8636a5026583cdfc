// The changes that a bridge receives, also when it is slow: a row per rule.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BridgeFeeds } from '../../src/gateway/bridges.js';
import { Journal } from '../../src/gateway/journal.js';
import type { Bridge } from '../../src/protocol/actor/backends.js';
import type { Change, ChangeBatch } from '../../src/protocol/actor/messages.js';
import { drop, put } from './scripted-backends.js';

const SERVED = put('served', '', { port: 8018, addresses: ['::1'] });
const UP = put('backends', 'audio', { backend: 'audio', state: 'up' });
const AWAY = put('backends', 'audio', { backend: 'audio', state: 'connecting' });

const output = (id: number, name = `sink-${id}`): Change => put('audio.outputs', String(id), { id, name });
const gone = (id: number): Change => drop('audio.outputs', String(id));
const line = (percent: number): Change => put('upgrade.progress', '', { percent });

class Node {
  readonly told: ChangeBatch[] = [];
  readonly journal = new Journal();
  readonly feeds = new BridgeFeeds({ sendChanges: (_bridge, batch) => this.told.push(batch) }, this.journal);
  readonly #bridge: Bridge;

  constructor(bridge: Bridge = 'mqtt') {
    this.#bridge = bridge;
    this.journal.apply([UP, SERVED], 0);
  }

  change(...changes: readonly Change[]): void {
    this.feeds.changed(this.journal.apply(changes, 0));
  }

  /** Confirms the last batch as the bridge does; returns the batch that follows, if any. */
  pulled(isFirst = false): readonly Change[] | undefined {
    const before = this.told.length;
    this.feeds.pulled(this.#bridge, isFirst);
    return this.told[before]?.changes;
  }
}

/** A node that has sent the whole state; the bridge has not confirmed it yet. */
function slow(): Node {
  const node = new Node();
  node.pulled(true);
  return node;
}

describe('a bridge', () => {
  test('gets all records first, then changes, one message at a time', () => {
    const node = new Node();
    node.change(output(1), line(1));
    assert.deepEqual(node.told, [], 'nobody has pulled');
    node.pulled(true);
    assert.deepEqual(node.told, [{ isWhole: true, changes: [UP, SERVED, output(1)] }]);
    node.change(output(2));
    assert.equal(node.told.length, 1, 'the first message is not taken in');
    assert.deepEqual(node.pulled(), [output(2)]);
    assert.equal(node.pulled(), undefined, 'nothing has changed');
    node.change(output(3), gone(2));
    assert.deepEqual(node.told.at(-1), { isWhole: false, changes: [output(3), gone(2)] });
  });

  test('gets only the records that it needs', () => {
    const node = new Node('discovery');
    assert.deepEqual(node.pulled(true), [SERVED]);
    node.pulled();
    node.change(output(1), line(1), AWAY);
    assert.equal(node.told.length, 1);
    const served = put('served', '', { port: 1, addresses: [] });
    node.change(served);
    assert.deepEqual(node.told.at(-1), { isWhole: false, changes: [served] });
  });

  test('whose thread is new gets all records again, and nothing that waited', () => {
    const node = slow();
    node.change(line(1), output(1));
    assert.deepEqual(node.pulled(true), [UP, SERVED, output(1)]);
    assert.equal(node.told.at(-1)?.isWhole, true);
    assert.equal(node.pulled(), undefined);
  });
});

describe('the changes that wait for a slow bridge', () => {
  for (const [what, of] of [
    ['actions', (n: number) => [line(n)]],
    ['removals', (n: number) => [output(n), gone(n)]],
  ] as const) {
    test(`are sent as the whole state after more ${what} than are kept`, () => {
      const node = slow();
      for (let n = 0; n < 1100; n += 1) node.change(...of(n));
      node.change(output(7));
      assert.deepEqual(node.pulled(), [UP, SERVED, output(7)]);
      assert.equal(node.told.at(-1)?.isWhole, true);
      node.change(output(8));
      assert.deepEqual(node.pulled(), [output(8)]);
    });
  }
});
