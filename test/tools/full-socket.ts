// A socket with no room left, as journald's is when it stands still, and a pipe whose reader does; to be a
// program's standard output.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';

/** More than a socket's buffers hold: the rest waits in this process for ever. */
const MORE_THAN_FITS_BYTES = 16 * 1024 * 1024;

/**
 * To be put before a program and its arguments: Node hands on its own sockets as non-blocking ones,
 * journald's are not.
 */
export const BLOCKING = ['perl', '-MFcntl', '-e', 'fcntl(STDOUT, F_SETFL, 0) or die; exec @ARGV'];

/** Its other end never reads. `close` when the program has ended. */
interface Full {
  readonly output: Socket | number;
  close(): void;
}

export async function fullSocket(): Promise<Full> {
  const path = join(temporaryFolder(), 'socket');
  const server = createServer({ pauseOnConnect: true }).listen(path);
  await once(server, 'listening');
  const socket = connect({ path });
  const [[peer]] = await Promise.all([once(server, 'connection'), once(socket, 'connect')]);
  socket.write('x'.repeat(MORE_THAN_FITS_BYTES));
  return {
    output: socket,
    close: () => {
      socket.destroy();
      (peer as Socket).destroy();
      server.close();
    },
  };
}

export async function fullPipe(): Promise<Full> {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const filled = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(filled, 'x'.repeat(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  const output = openSync(path, 'r+');
  return { output, close: () => [filled, output].forEach(closeSync) };
}
