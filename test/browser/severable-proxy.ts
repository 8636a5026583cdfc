// A TCP proxy on loopback whose connections a test can cut, as a network does to a phone that sleeps.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface SeverableProxy {
  readonly port: number;
  /** Cuts every connection; new ones are let through. */
  sever(): void;
  close(): Promise<void>;
}

/** `target` is a port of this machine, or the path of a unix socket. */
export async function startProxy(target: number | string): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      // Either side's end or failure is the other's end: that is all a cut cable says.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sever = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port,
    sever,
    close: async () => {
      server.close();
      sever();
      await once(server, 'close');
    },
  };
}
