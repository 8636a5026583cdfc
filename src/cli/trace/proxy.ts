// Connects each client of a trace to the sound server, and passes frames both ways, never faster than their
// receiver accepts them. `Conversation` decodes the commands, and clears the flags of shared memory in them,
// because audio data in shared memory would bypass this proxy.

import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../host/clock.js';
import { errorText } from '../../printable.js';
import { failed, type Result, success } from '../../protocol/actor/result.js';
import { CONTROL_CHANNEL, Framer, HEADER_BYTES } from '../../protocol/pulse/frame.js';
import { TextCache } from '../../protocol/pulse/text-cache.js';
import { audioBlockOf, Conversation, type Side } from '../../protocol/pulse/trace/conversation.js';
import type { TraceItem, TraceLine } from '../../protocol/pulse/trace/lines.js';
import { WireError } from '../../protocol/pulse/wire.js';
import type { Capture } from './capture.js';

/** At most this many clients are served at a time. PulseAudio and PipeWire have the same limit. */
const CLIENTS_MAX = 64;
/** Only the user of this process may connect. Other users could connect between `listen` and a chmod. */
const OWNER_ONLY_UMASK = 0o177;

export interface TraceProxyParts {
  /** The paths at which the server's socket may be, in the order of attempts. Called for each client. */
  serverPaths(): readonly string[];
  writeLine(line: TraceLine): void;
  readonly capture: Capture | undefined;
  /**
   * Runs `write`, unless an earlier write has failed. Returns undefined if `write` does not run, or if it
   * fails, for example because the disk is full.
   */
  attempt<T>(write: () => T): T | undefined;
  /** True if blocks of audio data get lines. */
  readonly showsData: boolean;
}

type WriteItem = (item: TraceItem) => void;

export class TraceProxy {
  readonly #parts: TraceProxyParts;
  readonly #server: Server;
  /** The clients, each with a promise that resolves when its connection has ended. */
  readonly #openClients = new Map<Socket, Promise<void>>();
  readonly #texts = new TextCache();
  readonly #startedAt = systemClock.monotonic();
  #connectionCount = 0;

  constructor(parts: TraceProxyParts) {
    this.#parts = parts;
    // A side that has closed its writing end still reads, so the connection must stay half open.
    this.#server = createServer({ allowHalfOpen: true }, (client) => {
      const served = this.#serve(client).finally(() => this.#openClients.delete(client));
      this.#openClients.set(client, served);
    });
    this.#server.maxConnections = CLIENTS_MAX;
    // A client above `maxConnections` is dropped: Node.js has closed its connection already. The connection
    // gets a number only because its line needs one.
    this.#server.on('drop', () => {
      const { writeItem } = this.#nextConnection();
      writeItem({ note: `refused: ${CLIENTS_MAX} clients are connected already` });
    });
  }

  /** Rejects with the system's error. */
  async listen(path: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      // `#server.listen` makes the file of the socket before it returns.
      const previousUmask = process.umask(OWNER_ONLY_UMASK);
      try {
        this.#server.listen(path, resolve);
      } finally {
        process.umask(previousUmask);
      }
    });
    // Later errors come if a client cannot be accepted because this process has too many open files. They
    // are ignored, because the client notices the failure, and the server still listens.
    this.#server.removeAllListeners('error').on('error', () => undefined);
  }

  /** Resolves after the end of all connections that are open now. */
  async idle(): Promise<void> {
    await Promise.all(this.#openClients.values());
  }

  /** Removes the socket and ends all connections; `idle` resolves when the last one has ended. */
  end(): void {
    this.#server.close();
    for (const client of this.#openClients.keys()) client.destroy();
  }

  /** Counts a new connection. Returns its number, and the function that writes its lines. */
  #nextConnection(): { readonly connection: number; readonly writeItem: WriteItem } {
    this.#connectionCount += 1;
    const connection = this.#connectionCount;
    const writeItem: WriteItem = (item) => {
      // The clock's parts of a microsecond are only noise.
      const microseconds = Math.round((systemClock.monotonic() - this.#startedAt) * 1000);
      this.#parts.writeLine({ seconds: microseconds / 1e6, connection, ...item });
    };
    return { connection, writeItem };
  }

  async #serve(client: Socket): Promise<void> {
    const { connection, writeItem } = this.#nextConnection();
    // This handles an error before the pipelines exist. Later errors end the pipelines.
    client.on('error', () => client.destroy());
    const dialled = await dial(this.#parts.serverPaths());
    if (!dialled.ok) {
      writeItem({ note: `no sound server: ${dialled.error}` });
      client.destroy();
      return;
    }
    writeItem({ note: 'connected' });
    const { blocks, bytes } = await this.#passBothWays(client, dialled.value, connection, writeItem);
    const audioText = blocks === 0 ? '' : `; not shown: ${blocks} blocks of audio data, ${bytes} bytes`;
    writeItem({ note: `closed${audioText}` });
  }

  /**
   * Passes frames both ways until both sides have ended. Resolves with the amount of audio data that got no
   * lines.
   */
  async #passBothWays(client: Socket, server: Socket, connection: number, writeItem: WriteItem) {
    const { attempt, capture, showsData } = this.#parts;
    const conversation = new Conversation(this.#texts);
    const audioWithoutLines = { blocks: 0, bytes: 0 };
    const pass = async (from: Side, source: Socket, target: Socket) => {
      const file = attempt(() => capture?.open(connection, from));
      const onFrame = (frame: Buffer, channel: number): void => {
        if (channel === CONTROL_CHANNEL) writeItem({ from, ...conversation.read(from, frame) });
        else if (showsData) writeItem({ from, data: audioBlockOf(frame, channel) });
        else {
          audioWithoutLines.blocks += 1;
          audioWithoutLines.bytes += audioBlockOf(frame, channel).length;
        }
        attempt(() => file?.keep(frame, channel));
      };
      // `pipeline` rejects at a malformed frame, and if a socket closes early. In both cases it ends the
      // connection. A client may close early without a fault, so only a malformed frame gets a note.
      await pipeline(source, (chunks) => framesIn(chunks, onFrame), target).catch((error: unknown) => {
        if (error instanceof WireError)
          writeItem({ from, note: `malformed: ${error.message}; the connection is ended` });
      });
      return { from, file };
    };
    const directions = [pass('client', client, server), pass('server', server, client)];
    // In the list, the entry of each file has the protocol version that the two sides agree on. This version
    // depends on a message of each side, so no file is closed before both directions have ended.
    for (const { from, file } of await Promise.all(directions))
      attempt(() => file && capture?.close(file, connection, from, conversation));
    return audioWithoutLines;
  }
}

/**
 * Yields the frames of a stream. Calls `onFrame` with each frame before it is yielded, because `onFrame` may
 * change the frame.
 */
async function* framesIn(chunks: AsyncIterable<Buffer>, onFrame: (frame: Buffer, channel: number) => void) {
  const framer = new Framer();
  for await (const chunk of chunks) {
    const frames: Buffer[] = [];
    try {
      framer.push(chunk, ({ bytes }, payloadStart, end, channel) => {
        // The header stands before the payload. The frame can be used after `push`, because neither Node.js
        // nor `Framer` uses its memory again.
        const frame = bytes.subarray(payloadStart - HEADER_BYTES, end);
        onFrame(frame, channel);
        frames.push(frame);
      });
    } finally {
      // If `push` throws at a malformed header, the frames before this header still pass.
      yield* frames;
    }
  }
}

/**
 * Tries the paths in order. Resolves with the first socket that connects, or with the error at the last path.
 * There is no deadline, because the kernel answers at once. If too many connections wait for the server, this
 * answer is the error EAGAIN.
 */
async function dial(paths: readonly string[]): Promise<Result<Socket, string>> {
  let problem = 'no address of one is known';
  for (const path of paths) {
    const dialled = await new Promise<Result<Socket, string>>((resolve) => {
      const socket = connect({ path, allowHalfOpen: true });
      socket.once('connect', () => resolve(success(socket)));
      // This handler stays, because a later error without a handler would end the process.
      socket.on('error', (error) => resolve(failed(errorText(error))));
    });
    if (dialled.ok) return dialled;
    problem = dialled.error;
  }
  return failed(problem);
}
