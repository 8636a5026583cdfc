// A proxy whose connections a test can cut, as a network cuts those of a sleeping phone.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export interface SeverableProxy {
  /** The proxy's port on loopback; NaN if the proxy listens at the path of a unix socket. */
  readonly port: number;
  /** Cuts every open connection. The proxy still accepts new connections. */
  sever(): void;
  close(): Promise<void>;
}

/**
 * Starts a proxy that leads from `address` to `target`. Each is a port of this machine or the path of a unix
 * socket. If `address` is 0, the proxy gets any free port. `change` changes the bytes that come from the
 * target.
 */
export async function startProxy(
  target: number | string,
  address: number | string = 0,
  change?: (chunk: Buffer) => Buffer,
): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(socketOptions(target));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      // If one side ends or fails, the other side ends, too, because a cut cable ends both.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    near.pipe(far);
    const answer = change === undefined ? far : far.pipe(transformOf(change));
    answer.pipe(near);
  }).listen(socketOptions(address));
  await once(server, 'listening');
  const listening = server.address() as AddressInfo | string;
  const sever = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: typeof listening === 'string' ? Number.NaN : listening.port,
    sever,
    close: async () => {
      server.close();
      sever();
      await once(server, 'close');
    },
  };
}

const transformOf = (change: (chunk: Buffer) => Buffer): Transform =>
  new Transform({ transform: (chunk: Buffer, _encoding, done) => done(null, change(chunk)) });

const socketOptions = (address: number | string): { port: number; host: string } | { path: string } =>
  typeof address === 'number' ? { port: address, host: '127.0.0.1' } : { path: address };
