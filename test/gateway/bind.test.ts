// From `bind` to addresses.

import assert from 'node:assert/strict';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { type BindResult, type Interfaces, resolveBind } from '../../src/gateway/bind.js';

function v4(address: string): NetworkInterfaceInfo {
  return { family: 'IPv4', address, netmask: '', mac: '', internal: false, cidr: null };
}

function v6(address: string): NetworkInterfaceInfo {
  return { family: 'IPv6', address, netmask: '', mac: '', internal: false, cidr: null, scopeid: 0 };
}

const machine: Interfaces = {
  lo: [v4('127.0.0.1'), v6('::1')],
  eth0: [v4('10.0.0.2'), v6('fd00::2'), v6('fe80::2')],
  wlan0: [v6('fe80::3')],
};

function outcome(result: BindResult): string {
  return result.ok ? result.addresses.join(' ') : `absent ${result.name}`;
}

const rows: [bind: string[], interfaces: Interfaces, expected: string][] = [
  [['lo'], machine, '127.0.0.1 ::1'],
  [['eth0'], machine, '10.0.0.2 fd00::2'],
  [['lo', 'eth0'], machine, '127.0.0.1 ::1 10.0.0.2 fd00::2'],
  [['127.0.0.1'], machine, '127.0.0.1'],
  [['192.0.2.9'], machine, '192.0.2.9'],
  [['::1', 'lo'], machine, '::1 127.0.0.1'],
  [['all'], machine, '::'],
  [['lo', 'all'], machine, '::'],
  [['all'], { lo: [v4('127.0.0.1')] }, '0.0.0.0'],
  [['wlan0'], machine, 'absent wlan0'],
  [['eth1'], machine, 'absent eth1'],
  [['lo', 'eth1'], machine, 'absent eth1'],
  [['localhost'], machine, 'absent localhost'],
  [['constructor'], machine, 'absent constructor'],
];
for (const [bind, interfaces, expected] of rows) {
  test(`bind ${bind.join(', ')} is ${expected}`, () =>
    assert.equal(outcome(resolveBind(bind, interfaces)), expected));
}

test('a link-local address is left out with a note', () => {
  const result = resolveBind(['eth0'], machine);
  assert.ok(result.ok);
  assert.deepEqual(result.notes, ['bind: eth0: the link-local address fe80::2 is left out']);
});
