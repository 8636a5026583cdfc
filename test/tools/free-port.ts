// A TCP port for a program that is given its number, and listens there only later. No other test gets it
// meanwhile.

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Below the ports that the kernel gives to programs that ask for any (32768 and up), so that none of them
 * gets one of these by chance.
 */
const FIRST = 20_000;
const COUNT = 12_000;
const TRIES_MAX = 100;

/**
 * Free now, and kept from all others who ask here as long as this process lives: files of tests run at the
 * same time.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = FIRST + randomInt(COUNT);
    if ((await reserve(port)) && (await isFree(port))) return port;
  }
  throw new Error('no port is free');
}

/** By having the UDP port of that number, which nothing else here uses. */
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
