// A proxy on loopback, or at a path, whose connections a test can cut, as a network cuts those of a sleeping
// phone.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface SeverableProxy {
  /** The port on loopback; NaN where the proxy listens at a path. */
  readonly port: number;
  /** Cuts every connection; new ones are accepted. */
  sever(): void;
  close(): Promise<void>;
}

/**
 * Starts a proxy that listens at `at`, and leads to `target`. Each is a port of this machine or the path of
 * a unix socket. Bytes from the target pass through `change`.
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
      // The end or failure of one side ends the other one too, because a cut cable shows no difference
      // between them.
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
