// Which peers share a bound, and which connection is closed when there are too many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Connection, Connections, LOOPBACK, peerOf } from '../../src/gateway/connections.js';

const ADDRESSES: readonly (readonly [bytes: number[], peer: string, why: string])[] = [
  [[192, 168, 1, 5], '192.168.1.5', 'an IPv4 address'],
  [[127, 0, 0, 1], LOOPBACK, 'loopback'],
  [[127, 9, 9, 9], LOOPBACK, 'all of 127.0.0.0/8'],
  [[...Array(10).fill(0), 255, 255, 192, 168, 1, 5], '192.168.1.5', 'IPv4 as IPv6'],
  [[...Array(10).fill(0), 255, 255, 127, 0, 0, 1], LOOPBACK, 'loopback as IPv6'],
  [[...Array(15).fill(0), 1], LOOPBACK, 'loopback of IPv6'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, ...Array(7).fill(0), 9], '2001:db8:0:7::/64', 'a /64 of IPv6'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, 1, ...Array(6).fill(0), 9], '2001:db8:0:7::/64', 'the same /64'],
];
for (const [bytes, peer, why] of ADDRESSES) {
  test(`${bytes.join('.')} belongs to ${peer}: ${why}`, () =>
    assert.equal(peerOf(new Uint8Array(bytes).buffer), peer));
}

const LIMITS = { connections: 8, spare: 2, reserved: 2, perPeer: 3 };

/**
 * A connection by its letter: its peer, `l` for loopback. A capital letter has asked, and `'` behind it means
 * that it is idle.
 */
class SimulatedConnection implements Connection {
  readonly letter: string;
  readonly peer: string;
  isClosed = false;
  readonly #isIdle: boolean;

  constructor(written: string) {
    this.letter = written;
    this.#isIdle = written.endsWith("'");
    const name = written.charAt(0).toLowerCase();
    this.peer = name === 'l' ? LOOPBACK : name;
  }

  readonly isOpen = (): boolean => !this.isClosed;
  readonly hasRequested = (): boolean => this.letter.charAt(0) !== this.letter.charAt(0).toLowerCase();
  readonly isIdle = (): boolean => this.#isIdle;
}

/** Those who come in turn, and those who are open when all that must be closed are closed. */
const CROWDS: readonly (readonly [what: string, crowd: string, open: string])[] = [
  ['the longest silent one of a peer makes room for its next one', 'a A A A', 'A A A'],
  ['a peer that is above its bound leaves the others alone', 'b a a a a a', 'b a a a'],
  ['one that has never asked goes before one that is idle', "A' a A A", "A' A A"],
  ['an idle one goes before one that is at work', "A A' A A", 'A A A'],
  ['the newest is refused where all are at work', 'A B A A A', 'A B A A'],
  ['the others leave a part to loopback', 'a a a B B B c L', 'a a B B B c L'],
  [
    'loopback has no bound of its own, and leaves a part to the others',
    'l l l L L L L A A',
    'l l L L L L A A',
  ],
  ['in a full house the peer that has most gives its silent one', 'L L a a a B B B C', 'L L a a B B B C'],
  ['in a full house of others the peer that has most gives', 'a a a b b c c d', 'a b b c c d'],
];
for (const [what, crowd, expected] of CROWDS) {
  test(what, () => {
    const connections = new Connections<SimulatedConnection>(LIMITS);
    const open = new Set<SimulatedConnection>();
    for (const letter of crowd.split(' ')) {
      const arrived = new SimulatedConnection(letter);
      open.add(arrived);
      connections.arrived(arrived);
      for (let surplus = connections.surplus(); surplus !== undefined; surplus = connections.surplus())
        open.delete(surplus);
    }
    assert.equal([...open].map(({ letter }) => letter).join(' '), expected);
  });
}

test('a connection that leaves makes room for its peer and for all', () => {
  const connections = new Connections<SimulatedConnection>(LIMITS);
  const arrive = (letter: string): SimulatedConnection => {
    const arrived = new SimulatedConnection(letter);
    connections.arrived(arrived);
    return arrived;
  };
  const leaving = arrive('A');
  arrive('A');
  arrive('A');
  leaving.isClosed = true;
  connections.left();
  arrive('A');
  assert.equal(connections.surplus(), undefined);
  const refused = arrive('A');
  assert.equal(connections.surplus(), refused);
});

test('there is room to wait in above the limit', () => {
  const connections = new Connections<SimulatedConnection>(LIMITS);
  for (const letter of 'abcdefghij') connections.arrived(new SimulatedConnection(letter));
  assert.equal(connections.isOverfull, false);
  connections.arrived(new SimulatedConnection('k'));
  assert.equal(connections.isOverfull, true);
});
