// Tests which TCP sockets are found for the process that serves a Unix socket. The first two tests serve a
// Unix socket, so the process to find is their own. The last test has a table with invented rows.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type ListenOptions, type Server } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { listeningSockets, listeningSocketsIn } from '../../../src/actors/audio/listening-sockets.js';
import { temporaryFolder } from '../../temporary-folder.js';

async function listen(t: TestContext, address: ListenOptions): Promise<Server> {
  const server = createServer();
  t.after(() => server.close());
  server.listen(address);
  await once(server, 'listening');
  return server;
}

test('the TCP sockets of the process that serves a Unix socket are found', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  const unix = await listen(t, { path });
  const ipv4 = await listen(t, { port: 0, host: '127.0.0.1' });
  const ipv6 = await listen(t, { port: 0, host: '::1' });
  // The process is found by a connection to its Unix socket.
  const accepted = once(unix, 'connection');
  const client = connect(path);
  t.after(() => client.destroy());
  await accepted;

  const found = (await listeningSockets(path)) ?? [];

  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  const expectedSockets = [
    { address: '127.0.0.1', port: portOf(ipv4) },
    { address: '::1', port: portOf(ipv6) },
  ];
  for (const expected of expectedSockets) {
    const isFound = found.some(({ address, port }) => address === expected.address && port === expected.port);
    assert.ok(isFound, JSON.stringify({ expected, found }));
  }
});

test('no process is found for a Unix socket to which nobody is connected, or which does not exist', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  await listen(t, { path });
  assert.equal(await listeningSockets(path), undefined);
  assert.equal(await listeningSockets(join(path, 'missing')), undefined);
});

/** The kernel's numbers for two states of a TCP socket. */
const LISTENING = '0A';
const CONNECTED = '01';

/**
 * A line of /proc/net/tcp or tcp6. `local` is an address and a port in hexadecimal. The address is in the
 * machine's byte order: `0100007F:1269` is 127.0.0.1 at port 4713. An address of IPv6 has four groups of four
 * bytes, and the bytes of each group are in this order.
 */
const tableRow = (local: string, state: string, inode: number) =>
  `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  1000        0 ${inode} 1 0`;

test('the listening sockets of the process are read from a table of the kernel', () => {
  const table = [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    tableRow('0100007F:1269', LISTENING, 11),
    tableRow('0500A8C0:1269', LISTENING, 12),
    tableRow('0500A8C0:1270', CONNECTED, 13),
    tableRow('0500A8C0:1271', LISTENING, 14),
    tableRow('00000000000000000000000000000000:1269', LISTENING, 15),
    tableRow('000000FD00000000000000000500A8C0:1269', LISTENING, 16),
    'nonsense',
    '',
  ].join('\n');
  // The socket with the inode 14 belongs to another process.
  const inodesOfProcess = new Set(['11', '12', '13', '15', '16']);
  assert.deepEqual(listeningSocketsIn(table, inodesOfProcess), [
    { address: '127.0.0.1', port: 4713 },
    { address: '192.168.0.5', port: 4713 },
    { address: '::', port: 4713 },
    { address: 'fd00::c0a8:5', port: 4713 },
  ]);
});
