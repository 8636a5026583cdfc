// Tests which addresses `bind` means, whether the gateway can listen on all of them at once, and how it
// follows addresses that appear and vanish. The interfaces are scripted. test/contract/addresses.test.ts has
// real ones.

import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { canNeverExist, hostForClient, resolveBind } from '../../src/gateway/bind.js';
import { ListeningSockets } from '../../src/gateway/listening.js';
import type { InterfaceAddresses } from '../../src/host/own-addresses.js';
import { repeating, staysFlat } from '../leaks/flat.js';
import { ManualClock } from '../manual-clock.js';
import { GatewayUnderTest } from './gateway-under-test.js';
import { v4, v6 } from './interfaces.js';

const INTERFACES: InterfaceAddresses = {
  lo: [v4('127.0.0.1'), v6('::1')],
  eth0: [v4('10.0.0.2'), v6('fd00::2'), v6('fe80::2')],
  wlan0: [v6('fe80::3')],
};

/** These addresses have networks (`cidr`), with which `hostForClient` compares the client's address. */
const HOME_INTERFACES: InterfaceAddresses = {
  lo: [{ ...v4('127.0.0.1'), cidr: '127.0.0.1/8' }],
  eth0: [
    { ...v4('10.0.0.2'), cidr: '10.0.0.2/24' },
    { ...v6('fe80::2'), cidr: 'fe80::2/64' },
    { ...v6('fd00::2'), cidr: 'fd00::2/64' },
  ],
  wlan0: [
    { ...v4('192.168.1.5'), cidr: '192.168.1.5/24' },
    // Node.js reports no `cidr` if the netmask is invalid.
    { ...v4('192.168.2.5'), cidr: null },
  ],
};

const families = Object.values(networkInterfaces()).flatMap((addresses) =>
  addresses?.map(({ family }) => family),
);
const machineHasIpv6 = families.includes('IPv6');

/** The addresses, then "absent" and the entries of `bind` that have no address. */
function summaryOf({ present, missing }: ReturnType<typeof resolveBind>): string {
  const addresses = present.map(({ address }) => address);
  if (missing.length === 0) return addresses.join(' ');
  return [...addresses, 'absent', ...missing].join(' ');
}

const rows: [bind: string[], interfaces: InterfaceAddresses, expected: string][] = [
  [['lo'], INTERFACES, '127.0.0.1 ::1'],
  [['eth0'], INTERFACES, '10.0.0.2 fd00::2'],
  [['lo', 'eth0'], INTERFACES, '127.0.0.1 ::1 10.0.0.2 fd00::2'],
  [['192.0.2.9'], INTERFACES, 'absent 192.0.2.9'],
  [['10.0.0.2'], INTERFACES, '10.0.0.2'],
  [['lo', '192.0.2.9', 'eth1'], INTERFACES, '127.0.0.1 ::1 absent 192.0.2.9 eth1'],
  // All of 127.0.0.0/8 exists, although interfaces list only 127.0.0.1 of it.
  [['127.0.0.2'], INTERFACES, '127.0.0.2'],
  [['::1', 'lo'], INTERFACES, '::1 127.0.0.1'],
  // The socket of `::` also serves IPv4. That of `0.0.0.0` serves only IPv4.
  [['all'], INTERFACES, '::'],
  [['all'], { lo: [v4('127.0.0.1')] }, '0.0.0.0'],
  [['0.0.0.0', '::'], INTERFACES, '::'],
  [['0::0', 'lo', 'eth0'], INTERFACES, '::'],
  [['0.0.0.0', '127.0.0.1'], INTERFACES, '0.0.0.0'],
  [['lo', '0.0.0.0', 'eth0'], INTERFACES, '::1 0.0.0.0 fd00::2'],
  [['0.0.0.0', '::1'], INTERFACES, '0.0.0.0 ::1'],
  [['::', 'eth1'], INTERFACES, ':: absent eth1'],
  [['0:0:0:0:0:0:0:1', '::1', 'FD00::2'], INTERFACES, '::1 fd00::2'],
  // An IPv4 address in IPv6 form has the prefix `::ffff:`.
  [['::ffff:10.0.0.2'], INTERFACES, '10.0.0.2'],
  [['::ffff:192.0.2.9'], INTERFACES, 'absent ::ffff:192.0.2.9'],
  [['127.0.0.1', '::ffff:127.0.0.1'], INTERFACES, '127.0.0.1'],
  [['::ffff:0:0', '127.0.0.1'], INTERFACES, '0.0.0.0'],
  // The prefix of this address is `::ffff:0:`, not `::ffff:`. So it is not 127.0.0.1 in IPv6 form.
  [['::ffff:0:7f00:1', '127.0.0.1'], INTERFACES, '127.0.0.1 absent ::ffff:0:7f00:1'],
  // A link-local address gets its interface as its zone.
  [['fe80::2'], INTERFACES, 'fe80::2%eth0'],
  [['fe80::2%eth0'], INTERFACES, 'fe80::2%eth0'],
  [['fe80::9'], INTERFACES, 'absent fe80::9'],
  [['fe80::1%nowhere'], INTERFACES, 'absent fe80::1%nowhere'],
  [['fe80::1'], { eth0: [v6('fe80::1')], eth1: [v6('fe80::1')] }, 'fe80::1%eth0 fe80::1%eth1'],
  [['192.0.2.5'], { 'eth0:1': [v4('192.0.2.5')] }, '192.0.2.5'],
  // The only address of wlan0 is link-local.
  [['wlan0'], INTERFACES, 'absent wlan0'],
  [['localhost'], INTERFACES, 'absent localhost'],
  // Every object has a member `constructor`, but there is no interface with this name.
  [['constructor'], INTERFACES, 'absent constructor'],
];
for (const [bind, interfaces, expected] of rows) {
  test(`bind ${bind.join(', ')} means ${expected}`, () =>
    assert.equal(summaryOf(resolveBind(bind, interfaces)), expected));
}

/** Most of these entries overlap, and the kernel would refuse a socket of its own for each of them. */
const LISTENED_TOGETHER: readonly (readonly string[])[] = [
  ['0.0.0.0', '127.0.0.1', 'lo'],
  ['::', '0.0.0.0', '::1'],
  ['0.0.0.0', '::1'],
  ['127.0.0.1', '::ffff:127.0.0.1'],
];
for (const bind of LISTENED_TOGETHER) {
  const needsIpv6 = bind.some((address) => isIP(address) === 6);
  const skip = needsIpv6 && !machineHasIpv6 ? 'no IPv6 on this machine' : false;
  test(`bind ${bind.join(', ')} can be listened on`, { skip }, async (context) => {
    const under = new GatewayUnderTest().closeAtEndOf(context);
    assert.deepEqual(under.gateway.listen(bind, 0).refused, []);
  });
}

test('if bind names an interface, its link-local address is left out with a note', () => {
  const note = 'bind: eth0: the link-local address fe80::2 is left out';
  assert.deepEqual(resolveBind(['eth0'], INTERFACES).notes, [note]);
});

test('IPv6 addresses alone can never be listened on where the kernel has no IPv6', () => {
  const cases: readonly { bind: string[]; hasIpv6: boolean; expected: boolean }[] = [
    { bind: ['::1', 'fd00::2'], hasIpv6: false, expected: true },
    { bind: ['::1', 'lo'], hasIpv6: false, expected: false },
    { bind: ['::1', '10.0.0.2'], hasIpv6: false, expected: false },
    { bind: ['::ffff:10.0.0.2'], hasIpv6: false, expected: false },
    { bind: ['all'], hasIpv6: false, expected: false },
    { bind: ['::1'], hasIpv6: true, expected: false },
  ];
  for (const { bind, hasIpv6, expected } of cases)
    assert.equal(canNeverExist(bind, hasIpv6), expected, bind.join());
});

/** 192.168.1.7 in IPv6 form. */
const IPV4_AS_IPV6 = '0000:0000:0000:0000:0000:ffff:c0a8:0107';
const clients: readonly [client: string, listening: string[], host: string, why: string][] = [
  ['192.168.1.7', ['::'], '192.168.1.5', 'the client is in the network of this address'],
  [IPV4_AS_IPV6, ['::'], '192.168.1.5', 'an IPv4 address as the server writes it'],
  ['192.168.1.7', ['0.0.0.0'], '192.168.1.5', 'every IPv4 address is served'],
  ['192.168.1.7', ['10.0.0.2'], '10.0.0.2', 'only the other network is served'],
  ['fd00::7', ['::'], '[fd00::2]', 'a network of IPv6'],
  ['fd00::7', ['0.0.0.0'], '10.0.0.2', 'IPv6 is not served'],
  ['203.0.113.7', ['::'], '10.0.0.2', 'its network is not here, so the first address is used'],
  [
    '127.0.0.1',
    ['127.0.0.1', '192.168.1.5'],
    '192.168.1.5',
    'the client may be a proxy for a browser elsewhere',
  ],
  ['127.0.0.1', ['127.0.0.1', '::1'], 'localhost', 'only loopback is served'],
  ['127.0.0.1', ['127.0.0.2'], '127.0.0.2', 'localhost is not served'],
  ['127.0.0.1', ['127.0.0.2', '::1'], 'localhost', 'localhost also means ::1, which is served'],
  ['192.168.1.7', [], 'localhost', 'nothing is served'],
];
for (const [client, listening, host, why] of clients) {
  test(`a client at ${client}, with ${listening.join(' ') || 'nothing'} served, is sent to ${host}: ${why}`, () =>
    assert.equal(hostForClient(client, listening, HOME_INTERFACES), host));
}

class ScriptedMachine {
  /** While this is undefined, the system refuses to list the interfaces. */
  interfaces: InterfaceAddresses | undefined;
  readonly clock = new ManualClock();
  readonly openAddresses: string[] = [];
  readonly logged: string[] = [];
  readonly listening: ListeningSockets;

  constructor(bind: readonly string[], interfaces: InterfaceAddresses) {
    this.interfaces = interfaces;
    this.listening = new ListeningSockets({
      bind,
      port: 8018,
      clock: this.clock,
      onListeningChanged: () => undefined,
      interfaces: () => {
        if (this.interfaces === undefined) throw new Error('too many open files');
        return this.interfaces;
      },
      open: (address, port) => {
        this.openAddresses.push(address);
        const close = () => this.openAddresses.splice(this.openAddresses.indexOf(address), 1);
        return { port, close };
      },
      log: (level, message) => this.logged.push(`${level} ${message}`),
    });
  }
}

test('loopback is not searched for again once it is served', () => {
  const machine = new ScriptedMachine(['lo'], {});
  assert.deepEqual(machine.listening.state, { listening: [], waiting: ['lo'] });
  machine.interfaces = { lo: [v4('127.0.0.1')] };
  // The addresses are polled every 8 s (listening.ts).
  machine.clock.advance(10_000);
  assert.deepEqual(machine.listening.state, { listening: ['127.0.0.1'], waiting: [] });
  assert.equal(machine.clock.timers, 0);
});

test('addresses that cannot be read for a while change nothing', () => {
  const eth0 = { eth0: [v4('10.0.0.2')] };
  const machine = new ScriptedMachine(['eth0'], eth0);
  for (const interfaces of [undefined, undefined, eth0]) {
    machine.interfaces = interfaces;
    machine.clock.advance(10_000);
    assert.deepEqual(machine.openAddresses, ['10.0.0.2']);
  }
  // The first line is about the socket that was opened.
  const [, ...warnings] = machine.logged;
  assert.deepEqual(warnings, ['warn the network addresses cannot be read: Error: too many open files']);
});

test('addresses that cannot be read for long do not fill the memory', async (t) => {
  const machine = new ScriptedMachine(['eth0'], { eth0: [v4('10.0.0.2')] });
  machine.interfaces = undefined;
  const poll = async (): Promise<void> => machine.clock.advance(8_000);
  await staysFlat(t, { full: 200_000, part: 60_000, round: repeating(poll) });
});

test('a stopped listener has closed its sockets, and reads no addresses any more', () => {
  const machine = new ScriptedMachine(['lo', 'eth0'], { lo: [v4('127.0.0.1')] });
  assert.equal(machine.clock.timers, 1);
  assert.deepEqual(machine.openAddresses, ['127.0.0.1']);
  machine.listening.stop();
  assert.equal(machine.clock.timers, 0);
  assert.deepEqual(machine.openAddresses, []);
});
