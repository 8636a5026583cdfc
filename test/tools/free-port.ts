// Finds a free TCP port. The test passes the port's number to a program, which listens there only later. No
// other test gets the port meanwhile.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * A program that asks the kernel for any port gets one from 32768 on. The ports here are lower, so no
 * program gets one of them by chance.
 */
const FIRST_PORT = 20_000;
const PORT_COUNT = 12_000;
const TRIES_MAX = 100;

/**
 * Resolves with a port that is free now, and that no other test gets from this function while this process
 * lives. Test files run at the same time, each in its own process.
 * @throws {Error} if no port is free
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = FIRST_PORT + randomInt(PORT_COUNT);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error('no port is free');
}

/** Binds the UDP port of the same number, as a reservation. Resolves with false if it is bound already. */
function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  return new Promise((resolve) => {
    socket.once('error', () => socket.close(() => resolve(false)));
    socket.bind(port, '127.0.0.1', () => resolve(true));
  });
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
