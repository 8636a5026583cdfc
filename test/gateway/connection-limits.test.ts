// The limit of connections, and which one is closed first. With real sockets: server.test.ts, contract/silent-neighbour.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import {
  addressKey,
  type Connection,
  Connections,
  connectionLimits,
  LOOPBACK,
} from '../../src/gateway/connection-limits.js';

/** build/test/gateway/connection-limits.test.js -> the project's root. */
const UNIT = new URL('../../../packaging/tonearm.service', import.meta.url);

/** A configuration's maxClients, the process's limit of descriptors, and the resulting limits. */
const ROWS: readonly (readonly [
  clients: number,
  descriptors: number,
  connections: number,
  streams: number,
  loopback: number,
  perAddress: number,
  spare: number,
])[] = [
  [256, 16_384, 768, 256, 96, 128, 512],
  [10_000, 16_384, 10_512, 10_000, 1314, 5000, 512],
  [256, 4096, 768, 256, 96, 128, 512],
  [256, 1380, 768, 256, 96, 128, 100],
  [256, 1100, 588, 256, 73, 128, 0],
  [256, 1024, 512, 256, 64, 128, 0],
  [10_000, 4096, 3584, 3072, 448, 1536, 0],
  [10_000, 1024, 512, 256, 64, 128, 0],
  [256, 100, 50, 25, 6, 32, 0],
  [1, Number.POSITIVE_INFINITY, 513, 1, 64, 32, 512],
];
for (const [clients, descriptors, connections, streams, loopback, perAddress, spare] of ROWS) {
  test(`maxClients ${clients} and ${descriptors} descriptors: ${connections} connections, ${perAddress} of one address, ${streams} streams`, () => {
    const limits = connectionLimits(clients, descriptors);
    assert.deepEqual(limits, { connections, spare, loopback, perAddress, streams });
  });
}

test('the shipped unit allows as many descriptors as the largest maxClients needs', () => {
  const unit = readFileSync(UNIT, 'utf8');
  const descriptors = Number(/^LimitNOFILE=(\d+)$/m.exec(unit)?.[1]);
  assert.equal(connectionLimits(10_000, descriptors).streams, 10_000);
});

const ADDRESSES: readonly (readonly [bytes: number[], name: string, why: string])[] = [
  [[192, 168, 1, 5], '192.168.1.5', 'IPv4'],
  [[127, 0, 0, 1], LOOPBACK, 'loopback'],
  [[127, 9, 9, 9], LOOPBACK, 'all of 127.0.0.0/8'],
  [[...Array(10).fill(0), 255, 255, 192, 168, 1, 5], '192.168.1.5', 'IPv4 as IPv6'],
  [[...Array(10).fill(0), 255, 255, 127, 0, 0, 1], LOOPBACK, 'loopback as IPv6'],
  [[...Array(15).fill(0), 1], LOOPBACK, 'loopback of IPv6'],
  [[0x20, 1, ...Array(13).fill(0), 9], `2001${'0'.repeat(26)}09`, 'IPv6'],
];
for (const [bytes, name, why] of ADDRESSES) {
  test(`${bytes.join('.')} is ${name}: ${why}`, () =>
    assert.equal(addressKey(new Uint8Array(bytes).buffer), name));
}

/** Connections by name, such as `a1`: the letter is the address; `l` is loopback. A capital letter means a request under way. */
class House {
  readonly #connections: Connections<Connection & { readonly name: string }>;
  readonly #gone = new Set<string>();

  constructor(connections: number, loopback: number, perAddress: number) {
    this.#connections = new Connections({ connections, spare: 2, loopback, perAddress });
  }

  /** The names of the connections that are closed until the limit is kept. */
  enter(...names: readonly string[]): string {
    for (const name of names) {
      const letter = name.toLowerCase().charAt(0);
      this.#connections.arrived({
        name,
        address: letter === 'l' ? LOOPBACK : letter,
        isOpen: () => !this.#gone.has(name),
        isSilent: () => name === name.toLowerCase(),
      });
    }
    const closed: string[] = [];
    for (let giver = this.#connections.giver(); giver; giver = this.#connections.giver())
      closed.push(giver.name);
    return closed.join(' ');
  }

  leave(...names: readonly string[]): void {
    for (const name of names) {
      this.#gone.add(name);
      this.#connections.left();
    }
  }
}

describe('the connection that is closed for a new one', () => {
  test('is, for an address at its bound, the one that has been silent longest', () => {
    const house = new House(16, 2, 3);
    assert.equal(house.enter('a1', 'A2', 'a3', 'b1'), '');
    assert.equal(house.enter('a4', 'a5'), 'a1 a3');
    assert.equal(house.enter('b2', 'b3'), '');
  });

  test('is, for an address at its bound without a silent one, the newest; other addresses may connect', () => {
    const house = new House(16, 2, 2);
    assert.equal(house.enter('A1', 'A2', 'B1', 'A3', 'b2'), 'A3');
    assert.equal(house.enter('b3'), 'b2');
  });

  test('is, at the bound of all, of the address that has most, whoever connects', () => {
    const house = new House(8, 2, 4);
    assert.equal(house.enter('d1', 'A1', 'a2', 'a3', 'b1', 'b2'), '');
    assert.equal(house.enter('e1'), 'a2');
    assert.equal(house.enter('f1'), 'a3');
    assert.equal(house.enter('F2'), 'b1');
    assert.equal(house.enter('g1'), 'f1');
  });

  test('is, at the bound of all with one each, the one that has been silent longest', () => {
    const house = new House(4, 1, 3);
    assert.equal(house.enter('A1', 'b1', 'c1', 'd1', 'e1'), 'b1 c1');
  });

  test('is, for an address of which all but one had gone, chosen no sooner than before', () => {
    const house = new House(16, 0, 3);
    house.enter('a1', 'a2');
    house.leave('a2');
    assert.equal(house.enter('a3', 'a4'), '');
    assert.equal(house.enter('a5'), 'a1');
  });

  test('is, at the bound of all without a silent one, the newest', () => {
    const house = new House(6, 0, 3);
    assert.equal(house.enter('A1', 'A2', 'A3', 'B1', 'B2', 'B3', 'C1', 'D1'), 'D1 C1');
    assert.equal(house.enter('c1'), 'c1');
  });

  test('is none within the part for loopback, which has no bound of its own', () => {
    const house = new House(8, 2, 2);
    assert.equal(house.enter('a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'l1', 'l2'), '');
    assert.equal(house.enter('d1'), 'a1');
    assert.equal(house.enter('l3'), 'b1');
    const own = new House(8, 2, 2);
    assert.equal(own.enter('l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8'), '');
    assert.equal(own.enter('l9', 'a1'), 'l1 l2');
  });

  test('is none where another has gone, in whatever order they go', () => {
    const house = new House(8, 0, 8);
    const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'b3', 'b4'];
    for (let round = 0; round < 3; round += 1) {
      const own = names.map((name) => name + round);
      assert.equal(house.enter(...own), '');
      for (const at of [2, 0, 7, 1, 3, 5, 4, 6]) house.leave(own[at] ?? '');
    }
    house.leave('nobody');
    assert.equal(house.enter(...names), '');
  });
});

test('connections beyond the spare ones are too many', () => {
  const connections = new Connections({ connections: 2, spare: 1, loopback: 0, perAddress: 9 });
  const arrive = () => connections.arrived({ address: 'a', isOpen: () => true, isSilent: () => true });
  for (const isOverfull of [false, false, false, true]) {
    arrive();
    assert.equal(connections.isOverfull, isOverfull);
  }
  connections.giver();
  assert.equal(connections.isOverfull, false);
});
