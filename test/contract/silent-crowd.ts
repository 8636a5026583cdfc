// Silent connections that reconnect when they are closed: raw sockets, in any number, from the given
// addresses.

import { connect, type Socket } from 'node:net';

export class SilentCrowd {
  readonly #to: { readonly host: string; readonly port: number };
  readonly #open = new Set<Socket>();
  #ends = false;
  /** The number of connections that the other end has closed. */
  closings = 0;

  /** Opens `count` connections in total, from the addresses of `from` in turn. */
  constructor(to: { readonly host: string; readonly port: number }, from: readonly string[], count: number) {
    this.#to = to;
    for (let each = 0; each < count; each += 1) this.#connect(from[each % from.length] ?? '');
  }

  end(): void {
    this.#ends = true;
    for (const socket of this.#open) socket.destroy();
  }

  #connect(localAddress: string): void {
    const socket = connect({ ...this.#to, localAddress });
    this.#open.add(socket);
    socket.on('error', () => undefined);
    // A socket that is not read does not notice that the other end has closed.
    socket.resume();
    socket.on('close', () => {
      this.closings += 1;
      this.#open.delete(socket);
      if (!this.#ends) setImmediate(() => this.#connect(localAddress));
    });
  }
}

/** `count` addresses of 127.0.0.0/8, or of another /24 of which `first` is one. */
export function addresses(first: string, count: number): readonly string[] {
  const network = first.slice(0, first.lastIndexOf('.') + 1);
  const start = Number(first.slice(network.length));
  return Array.from({ length: count }, (_, at) => `${network}${start + at}`);
}
