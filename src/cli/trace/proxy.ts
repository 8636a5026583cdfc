// The sockets of a trace: listens for clients, and connects each to the sound server. Frames pass both ways unchanged, only as fast as the
// other side and the reader of the lines accept them. Tap and Conversation decode them.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline, Transform } from 'node:stream';
import type { Clock } from '../../clock.js';
import { TextCache } from '../../protocol/pulse/text-cache.js';
import { Conversation, type Side } from '../../protocol/pulse/trace/conversation.js';
import type { TraceItem, TraceLine } from '../../protocol/pulse/trace/lines.js';
import { Tap } from '../../protocol/pulse/trace/tap.js';
import { WireError } from '../../protocol/pulse/wire.js';
import type { Capture, CapturedSide } from './capture.js';

/** At a time; both servers accept as many. */
const CLIENTS_MAX = 64;
/** Only the user may connect; a chmod would come too late. */
const OWNER_ONLY_UMASK = 0o177;
const SIDES = ['client', 'server'] as const;

export interface TraceProxyParts {
  readonly clock: Clock;
  /** Paths of the server's socket, in the order of attempts; called for each client. */
  servers(): readonly string[];
  writeLine(line: TraceLine): void;
  whenRoom(callback: () => void): void;
  readonly capture: Capture | undefined;
  /** Runs `write`, which may fail if the disk is full; the result is undefined then. */
  attempt<T>(write: () => T): T | undefined;
  /** True if blocks of audio data get lines. */
  readonly data: boolean;
}

export class TraceProxy {
  readonly #parts: TraceProxyParts;
  readonly #server: Server;
  readonly #open = new Set<TracedConnection>();
  readonly #texts = new TextCache();
  readonly #begun: number;
  #clients = 0;
  #whenIdle: (() => void) | undefined;

  constructor(parts: TraceProxyParts) {
    this.#parts = parts;
    this.#begun = parts.clock.monotonic();
    // A side that has closed its writing end still reads.
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server.maxConnections = CLIENTS_MAX;
    this.#server.on('drop', () =>
      this.#writeItem(this.#number(), { note: `refused: ${CLIENTS_MAX} clients are connected already` }),
    );
  }

  /** Rejects with the system's error. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      const before = process.umask(OWNER_ONLY_UMASK);
      try {
        this.#server.listen(path, resolve);
      } finally {
        process.umask(before);
      }
    });
    // Later errors are failed accepts, for lack of descriptors: the client sees the failure, and the socket stays open.
    this.#server.removeAllListeners('error').on('error', () => undefined);
  }

  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenIdle = resolve;
      this.#settle();
    });
  }

  /** Removes the socket and ends all connections; `idle` resolves when the last one has ended. */
  end(): void {
    this.#server.close();
    for (const connection of this.#open) connection.end();
  }

  #accept(client: Socket): void {
    const number = this.#number();
    const connection = new TracedConnection(client, number, this.#texts, {
      ...this.#parts,
      what: (what) => this.#writeItem(number, what),
      closed: () => {
        this.#open.delete(connection);
        this.#settle();
      },
    });
    this.#open.add(connection);
    void connection.run();
  }

  #number(): number {
    this.#clients += 1;
    return this.#clients;
  }

  #writeItem(connection: number, what: TraceItem): void {
    const seconds = Math.round((this.#parts.clock.monotonic() - this.#begun) * 1000) / 1e6;
    this.#parts.writeLine({ seconds, connection, ...what });
  }

  #settle(): void {
    if (this.#open.size === 0) this.#whenIdle?.();
  }
}

interface ConnectionParts extends TraceProxyParts {
  what(what: TraceItem): void;
  closed(): void;
}

class TracedConnection {
  readonly #client: Socket;
  readonly #number: number;
  readonly #parts: ConnectionParts;
  readonly #conversation: Conversation;
  /** Audio data without lines of its own. */
  readonly #passedOver = { blocks: 0, bytes: 0 };

  constructor(client: Socket, number: number, texts: TextCache, parts: ConnectionParts) {
    this.#client = client;
    this.#number = number;
    this.#parts = parts;
    this.#conversation = new Conversation(texts);
    // Until the pipelines exist; then its errors end both.
    client.on('error', () => client.destroy());
  }

  end(): void {
    this.#client.destroy();
  }

  async run(): Promise<void> {
    const server = await dial(this.#parts.servers());
    if (typeof server === 'string') {
      this.#parts.what({ note: `no sound server: ${server}` });
      this.#client.destroy();
    } else {
      this.#parts.what({ note: 'connected' });
      await this.#join(server);
      const { blocks, bytes } = this.#passedOver;
      const over = blocks === 0 ? '' : `; not shown: ${blocks} blocks of audio data, ${bytes} bytes`;
      this.#parts.what({ note: `closed${over}` });
    }
    this.#parts.closed();
  }

  async #join(server: Socket): Promise<void> {
    const { attempt, capture } = this.#parts;
    const ends = { client: [this.#client, server], server: [server, this.#client] } as const;
    const opened = SIDES.map((from) => {
      const file = attempt(() => capture?.open(this.#number, from));
      const ended = new Promise<void>((resolve) => {
        const [source, target] = ends[from];
        // Called for every kind of end: if one end of a pipeline closes, the other is destroyed.
        pipeline(source, this.#through(from, file), target, () => resolve());
      });
      return { from, file, ended };
    });
    await Promise.all(opened.map(({ ended }) => ended));
    for (const { from, file } of opened) {
      const description = `connection ${this.#number}, from the ${from}`;
      if (file !== undefined) attempt(() => capture?.enter(file, description, this.#conversation));
    }
  }

  #through(from: Side, file: CapturedSide | undefined): Transform {
    const { what, data, whenRoom, attempt } = this.#parts;
    const through = new Transform({
      transform: (chunk: Buffer, _encoding, passed) => {
        try {
          tap.push(chunk);
          whenRoom(() => passed());
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
          what({ from, note: `malformed: ${error.message}; the connection is ended` });
          passed(error);
        }
      },
    });
    const tap = new Tap(from, {
      command: (payload, declined) => what({ from, declined, ...this.#conversation.read(from, payload) }),
      block: (block) => {
        if (data) return what({ from, data: block });
        this.#passedOver.blocks += 1;
        this.#passedOver.bytes += block.length;
      },
      keep: (bytes, frame) => attempt(() => file?.keep(bytes, frame)),
      pass: (bytes) => through.push(bytes),
    });
    return through;
  }
}

/** The first server that accepts the connection, or the error of the last one. Local sockets answer at once. */
async function dial(paths: readonly string[]): Promise<Socket | string> {
  let problem = 'no address of one is known';
  for (const path of paths) {
    const answer = await new Promise<Socket | string>((resolve) => {
      const socket = connect({ path, allowHalfOpen: true });
      socket.once('connect', () => resolve(socket));
      socket.on('error', (error) => resolve(error.message));
    });
    if (typeof answer !== 'string') return answer;
    problem = answer;
  }
  return problem;
}
