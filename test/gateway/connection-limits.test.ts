// The limit of connections, and whose are refused. With real sockets: server.test.ts, contract/silent-neighbour.test.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connectionLimits } from '../../src/gateway/connection-limits.js';
import { addressKey, Connections, LOOPBACK } from '../../src/gateway/server.js';

/** build/test/gateway/connection-limits.test.js -> the project's root. */
const UNIT = new URL('../../../packaging/tonearm.service', import.meta.url);

/** A configuration's maxClients, the process's limit of descriptors, and the resulting limits. */
const ROWS: readonly (readonly [
  clients: number,
  descriptors: number,
  connections: number,
  streams: number,
  reserved: number,
  perAddress: number,
])[] = [
  [256, 16_384, 768, 256, 96, 128],
  [10_000, 16_384, 10_512, 10_000, 1314, 5000],
  [256, 1100, 588, 256, 73, 128],
  [10_000, 4096, 3584, 3072, 448, 1536],
  [256, 100, 50, 25, 6, 32],
  [1, Number.POSITIVE_INFINITY, 513, 1, 64, 32],
];
for (const [clients, descriptors, connections, streams, reserved, perAddress] of ROWS) {
  test(`maxClients ${clients} and ${descriptors} descriptors: ${connections} connections, ${perAddress} of one address, ${streams} streams`, () =>
    assert.deepEqual(connectionLimits(clients, descriptors), { connections, reserved, perAddress, streams }));
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

/** A crowd by letters, each an address, `l` loopback: those that are admitted, a capital letter for one that leaves first. */
const CROWDS: readonly (readonly [what: string, crowd: string, admitted: string])[] = [
  ['one address has its bound, and leaves room to others', 'aaaabb', 'aaabb'],
  ['the others leave a part to loopback', 'aaabbbcl', 'aaabbbl'],
  ['loopback has no bound of its own, and leaves a part to the others', 'lllllllaa', 'llllllaa'],
  ['no more than all fit', 'llaaabbbcll', 'llaaabbb'],
  ['one that leaves makes room for its address and for all', 'aaaAaabbbBc', 'aaaabbbc'],
];
for (const [what, crowd, admitted] of CROWDS) {
  test(what, () => {
    const limits = { connections: 8, reserved: 2, perAddress: 3, streams: 8 };
    const connections = new Connections(limits);
    const open: { readonly address: string; isOpen: boolean }[] = [];
    const leave = (address: string): void => {
      const leaving = open.find((one) => one.isOpen && one.address === address);
      if (leaving !== undefined) leaving.isOpen = false;
      connections.left();
    };
    const inside = [...crowd].filter((letter) => {
      const address = letter === 'l' ? LOOPBACK : letter;
      if (letter !== letter.toLowerCase()) leave(letter.toLowerCase());
      if (letter !== letter.toLowerCase() || !connections.admits(address)) return false;
      const one = { address, isOpen: true };
      open.push(one);
      connections.arrived({ address, isOpen: () => one.isOpen });
      return true;
    });
    assert.equal(inside.join(''), admitted);
  });
}
