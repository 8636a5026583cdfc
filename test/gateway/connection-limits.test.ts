// How many connections there may be: the arithmetic and the counting. With real sockets: server.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { ConnectionShares, connectionLimits, LOOPBACK, peerOf } from '../../src/gateway/connection-limits.js';

/** build/test/gateway/connection-limits.test.js -> the project's root. */
const UNIT = new URL('../../../packaging/tonearm.service', import.meta.url);

/** A configuration's maxClients and the process's limit; what comes of it. */
const ROWS: readonly (readonly [
  clients: number,
  descriptors: number,
  connections: number,
  streams: number,
  waiting: number,
])[] = [
  [256, 16_384, 768, 256, 512],
  [10_000, 16_384, 10_512, 10_000, 512],
  [256, 4096, 768, 256, 512],
  [256, 3172, 768, 256, 100],
  [256, 1024, 512, 256, 0],
  [10_000, 4096, 2048, 1536, 0],
  [10_000, 1024, 512, 256, 0],
  [256, 100, 50, 25, 0],
  [1, Number.POSITIVE_INFINITY, 513, 1, 512],
];
for (const [clients, descriptors, connections, streams, waiting] of ROWS) {
  test(`maxClients ${clients} and ${descriptors} descriptors: ${connections} connections, ${streams} streams, ${waiting} that wait`, () => {
    assert.deepEqual(connectionLimits(clients, descriptors), { connections, waiting, streams });
  });
}

test('the shipped unit lets the largest maxClients be', () => {
  const unit = readFileSync(UNIT, 'utf8');
  const descriptors = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1]);
  assert.equal(connectionLimits(10_000, descriptors).streams, 10_000);
});

const PEERS: readonly (readonly [address: number[], peer: string, why: string])[] = [
  [[192, 168, 1, 5], '192.168.1.5', 'IPv4'],
  [[127, 0, 0, 1], LOOPBACK, 'loopback'],
  [[127, 9, 9, 9], LOOPBACK, 'all of 127.0.0.0/8'],
  [[...Array(10).fill(0), 255, 255, 192, 168, 1, 5], '192.168.1.5', 'IPv4 as IPv6'],
  [[...Array(10).fill(0), 255, 255, 127, 0, 0, 1], LOOPBACK, 'loopback as IPv6'],
  [[...Array(15).fill(0), 1], LOOPBACK, 'loopback of IPv6'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], '20010db800000001', 'a /64'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 8, 7, 6, 5, 4, 3, 2, 1], '20010db800000001', 'the same /64'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8], '20010db800000002', 'another /64'],
  [[0x2a, 0x81, 0xd, 0xb8, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8], '2a810db800000001', 'a /64 from elsewhere'],
  [[0xfe, 0x80, ...Array(13).fill(0), 9], `fe80${'0'.repeat(26)}09`, 'link-local'],
  [[0xfe, 0xbf, ...Array(13).fill(0), 9], `febf${'0'.repeat(26)}09`, 'link-local, all of fe80::/10'],
];
for (const [address, peer, why] of PEERS) {
  test(`the peer of ${address.join('.')} is ${peer}: ${why}`, () =>
    assert.equal(peerOf(new Uint8Array(address).buffer), peer));
}

/** Connections by name, such as `a1`: the letters are the peer; `l` is loopback. Capitals have something under way. */
class House {
  readonly told: string[] = [];
  readonly shares: ConnectionShares<string>;

  constructor(max: number) {
    this.shares = new ConnectionShares<string>(
      max,
      (name) => name === name.toLowerCase(),
      (most) => this.told.push(most),
    );
  }

  /** They wait. */
  arrive(...names: readonly string[]): void {
    for (const name of names) {
      const peer = name.toLowerCase().replace(/\d+$/, '');
      this.shares.arrived(name, peer === 'l' ? LOOPBACK : peer);
    }
  }

  /** What is closed for so many that have waited, one after the other. */
  admit(count: number): string {
    const closed = Array.from({ length: count }, () => this.shares.admit());
    return closed.filter((name) => name !== undefined).join(' ');
  }

  enter(...names: readonly string[]): string {
    this.arrive(...names);
    return this.admit(names.length);
  }

  leave(...names: readonly string[]): void {
    for (const name of names) this.shares.left((one) => one === name);
  }
}

function many(peer: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${peer}${index + 1}`);
}

describe('sharing', () => {
  test('one peer has at most three quarters, and gives way to itself, the longest silent first', () => {
    const house = new House(32);
    assert.equal(house.enter(...many('a', 21)), '');
    assert.equal(house.enter('a22', 'a23'), 'a1 a2');
    assert.equal(house.enter('b1', 'c1'), '');
    assert.equal(new House(2).enter('a1', 'a2'), 'a1');
  });

  test('one peer is one, also after all but one of its connections have left', () => {
    const house = new House(8);
    house.enter(...many('a', 5));
    house.leave('a1', 'a2', 'a3', 'a4');
    assert.equal(house.enter('a6', 'a7', 'a8', 'a9'), '');
    assert.equal(house.enter('a10'), 'a5');
  });

  test('in a full house whoever has most gives way, whoever comes', () => {
    const house = new House(32);
    house.enter(...many('a', 18), ...many('b', 10));
    assert.equal(house.enter('c1', 'c2'), 'a1 a2');
    assert.equal(house.enter('b11'), 'a3');
    assert.equal(house.enter('a19'), 'a4');
    assert.deepEqual(house.told, ['a']);
  });

  test('what has something under way is not closed; then the newcomer is', () => {
    const house = new House(8);
    house.enter('A1', 'A2', 'A3', 'A4', 'B1', 'B2');
    assert.equal(house.enter('b3'), '');
    assert.equal(house.enter('c1'), 'b3');
    assert.equal(house.enter('a5', 'b4'), 'a5 b4');
    assert.equal(house.enter('d1'), 'c1');
    house.enter('D2');
    assert.equal(house.enter('E1'), 'E1');
  });

  test('a house full of single connections lets the next one in', () => {
    const house = new House(8);
    assert.equal(house.enter('a1', 'b1', 'c1', 'd1', 'e1', 'f1', 'g1'), '');
    assert.equal(house.enter('h1', 'i1'), 'a1 b1');
  });

  test('a part is for loopback, which may have all', () => {
    const house = new House(16);
    house.enter(...many('a', 10), ...many('b', 4));
    assert.equal(house.enter('l1', 'l2'), '');
    assert.equal(house.enter('l3'), 'a1');
    const crowded = new House(16);
    crowded.enter('l1', 'l2', ...[...'abcdefghijkmno'].map((peer) => `${peer}1`));
    assert.equal(crowded.enter('p1'), 'a1');
    const alone = new House(16);
    assert.equal(alone.enter(...many('l', 16)), '');
    assert.equal(alone.enter('l17', 'a1'), 'l1 l2');
  });

  test('whoever leaves makes room, in whatever order they go', () => {
    const house = new House(8);
    const order = ['a3', 'a1', 'a5', 'a2', 'a4'];
    for (let round = 0; round < 3; round += 1) {
      assert.equal(house.enter(...many('a', 5)), '');
      house.leave(...order);
    }
    house.leave('nobody');
    assert.equal(house.enter(...many('b', 5), 'c1', 'c2'), '');
  });

  test('those who wait cost nobody a place until they are let in, the first first', () => {
    const house = new House(8);
    house.enter(...many('a', 5), 'b1', 'b2');
    assert.equal(house.shares.isFull, false);
    house.arrive('a6', 'b3', 'b4', 'c1');
    assert.equal(house.shares.waiting, 4);
    assert.equal(house.admit(1), 'a1');
    assert.equal(house.shares.isFull, true);
    house.leave('b3', 'a6');
    assert.equal(house.shares.waiting, 2);
    assert.equal(house.admit(3), 'a2');
    assert.equal(house.shares.waiting, 0);
    assert.equal(house.enter('d1'), 'a3');
  });

  test('where all have something under way, whoever is let in goes, and not who waits behind it', () => {
    const house = new House(8);
    house.enter('A1', 'A2', 'A3', 'A4', 'B1', 'B2', 'C1');
    house.arrive('d1', 'e1');
    assert.equal(house.admit(1), 'd1');
    assert.equal(house.shares.waiting, 1);
  });

  test('what leaves the part for loopback makes no room elsewhere', () => {
    const house = new House(16);
    house.enter('l1', 'l2');
    house.leave('l2', 'l1');
    assert.equal(house.enter(...many('a', 10), ...many('b', 4)), '');
    assert.equal(house.enter('b5'), 'a1');
  });

  test('of peers that have as many, who came first is named; who has gone has not come', () => {
    const house = new House(8);
    house.enter('a1', 'b1');
    house.leave('a1');
    house.enter('b2', 'b3', 'a2', 'a3', 'a4', 'c1');
    assert.equal(house.enter('d1'), 'b1');
    assert.deepEqual(house.told, ['b']);
  });

  test('a spell of too many is told once, and is over when half of them have gone', () => {
    const house = new House(8);
    house.enter(...many('a', 5), 'b1', 'b2');
    assert.equal(house.enter('b3', 'b4'), 'a1 a2');
    house.leave('a3', 'a4');
    assert.equal(house.enter('c1', 'c2', 'c3'), 'b1');
    assert.deepEqual(house.told, ['a']);
    house.leave('a5', 'b2', 'b3');
    assert.equal(house.enter(...many('d', 4)), 'd1');
    assert.deepEqual(house.told, ['a', 'd']);
  });
});
