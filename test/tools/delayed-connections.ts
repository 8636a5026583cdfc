// A server whose connections take more than a second, as if it was far away: it stands still and its queue is
// full, so that the kernel drops the first packet of whoever connects. The tests that use it are in a network
// of their own, whose counters nobody else moves.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { until } from '../until.js';

/** Connections that the kernel has dropped because a queue was full. */
function dropped(): number {
  const lines = readFileSync('/proc/net/netstat', 'utf8').split('\n');
  const [names = [], values = []] = lines
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenDrops')]);
}

/**
 * `letGo` waits for the first packet of a further connection, and lets the server go on: the second packet
 * comes a second later.
 */
export async function delayConnections(pid: number, port: number) {
  process.kill(pid, 'SIGSTOP');
  const before = dropped();
  const sockets: Socket[] = [];
  while (dropped() === before) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([once(socket, 'connect'), until('it is dropped', () => dropped() > before)]);
  }
  for (const socket of sockets) socket.destroy();
  const full = dropped();
  return {
    letGo: async (): Promise<void> => {
      await until('a further connection is dropped', () => dropped() > full);
      process.kill(pid, 'SIGCONT');
    },
  };
}
