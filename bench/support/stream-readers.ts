// Reads any number of streams as cheaply as Node can, so that the reader disturbs what is measured as little
// as possible.

import { connect, type Socket } from 'node:net';
import { nowUs, stampsIn } from './stamped-output.js';

const READ_BYTES = 32 * 1024;
const OPENED_TOGETHER = 100;

interface Reader {
  readonly socket: Socket;
  /** The last bytes read; they stay here until the next read. */
  readonly buffer: Buffer;
  length: number;
}

export class StreamReaders {
  /** Microseconds from each stamp to its arrival, since the last `takeLatencies`. */
  #latenciesUs: number[] = [];
  #chunks = 0;
  readonly #readers: Reader[] = [];
  readonly #query: string;
  readonly #readsOn: boolean;

  /** `query` is that of the URL. If `readsOn` is false, each stream is read once, and then never again. */
  constructor(query = '', readsOn = true) {
    this.#query = query;
    this.#readsOn = readsOn;
  }

  /** How often something was read; at a modest rate that is once per event and stream. */
  get chunks(): number {
    return this.#chunks;
  }

  /** Opens streams until there are `count`; resolves when each has received something. */
  async open(port: number, count: number): Promise<void> {
    while (this.#readers.length < count) {
      const length = Math.min(OPENED_TOGETHER, count - this.#readers.length);
      await Promise.all(Array.from({ length }, () => this.#openOne(port)));
    }
  }

  /** How long each event took to each stream since the last call, in milliseconds. */
  takeLatencies(): readonly number[] {
    const samples = this.#latenciesUs.map((us) => us / 1000);
    this.#latenciesUs = [];
    return samples;
  }

  /** The last text read from each stream. */
  lastTexts(): readonly string[] {
    return this.#readers.map(({ buffer, length }) => buffer.toString('utf8', 0, length));
  }

  close(): void {
    for (const { socket } of this.#readers.splice(0)) socket.destroy();
  }

  #openOne(port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const buffer = Buffer.alloc(READ_BYTES);
      const onRead = (length: number): boolean => {
        if (reader.length === 0) resolve();
        reader.length = length;
        this.#chunks += 1;
        stampsIn(buffer.subarray(0, length), (atUs) => this.#latenciesUs.push(nowUs() - atUs));
        return this.#readsOn;
      };
      const socket = connect({ port, host: '127.0.0.1', onread: { buffer, callback: onRead } });
      const reader: Reader = { socket, buffer, length: 0 };
      socket.on('error', reject);
      socket.write(`GET /events${this.#query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      this.#readers.push(reader);
    });
  }
}
