// Tests which peers share a bound, and which connection is closed when there are too many.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BoundedConnection, Connections, LOOPBACK_PEER, peerOf } from '../../src/gateway/connections.js';

const ADDRESSES: readonly (readonly [bytes: number[], peer: string, why: string])[] = [
  [[192, 168, 1, 5], '192.168.1.5', 'an IPv4 address'],
  [[127, 0, 0, 1], LOOPBACK_PEER, 'loopback'],
  [[127, 9, 9, 9], LOOPBACK_PEER, 'all of 127.0.0.0/8'],
  [[...Array(10).fill(0), 255, 255, 192, 168, 1, 5], '192.168.1.5', 'IPv4 as IPv6'],
  [[...Array(10).fill(0), 255, 255, 127, 0, 0, 1], LOOPBACK_PEER, 'loopback as IPv6'],
  [[...Array(15).fill(0), 1], LOOPBACK_PEER, 'loopback of IPv6'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, ...Array(7).fill(0), 9], '2001:db8:0:7::/64', 'a /64 of IPv6'],
  [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, 1, ...Array(6).fill(0), 9], '2001:db8:0:7::/64', 'the same /64'],
];
for (const [bytes, peer, why] of ADDRESSES) {
  test(`${bytes.join('.')} belongs to ${peer}: ${why}`, () =>
    assert.equal(peerOf(new Uint8Array(bytes).buffer), peer));
}

/**
 * Loopback is one side. All other peers together are the other side. Each side may have six connections: all
 * eight except the two that are reserved for the other side. A single peer, except loopback, may have three.
 * Two more connections, the spare ones, may be open for a moment.
 */
const LIMITS = { connections: 8, spare: 2, reservedPerSide: 2, perPeer: 3 };

/**
 * A connection, written as a letter that names its peer (`l` is loopback). The letter is a capital if the
 * connection has sent a request. A `'` behind the letter means that the connection is idle.
 */
class SimulatedConnection implements BoundedConnection {
  readonly notation: string;
  readonly peer: string;
  isClosed = false;
  readonly #isIdle: boolean;

  constructor(notation: string) {
    this.notation = notation;
    this.#isIdle = notation.endsWith("'");
    const name = notation.charAt(0).toLowerCase();
    this.peer = name === 'l' ? LOOPBACK_PEER : name;
  }

  readonly isOpen = (): boolean => !this.isClosed;
  readonly isKnownToHaveRequested = (): boolean => /^[A-Z]/.test(this.notation);
  readonly isIdle = (): boolean => this.#isIdle;
}

/** Takes connections until there are no longer too many. The server would close the taken ones. */
function takeAllSurplus(connections: Connections<SimulatedConnection>): readonly SimulatedConnection[] {
  const taken: SimulatedConnection[] = [];
  for (;;) {
    const surplus = connections.takeSurplus();
    if (surplus === undefined) return taken;
    taken.push(surplus);
  }
}

/** The connections in the order in which they arrive, and those that are open at the end. */
const ARRIVALS: readonly (readonly [what: string, arrivals: string, openAtEnd: string])[] = [
  ['a peer with one connection too many loses the one that has sent no request', 'a A A A', 'A A A'],
  ['a peer above its bound loses only connections of its own', 'b a a a a a', 'b a a a'],
  ['a connection without any request is closed before an idle one', "A' a A A", "A' A A"],
  ['an idle connection is closed before one with a request under way', "A A' A A", 'A A A'],
  ['the newest connection is refused where all others have a request under way', 'A B A A A', 'A B A A'],
  [
    'the other peers may have only six connections, even before loopback has one',
    'a a a B B B c L',
    'a a B B B c L',
  ],
  [
    'loopback has no bound of its own, but a part is reserved for the other peers',
    'l l l L L L L A A',
    'l l L L L L A A',
  ],
  [
    'where all places are taken, a peer with most connections loses one that has sent no request',
    'L L a a a B B B C',
    'L L a a B B B C',
  ],
  [
    'the places reserved for loopback stay free: each time, a peer with most connections loses its oldest',
    'a a a b b c c d',
    'a b b c c d',
  ],
];
for (const [what, arrivals, expected] of ARRIVALS) {
  test(what, () => {
    const connections = new Connections<SimulatedConnection>(LIMITS);
    const open = new Set<SimulatedConnection>();
    for (const notation of arrivals.split(' ')) {
      const arrived = new SimulatedConnection(notation);
      open.add(arrived);
      connections.add(arrived);
      for (const closed of takeAllSurplus(connections)) open.delete(closed);
    }
    assert.equal([...open].map(({ notation }) => notation).join(' '), expected);
  });
}

test('a connection that closes makes room for one other connection of its peer', () => {
  const connections = new Connections<SimulatedConnection>(LIMITS);
  const arrive = (notation: string): SimulatedConnection => {
    const arrived = new SimulatedConnection(notation);
    connections.add(arrived);
    return arrived;
  };
  // `takeSurplus` counts the connections of each peer only if all peers together have more than `perPeer`.
  // With B they have four.
  arrive('B');
  const leaving = arrive('A');
  arrive('A');
  arrive('A');

  leaving.isClosed = true;
  connections.removeClosed();
  arrive('A');
  assert.equal(connections.takeSurplus(), undefined);
  const refused = arrive('A');
  assert.equal(connections.takeSurplus(), refused);
});

test('connections above the limit may wait in the spare places', () => {
  const connections = new Connections<SimulatedConnection>(LIMITS);
  const eightAndTwoSpare = 'abcdefghij';
  for (const letter of eightAndTwoSpare) connections.add(new SimulatedConnection(letter));
  assert.equal(connections.isOverfull, false);
  connections.add(new SimulatedConnection('k'));
  assert.equal(connections.isOverfull, true);
});
