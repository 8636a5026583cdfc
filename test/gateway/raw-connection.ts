// A TCP connection to the gateway that sends the bytes of a test as they are, for requests that no HTTP
// client would send.

import { connect, type Socket } from 'node:net';

export class RawConnection {
  readonly #socket: Socket;
  #received = '';
  #closed = false;
  #onChange: (() => void) | undefined;

  /** `from`: the local address. */
  constructor(port: number, host = '127.0.0.1', from?: string) {
    this.#socket = connect({ port, host, allowHalfOpen: true, ...(from && { localAddress: from }) });
    this.#socket.on('end', () => this.#socket.end());
    this.#socket.setEncoding('latin1');
    this.#socket.on('data', (text: string) => {
      this.#received += text;
      this.#onChange?.();
    });
    // The other end may reset the connection. Tests use only the bytes received before the reset.
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => {
      this.#closed = true;
      this.#onChange?.();
    });
  }

  get received(): string {
    return this.#received;
  }

  write(text: string | Uint8Array): this {
    this.#socket.write(text);
    return this;
  }

  /** Ends the sending side and continues to read. */
  end(): this {
    this.#socket.end();
    return this;
  }

  /**
   * Resolves when `isEnough` is true of the text received so far. Rejects if the connection closes first.
   */
  until(isEnough: (received: string) => boolean): Promise<string> {
    return this.#wait(() => {
      if (isEnough(this.#received)) return true;
      if (this.#closed) throw new Error(`closed after ${JSON.stringify(this.#received)}`);
      return false;
    });
  }

  /** Resolves with all received text when the other end closes. */
  untilClosed(): Promise<string> {
    return this.#wait(() => this.#closed);
  }

  /** Stops reading, like a consumer that hangs. */
  pause(): this {
    this.#socket.pause();
    return this;
  }

  resume(): this {
    this.#socket.resume();
    return this;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #wait(isDone: () => boolean): Promise<string> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        try {
          if (isDone()) resolve(this.#received);
        } catch (error) {
          reject(error);
        }
      };
      this.#onChange = check;
      check();
    });
  }
}

/** Sends one text on a fresh connection; resolves with the status of the first response. */
export async function statusOf(port: number, request: string): Promise<number> {
  const connection = new RawConnection(port).write(request);
  const received = await connection.until((text) => text.includes('\r\n\r\n'));
  connection.destroy();
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(received)?.[1]);
}
