// Tests the sentences that say where people reach the service.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { servedSentences } from '../../src/cli/served.js';
import { v4, v6 } from '../gateway/interfaces.js';
import { DEFAULT_SETTINGS } from '../supervisor/config/full.js';

const LO = [v4('127.0.0.1'), v6('::1')];
const ALL_INTERFACES = {
  lo: LO,
  eth0: [v4('10.0.0.2'), v4('10.0.0.3'), v6('fd00::2'), v6('fe80::2')],
  wlan0: [v6('fe80::3'), v6('fd00::3')],
};
const LOCAL = 'open http://localhost:80/ on this machine; other machines cannot reach it';
const NOTHING = 'nothing is served now';
const ETH9 = 'eth9 does not exist now; it is served once it exists';

for (const [bind, interfaces, ...sentences] of [
  [['lo'], ALL_INTERFACES, LOCAL],
  [['127.0.0.5'], ALL_INTERFACES, LOCAL.replace('localhost', '127.0.0.5')],
  [['eth0'], ALL_INTERFACES, 'open http://10.0.0.2:80/ (eth0)'],
  [['10.0.0.3'], ALL_INTERFACES, 'open http://10.0.0.3:80/ (eth0)'],
  [['fd00::2'], ALL_INTERFACES, 'open http://[fd00::2]:80/ (eth0)'],
  // The sentence has one address of each interface: the first one that people can open.
  [['all'], ALL_INTERFACES, 'open http://10.0.0.2:80/ (eth0) or http://[fd00::3]:80/ (wlan0)'],
  [['0.0.0.0'], ALL_INTERFACES, 'open http://10.0.0.2:80/ (eth0)'],
  [['all'], { lo: LO }, LOCAL.replace('cannot reach it', 'can reach it once this one is on a network')],
  [['eth9'], ALL_INTERFACES, NOTHING, ETH9],
  [['eth9', 'lo'], ALL_INTERFACES, ETH9, `${LOCAL} yet`],
  [['eth9', 'wlan0'], ALL_INTERFACES, ETH9, 'open http://[fd00::3]:80/ (wlan0)'],
  [['192.0.2.9'], ALL_INTERFACES, NOTHING, '192.0.2.9 does not exist now; it is served once it exists'],
  [['wlan0'], { lo: LO }, NOTHING, 'wlan0 is not connected now; it is served once it is connected'],
  // People cannot open a link-local address.
  [['fe80::2'], ALL_INTERFACES, NOTHING],
] as const) {
  const interfaceNames = Object.keys(interfaces).join(', ');
  test(`the sentences say where people reach a service with "bind: [${bind.join(', ')}]" if only these interfaces have addresses: ${interfaceNames}`, () => {
    // Each of ALL_INTERFACES exists in each row, but those that `interfaces` lacks have no address.
    const hasInterface = (name: string): boolean => name in ALL_INTERFACES;
    const settings = { ...DEFAULT_SETTINGS, bind, api: { ...DEFAULT_SETTINGS.api, port: 80 } };
    assert.deepEqual(servedSentences(settings, { interfaces, hasInterface }), sentences);
  });
}
