// Opens many playback streams on one connection, so that they need only one socket. The streams may have any
// properties, but have no sound. `SoundServer.play` makes a stream that may have sound.

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import * as wire from '../protocol/pulse/bytes.js';
import { COMMAND, PROTOCOL_VERSION, packet, split } from './packet.js';

const ANSWER_DEADLINE_MS = 30_000;
/**
 * At most this many streams are created at once on a connection. With 150 at once on a busy machine,
 * PipeWire 0.3.65 left some requests without an answer in 10 of 72 tries. After that it mostly answered
 * nothing more on this connection. With 8 at once it answered all requests in 80 tries.
 */
const CREATIONS_AT_ONCE = 8;
const COOKIE_BYTES = 256;
const NONE = 0xffffffff;
/** PA_SAMPLE_S16LE. */
const S16LE = 3;
/** PA_ENCODING_AC3_IEC61937. */
const AC3 = 2;
/** One byte, the type tag, stands before each number. */
const TYPE_TAG_BYTES = 1;
/** A payload has a command, the tag of a request, and fields. The first two offsets skip the type tags. */
const COMMAND_OFFSET = 1;
const REQUEST_TAG_OFFSET = 6;
const FIELDS_OFFSET = 10;

export interface StreamOptions {
  /** Name of the sink; the default sink when absent. */
  readonly sink?: string;
  /** Properties of the stream, of which `media.name` is its name. A buffer may hold malformed bytes. */
  readonly props?: Readonly<Record<string, string | Buffer>>;
  /** True by default. */
  readonly corked?: boolean;
  /**
   * The volume of each channel, where 0x10000 is 100 %. By default there are two channels at 100 %.
   * PipeWire applies the first volume to all channels.
   */
  readonly volumes?: readonly number[];
  /** A passthrough stream has no volume of its own (on PulseAudio). */
  readonly passthrough?: boolean;
  /**
   * True if the stream is encoded as AC-3, which makes it passthrough, too. The sink must have that format.
   */
  readonly ac3?: boolean;
}

export type Stream = ReturnType<typeof streamOf>;

/**
 * A connection to the server. Many requests may be under way, and each waits for the reply with its own tag.
 */
class PacketConnection {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (answer: Buffer | Error) => void>();
  #received: Buffer = Buffer.alloc(0);
  #nextTag = 0;

  constructor(path: string) {
    this.#socket = connect({ path });
    this.#socket.on('data', (data) => this.#receive(data));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the sound server closed the connection')));
    // Forgotten streams must not keep the test's process alive.
    this.#socket.unref();
  }

  /**
   * Resolves with the fields of the reply. Rejects if the server answers with an error, if 30 s pass, or if
   * the socket closes.
   */
  ask(command: number, ...fields: wire.Bytes[]): Promise<Buffer> {
    const tag = this.#nextTag++;
    return new Promise((resolve, reject) => {
      const failUnanswered = (): void => this.#waiting.get(tag)?.(new Error('no answer'));
      const deadline = setTimeout(failUnanswered, ANSWER_DEADLINE_MS);
      this.#waiting.set(tag, (answer) => {
        clearTimeout(deadline);
        this.#waiting.delete(tag);
        if (answer instanceof Error) reject(new Error(`command ${command}: ${answer.message}`));
        else resolve(answer);
      });
      this.#socket.write(packet(command, tag, ...fields));
    });
  }

  async close(): Promise<void> {
    if (this.#socket.closed) return;
    // The process must not end before the socket is closed.
    this.#socket.ref().destroy();
    await once(this.#socket, 'close');
  }

  #receive(data: Buffer): void {
    const { payloads, rest } = split(Buffer.concat([this.#received, data]));
    this.#received = rest;
    for (const payload of payloads) {
      const command = payload.readUInt32BE(COMMAND_OFFSET);
      const settle = this.#waiting.get(payload.readUInt32BE(REQUEST_TAG_OFFSET));
      const fields = payload.subarray(FIELDS_OFFSET);
      if (command === COMMAND.reply) settle?.(fields);
      if (command === COMMAND.error) settle?.(new Error(`error ${fields.readUInt32BE(TYPE_TAG_BYTES)}`));
    }
  }

  #fail(error: Error): void {
    for (const settle of [...this.#waiting.values()]) settle(error);
  }
}

const properties = (entries: NonNullable<StreamOptions['props']>): wire.Bytes =>
  wire.props(...Object.entries(entries).map(([key, value]) => wire.prop(key, [...Buffer.from(value), 0])));

/**
 * Fields of CREATE_PLAYBACK_STREAM in wire order, as libpulse writes them at version 32. Streams of one
 * `group` start together.
 */
function creationFields(options: StreamOptions, group: number): wire.Bytes[] {
  const volumes = options.volumes ?? [0x10000, 0x10000];
  const hasVolume = options.volumes !== undefined;
  const ac3 = wire.format(AC3, wire.textProp('format.rate', '48000'));
  return [
    wire.spec(S16LE, volumes.length, 44_100),
    // One channel is mono, more are front-left, front-right and so on.
    wire.map(...volumes.map((_, channel) => (volumes.length === 1 ? 0 : channel + 1))),
    wire.u32(NONE), // sink index
    wire.text(options.sink ?? null),
    wire.u32(NONE), // maximum buffer length
    wire.bool(options.corked ?? true),
    wire.u32(NONE), // target length
    wire.u32(NONE), // prebuffering
    wire.u32(NONE), // minimum request
    wire.u32(group),
    wire.volumes(...volumes),
    // no remap, no remix, fix format, fix rate, fix channels, don't move, variable rate
    ...Array.from({ length: 7 }, () => wire.bool(false)),
    wire.bool(false), // muted
    wire.bool(false), // adjust latency
    properties(options.props ?? {}),
    wire.bool(hasVolume), // volume set
    wire.bool(false), // early requests
    wire.bool(false), // muted set
    wire.bool(false), // don't inhibit suspend
    wire.bool(false), // fail on suspend
    wire.bool(false), // relative volume
    wire.bool(options.passthrough ?? false),
    // The number of formats, then the formats. Without a format the server takes the sample specification.
    wire.u8(options.ac3 ? 1 : 0),
    options.ac3 ? ac3 : [],
  ];
}

function streamOf(connection: PacketConnection, reply: Buffer) {
  // The reply has two numbers, each behind its type tag: the channel of the stream, and the index (`id`) of
  // the sink input.
  const channel = wire.u32(reply.readUInt32BE(1));
  const id = reply.readUInt32BE(6);
  const act = async (command: number, ...fields: wire.Bytes[]): Promise<void> => {
    await connection.ask(command, channel, ...fields);
  };
  return {
    id,
    cork: (corked: boolean) => act(COMMAND.corkPlaybackStream, wire.bool(corked)),
    rename: (name: string) => act(COMMAND.setPlaybackStreamName, wire.text(name)),
    remove: () => act(COMMAND.deletePlaybackStream),
  };
}

export class StreamClient {
  readonly #connection: PacketConnection;
  #nextGroup = 0;

  private constructor(connection: PacketConnection) {
    this.#connection = connection;
  }

  /** Connects to the server's socket as an application with this name. */
  static async connect(socketPath: string, application: string): Promise<StreamClient> {
    const connection = new PacketConnection(socketPath);
    const cookie = wire.blob(Array(COOKIE_BYTES).fill(0));
    await connection.ask(COMMAND.auth, wire.u32(PROTOCOL_VERSION), cookie);
    await connection.ask(COMMAND.setClientName, properties({ 'application.name': application }));
    return new StreamClient(connection);
  }

  /**
   * Creates the streams, a few at once, and returns them in the order of `streams`. PipeWire 0.3.65 takes
   * 128 streams on one sink, and does not answer the request for the next stream. PulseAudio 16 takes 256.
   */
  async open(streams: readonly StreamOptions[]): Promise<readonly Stream[]> {
    const opened: Stream[] = [];
    for (let from = 0; from < streams.length; from += CREATIONS_AT_ONCE) {
      const nextStreams = streams.slice(from, from + CREATIONS_AT_ONCE);
      opened.push(...(await Promise.all(nextStreams.map((options) => this.#create(options)))));
    }
    return opened;
  }

  /** Closes the connection. The server then removes its streams. Resolves when the socket is closed. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  async #create(options: StreamOptions): Promise<Stream> {
    const fields = creationFields(options, this.#nextGroup++);
    return streamOf(this.#connection, await this.#connection.ask(COMMAND.createPlaybackStream, ...fields));
  }
}
