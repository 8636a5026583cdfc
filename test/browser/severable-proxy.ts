// A proxy on loopback, or at a path, whose connections a test can cut, as a network does to a phone that sleeps.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface SeverableProxy {
  /** Where it listens on loopback, if it does. */
  readonly port: number;
  /** Cuts every connection; new ones are let through. */
  sever(): void;
  close(): Promise<void>;
}

/**
 * `target` is a port of this machine, or the path of a unix socket; so is where it listens, any port unless given. What the target says
 * goes through `change`, if there is one.
 */
export async function startProxy(
  target: number | string,
  at: number | string = 0,
  change?: (chunk: Buffer) => Buffer,
): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(place(target));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      // Either side's end or failure is the other's end: that is all a cut cable says.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    near.pipe(far);
    (change === undefined ? far : far.pipe(changing(change))).pipe(near);
  }).listen(place(at));
  await once(server, 'listening');
  const address = server.address() as AddressInfo | string;
  const sever = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof address === 'string' ? Number.NaN : address.port,
    sever,
    close: async () => {
      server.close();
      sever();
      await once(server, 'close');
    },
  };
}

const changing = (change: (chunk: Buffer) => Buffer): Transform =>
  new Transform({ transform: (chunk: Buffer, _encoding, done) => done(null, change(chunk)) });

const place = (at: number | string): { port: number; host: string } | { path: string } =>
  typeof at === 'number' ? { port: at, host: '127.0.0.1' } : { path: at };
