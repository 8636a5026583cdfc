// Opens silent connections for a test: raw sockets that send nothing, and connect again when they are closed.

import { connect, type Socket } from 'node:net';

export class SilentCrowd {
  readonly #to: { readonly host: string; readonly port: number };
  readonly #open = new Set<Socket>();
  #hasEnded = false;
  /**
   * How many connections have ended: the other end has closed them, they have failed, or `end` has closed
   * them.
   */
  closings = 0;

  /** Opens `count` connections in total, from the addresses of `from` in turn. */
  constructor(to: { readonly host: string; readonly port: number }, from: readonly string[], count: number) {
    this.#to = to;
    for (let opened = 0; opened < count; opened += 1) this.#connect(from[opened % from.length] ?? '');
  }

  end(): void {
    this.#hasEnded = true;
    for (const socket of this.#open) socket.destroy();
  }

  #connect(localAddress: string): void {
    const socket = connect({ ...this.#to, localAddress });
    this.#open.add(socket);
    socket.on('error', () => undefined);
    // Only a socket that is being read notices that the other end has closed.
    socket.resume();
    socket.on('close', () => {
      this.closings += 1;
      this.#open.delete(socket);
      if (!this.#hasEnded) setImmediate(() => this.#connect(localAddress));
    });
  }
}

/** `count` addresses in succession, from `first` on; only the last number of the address is counted up. */
export function consecutiveAddresses(first: string, count: number): readonly string[] {
  const network = first.slice(0, first.lastIndexOf('.') + 1);
  const start = Number(first.slice(network.length));
  return Array.from({ length: count }, (_, offset) => `${network}${start + offset}`);
}
