// A door leads from this machine to a TCP port on the node's loopback. The node has a network namespace of
// its own. A small process in this namespace, but in the file system of this machine, listens on a unix
// socket and passes bytes on.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';

const FORWARD = `
const { createServer, connect } = require('node:net');
const [path, port] = process.argv.slice(1);
createServer((outer) => {
  const inner = connect(Number(port), '127.0.0.1');
  for (const [from, to] of [[outer, inner], [inner, outer]]) {
    from.on('error', () => to.destroy()).on('close', () => to.destroy());
    from.pipe(to);
  }
}).listen(path, () => process.stdout.write('listening'));
process.stdin.on('end', () => process.exit(0)).resume();
`;

export type Door = Awaited<ReturnType<typeof connectInto>>;

/**
 * Opens a door: a unix socket in `dir` that leads to a port in the node's network. `leader` is the process id
 * of the node's systemd. The door closes by itself if the process of the tests dies.
 */
export async function connectInto(leader: number, port: number, dir: string) {
  const path = join(dir, `port-${port}`);
  const command = [process.execPath, '-e', FORWARD, '--', path, String(port)];
  const args = ['-t', String(leader), '--net', '--', ...command];
  const forwarder = spawn('nsenter', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  await Promise.race([
    once(forwarder.stdout, 'data'),
    once(forwarder, 'close').then(() => Promise.reject(new Error('the door did not open'))),
  ]);
  const close = async (): Promise<void> => {
    const gone = once(forwarder, 'close');
    forwarder.stdin.end();
    await gone;
    rmSync(path, { force: true });
  };
  return { path, close };
}
