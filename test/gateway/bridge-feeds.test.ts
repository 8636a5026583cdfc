// What a bridge is told, and what waits for one that is slow: a row per rule, against a mirror that is asked for the whole.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BridgeFeeds } from '../../src/gateway/bridge-feeds.js';
import type { BackendHealth, ChildName } from '../../src/protocol/actor/backends.js';
import type { PassingEvent } from '../../src/protocol/actor/collections.js';
import type { Change, Notice, NoticeBatch } from '../../src/protocol/actor/messages.js';
import { drop, put } from './scripted-backends.js';

const EVERYTHING: readonly Notice['kind'][] = ['put', 'drop', 'event', 'forget', 'health', 'served'];
const UP: BackendHealth = { state: 'up', since: 0, restarts: 0 };
const AWAY: BackendHealth = { state: 'connecting', since: 0, restarts: 0 };
const SERVED: Notice = { kind: 'served', port: 8018, addresses: ['::1'] };

const output = (id: number, name = `sink-${id}`): Change => put('audio.outputs', String(id), { id, name });
const gone = (id: number): Change => drop('audio.outputs', String(id));
const event = (type: PassingEvent, record: object): Change => ({
  ...{ kind: 'event', type, json: JSON.stringify(record) },
});
const line = (percent: number): Change => event('upgrade.progress', { percent });
const LEVEL = event('audio.level', { outputs: [] });
const health = (child: ChildName, state: BackendHealth): Notice => ({ kind: 'health', child, health: state });

class Node {
  readonly told: NoticeBatch[] = [];
  records: readonly Change[] = [];
  readonly feeds: BridgeFeeds;

  constructor(hears = EVERYTHING) {
    this.feeds = new BridgeFeeds({
      heard: { discovery: hears, mqtt: [] },
      bridges: { tell: (_bridge, batch) => this.told.push(batch) },
      mirror: { records: () => this.records, allHealth: () => new Map([['audio', UP]]) },
      served: () => ({ port: 8018, addresses: ['::1'] }),
    });
  }

  /** What is told when the bridge has taken in what it was told before. */
  pulled(isFirst = false): readonly Notice[] | undefined {
    const before = this.told.length;
    this.feeds.pulled('discovery', isFirst);
    return this.told[before]?.notices;
  }
}

/** One that has been told the whole, and has not taken it in yet. */
function slow(): Node {
  const node = new Node();
  node.pulled(true);
  return node;
}

describe('a bridge', () => {
  test('is told all there is first, then what changes, one message at a time', () => {
    const node = new Node();
    node.records = [output(1)];
    node.feeds.changed([output(1)]);
    assert.deepEqual(node.told, [], 'nobody has pulled');
    node.pulled(true);
    assert.deepEqual(node.told, [{ isWhole: true, notices: [SERVED, health('audio', UP), output(1)] }]);
    node.feeds.changed([output(2)]);
    assert.equal(node.told.length, 1, 'the first message is not taken in');
    assert.deepEqual(node.pulled(), [output(2)]);
    assert.equal(node.pulled(), undefined, 'there is nothing to tell');
    node.feeds.changed([output(3), gone(2)]);
    assert.deepEqual(node.told.at(-1), { isWhole: false, notices: [output(3), gone(2)] });
  });

  test('that is slow is told what waits when all ends, as of a reboot', () => {
    const node = slow();
    const reboot = event('power.action', { action: 'reboot' });
    node.feeds.changed([reboot]);
    assert.equal(node.told.length, 1);
    node.feeds.end();
    assert.deepEqual(node.told.at(-1), { isWhole: false, notices: [reboot] });
  });

  test('is told only what it hears', () => {
    const node = new Node(['served']);
    assert.deepEqual(node.pulled(true), [SERVED]);
    node.pulled();
    node.feeds.changed([output(1), line(1)]);
    node.feeds.health('audio', AWAY);
    assert.equal(node.told.length, 1);
    node.feeds.served();
    assert.deepEqual(node.told.at(-1), { isWhole: false, notices: [SERVED] });
  });

  test('whose thread is new is told all again, and nothing of what waited', () => {
    const node = slow();
    node.feeds.changed([output(1), line(1)]);
    assert.deepEqual(node.pulled(true), [SERVED, health('audio', UP)]);
    assert.equal(node.told.at(-1)?.isWhole, true);
    assert.equal(node.pulled(), undefined);
  });

  test('is nobody who is no bridge', () => {
    const node = new Node();
    node.feeds.pulled('audio', true);
    assert.deepEqual(node.told, []);
  });
});

describe('what waits for a slow one', () => {
  const rows: readonly [what: string, happens: (node: Node) => void, waits: readonly Notice[]][] = [
    [
      'the newest word on a record, behind what came before it',
      ({ feeds }) => feeds.changed([output(1), output(2), output(1, 'renamed')]),
      [output(2), output(1, 'renamed')],
    ],
    ['a removal', ({ feeds }) => feeds.changed([output(1), gone(1)]), [gone(1)]],
    ['what came back', ({ feeds }) => feeds.changed([gone(1), output(1)]), [output(1)]],
    [
      'each action, in order, and no reading',
      ({ feeds }) => feeds.changed([line(1), output(1), LEVEL, line(2), line(2)]),
      [line(1), output(1), line(2), line(2)],
    ],
    [
      'that records are not known any more, and what is known behind that',
      ({ feeds }) => {
        feeds.changed([output(1), gone(2), put('systemd.services', 'user/a.service', {})]);
        feeds.health('audio', AWAY);
        feeds.changed([output(3)]);
        feeds.health('audio', UP);
      },
      [
        put('systemd.services', 'user/a.service', {}),
        { kind: 'forget', backend: 'audio' },
        output(3),
        health('audio', UP),
      ],
    ],
    ["a bridge's state", ({ feeds }) => feeds.health('discovery', AWAY), [health('discovery', AWAY)]],
    [
      'the addresses, once',
      ({ feeds }) => {
        feeds.served();
        feeds.served();
      },
      [SERVED],
    ],
  ];
  for (const [what, happens, waits] of rows) {
    test(what, () => {
      const node = slow();
      happens(node);
      assert.deepEqual(node.pulled(), waits);
    });
  }

  test('is bounded: beyond that the whole is told instead', () => {
    const node = slow();
    const text = 'x'.repeat(1000);
    for (let sent = 0; sent < 5000; sent += 1) node.feeds.changed([output(1, text)]);
    assert.deepEqual(node.pulled(), [output(1, text)], 'one record is one, however often it changes');
    for (let id = 0; id < 2000; id += 1) node.feeds.changed([output(id, text)]);
    node.records = [output(7)];
    assert.deepEqual(node.pulled(), [SERVED, health('audio', UP), output(7)]);
    assert.equal(node.told.at(-1)?.isWhole, true);
    node.feeds.changed([output(8)]);
    assert.deepEqual(node.pulled(), [output(8)]);
  });

  test('is bounded also for one that waits for more: what comes at once and is too much is told as the whole', () => {
    const node = slow();
    assert.equal(node.pulled(), undefined);
    node.records = [output(7)];
    node.feeds.changed(Array.from({ length: 2000 }, (_, id) => output(id, 'x'.repeat(1000))));
    assert.deepEqual(node.told.at(-1), { isWhole: true, notices: [SERVED, health('audio', UP), output(7)] });
  });

  for (const [what, of] of [
    ['actions', line],
    ['removals', gone],
  ] as const) {
    test(`${what} without number are bounded too`, () => {
      const node = slow();
      for (let count = 0; count < 20_000; count += 1) node.feeds.changed([of(count)]);
      assert.deepEqual(node.pulled(), [SERVED, health('audio', UP)]);
    });
  }
});
