// Makes connections to a server take more than a second, as if the server was far away. The server's process
// is stopped, and its queue of connections is filled. The kernel then drops the first packet of each new
// connection. The tests that use this file run in a network of their own, in which no other program changes
// the kernel's counters.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { until } from '../until.js';

/** The number of connections that the kernel has dropped because a queue was full. */
function droppedConnections(): number {
  const lines = readFileSync('/proc/net/netstat', 'utf8').split('\n');
  const [names = [], values = []] = lines
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenDrops')]);
}

/**
 * Stops the server's process `pid`, and fills its queue. `letGo` waits until the first packet of a further
 * connection is dropped, and then continues the process. The client's kernel sends that packet again a
 * second later.
 */
export async function delayConnections(pid: number, port: number) {
  process.kill(pid, 'SIGSTOP');
  const droppedBefore = droppedConnections();
  const sockets: Socket[] = [];
  while (droppedConnections() === droppedBefore) {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    await Promise.race([
      once(socket, 'connect'),
      until('the connection is dropped', () => droppedConnections() > droppedBefore),
    ]);
  }
  // The stopped process accepts nothing, so the queue stays full after these sockets are closed. If a socket
  // stayed open, its dropped packet would be sent and dropped again, and `droppedConnections` would count it.
  for (const socket of sockets) socket.destroy();
  const droppedWhenFull = droppedConnections();
  return {
    letGo: async (): Promise<void> => {
      await until('a further connection is dropped', () => droppedConnections() > droppedWhenFull);
      process.kill(pid, 'SIGCONT');
    },
  };
}
