// Tests the sockets that the kernel's tables have for the process that serves a Unix socket: here the test's
// own.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listeningSockets, listeningSocketsIn } from '../../../src/actors/audio/listening-sockets.js';
import { temporaryFolder } from '../../temporary-folder.js';

async function listen(t: TestContext, ...at: readonly [string] | readonly [number, string]): Promise<Server> {
  const server = createServer();
  t.after(() => server.close());
  server.listen(...(at as [string]));
  await once(server, 'listening');
  return server;
}

test('the TCP sockets of the process that serves a Unix socket are found', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  const unix = await listen(t, path);
  const [four, six] = await Promise.all([listen(t, 0, '127.0.0.1'), listen(t, 0, '::1')]);
  const accepted = once(unix, 'connection');
  const client = connect(path);
  t.after(() => client.destroy());
  await accepted;
  const found = (await listeningSockets(path)) ?? [];
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  for (const expected of [
    { address: '127.0.0.1', port: portOf(four) },
    { address: '::1', port: portOf(six) },
  ])
    assert.ok(
      found.some((each) => each.address === expected.address && each.port === expected.port),
      JSON.stringify({ expected, found }),
    );
});

test('a socket to which nobody is connected has an unknown process', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  await listen(t, path);
  assert.equal(await listeningSockets(path), undefined);
  assert.equal(await listeningSockets(join(path, 'missing')), undefined);
});

/** Columns of /proc/net/tcp and tcp6. */
const row = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0`;

test('the listening sockets of the process are read from a table of the kernel', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    row('0100007F:1269', '0A', 11),
    row('0500A8C0:1269', '0A', 12),
    row('0500A8C0:1270', '01', 13),
    row('0500A8C0:1271', '0A', 14),
    row('00000000000000000000000000000000:1269', '0A', 15),
    row('000000FD00000000000000000500A8C0:1269', '0A', 16),
    'nonsense',
    '',
  ].join('\n');
  assert.deepEqual(listeningSocketsIn(table, new Set(['11', '12', '13', '15', '16'])), [
    { address: '127.0.0.1', port: 4713 },
    { address: '192.168.0.5', port: 4713 },
    { address: '::', port: 4713 },
    { address: 'fd00::c0a8:5', port: 4713 },
  ]);
});
