// Makes a full socket or a full pipe for a program's standard output. Nothing more fits into it. journald's
// socket becomes full while journald reads nothing.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { temporaryFolder } from '../temporary-folder.js';

/** A socket's buffers have less room than this. The rest of the bytes waits in this process for ever. */
const MORE_THAN_FITS_BYTES = 16 * 1024 * 1024;

/**
 * The beginning of a command line. It runs the rest of the command line with a standard output that blocks,
 * as journald's sockets do. The sockets that Node passes on do not block.
 */
export const WITH_BLOCKING_OUTPUT = ['perl', '-MFcntl', '-e', 'fcntl(STDOUT, F_SETFL, 0) or die; exec @ARGV'];

/** The other end of `output` never reads. The test calls `close` when the program has ended. */
interface FullOutput {
  readonly output: Socket | number;
  close(): void;
}

export async function fullSocket(): Promise<FullOutput> {
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

export async function fullPipe(): Promise<FullOutput> {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const filledPipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    for (;;) writeSync(filledPipe, 'x'.repeat(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
  // The pipe is opened once more, so that the program's output blocks: only `filledPipe` has O_NONBLOCK.
  const output = openSync(path, 'r+');
  return { output, close: () => [filledPipe, output].forEach(closeSync) };
}
