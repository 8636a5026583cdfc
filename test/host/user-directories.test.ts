// Tests how the runtime directory is found, and that all parts of the daemon find the same directory.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { usualSockets } from '../../src/actors/audio/server-address.js';
import { userBusPaths } from '../../src/actors/bus/address.js';
import { parseProgress } from '../../src/cli/progress.js';
import { runtimeDirectory } from '../../src/host/user-directories.js';
import { KEYS } from '../../src/supervisor/config/keys.js';

const UID = 7;
const ROWS: readonly (readonly [value: string | undefined, expected: string])[] = [
  [undefined, '/run/user/7'],
  ['', '/run/user/7'],
  ['/r', '/r'],
  ['/r/', '/r'],
  ['/r//', '/r'],
  ['/', '/'],
  ['r', '/run/user/7'],
  ['../r', '/run/user/7'],
  ['~/r', '/run/user/7'],
];
for (const [value, expected] of ROWS) {
  test(`XDG_RUNTIME_DIR ${JSON.stringify(value)} means ${expected}`, () =>
    assert.equal(runtimeDirectory({ XDG_RUNTIME_DIR: value }, UID), expected));
}

describe('a relative XDG_RUNTIME_DIR', () => {
  const env = { XDG_RUNTIME_DIR: 'relative' };
  const noDefaultServer = undefined;
  const context = { env, uid: UID, home: '/h', machineId: undefined };
  const soundServer = usualSockets(context, noDefaultServer);
  const bus = userBusPaths(env, UID);
  const progress = parseProgress(['end', '--success'], { env, uid: UID });
  const rows: readonly (readonly [who: string, path: unknown, expected: string])[] = [
    ['the audio actor', soundServer.paths[0], '/run/user/7/pulse/native'],
    ['the search for the bus', bus.ok && bus.value[0], '/run/user/7/bus'],
    ['`tonearm progress`', progress.do === 'write' && progress.socket, '/run/user/7/tonearm/upgrade.sock'],
    [
      'the configuration',
      KEYS.upgrade.progressSocket.byDefault({ env, home: '/h', hostname: 'node', uid: UID }),
      '/run/user/7/tonearm/upgrade.sock',
    ],
  ];
  for (const [who, path, expected] of rows)
    test(`${who} ignores a relative XDG_RUNTIME_DIR`, () => assert.equal(path, expected));
});
