// Hundreds of consumers: each is a raw socket that parses only the events' ids, their order and the last data. test/consumer has
// the consumer that parses by the standard.

import { connect, type Socket } from 'node:net';

const LIMIT_MS = 30_000;

/** An event with an id as the daemon frames it. Everything between two of them (hello, chunk sizes) is ignored. */
const EVENT = /id: [\w-]+-(\d+)\nevent: ([\w.]+)\ndata: (.*)\n\n/g;
const HELLO = 'data: "connected"\n\n';

export class CrowdMember {
  /** Sequence numbers of all events, as they came. */
  readonly sequences: number[] = [];
  /** Data of the last event. */
  last = '';
  readonly opened: Promise<void>;
  readonly #socket: Socket;
  #text = '';
  #isOpen = false;
  #ended = false;

  /** `query` as in the URL. A member that never reads cannot notice when its stream opens. */
  constructor(port: number, query: string, { reads = true } = {}) {
    this.#socket = connect(port, '127.0.0.1');
    if (!reads) this.#socket.pause();
    this.#socket.setEncoding('utf8');
    this.#socket.write(`GET /events${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    this.opened = new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('a stream did not open')), LIMIT_MS);
      const settle = (act: () => void): void => {
        clearTimeout(late);
        act();
      };
      if (!reads) this.#socket.once('connect', () => settle(resolve));
      else this.#socket.on('data', (text: string) => this.#hear(text, () => settle(resolve)));
      // A reset is one of the ways in which the daemon ends a stream.
      this.#socket.on('error', (error) => settle(() => reject(error)));
    });
    this.#socket.on('close', () => {
      this.#ended = true;
    });
  }

  get ended(): boolean {
    return this.#ended;
  }

  close(): void {
    this.#socket.destroy();
  }

  #hear(text: string, onOpen: () => void): void {
    this.#text = this.#text === '' ? text : this.#text + text;
    if (!this.#isOpen) {
      const end = this.#text.indexOf(HELLO);
      if (end < 0) return;
      this.#isOpen = true;
      onOpen();
    }
    let heard = 0;
    EVENT.lastIndex = 0;
    for (let found = EVENT.exec(this.#text); found !== null; found = EVENT.exec(this.#text)) {
      this.sequences.push(Number(found[1]));
      this.last = found[3] ?? '';
      heard = EVENT.lastIndex;
    }
    if (heard > 0) this.#text = this.#text.slice(heard);
  }
}

/** Opens streams in groups, so that no backlog of the listening socket overflows. */
export async function openCrowd(
  port: number,
  count: number,
  query: string,
  options: { readonly reads?: boolean } = {},
): Promise<readonly CrowdMember[]> {
  const GROUP = 100;
  const members: CrowdMember[] = [];
  while (members.length < count) {
    const group = Array.from(
      { length: Math.min(GROUP, count - members.length) },
      () => new CrowdMember(port, query, options),
    );
    await Promise.all(group.map(({ opened }) => opened));
    members.push(...group);
  }
  return members;
}
