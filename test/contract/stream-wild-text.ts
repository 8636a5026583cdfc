// A stream at the sound server with malformed bytes in its properties. Its packets are written by hand, because no client library would
// send them. It lives until its connection is closed.

import { once } from 'node:events';
import { connect } from 'node:net';
import {
  boolean,
  bytes,
  channelMap,
  noFormats,
  PROTOCOL_VERSION,
  packet,
  properties,
  sampleSpec,
  split,
  string,
  u32,
  volumes,
} from '../sound/packet.js';

const COMMAND = { error: 0, createPlaybackStream: 3, authenticate: 8, setClientName: 9 } as const;
const COOKIE_BYTES = 256;
const NONE = 0xffffffff;

export type RawProperties = Readonly<Record<string, Buffer>>;

export interface WildStream {
  /** Index of the sink input. */
  readonly id: number;
  close(): void;
}

function rawProperties(entries: RawProperties): Buffer {
  return Buffer.concat([
    Buffer.from('P'),
    ...Object.entries(entries).flatMap(([key, value]) => {
      const ended = Buffer.concat([value, Buffer.from([0])]);
      return [string(key), u32(ended.length), bytes(ended)];
    }),
    Buffer.from('N'),
  ]);
}

/** Fields of CREATE_PLAYBACK_STREAM at version 32: two channels at 100 %, corked, on the named sink. */
function creation(sink: string, props: RawProperties): readonly Buffer[] {
  return [
    sampleSpec(2, 44_100),
    channelMap(2),
    u32(NONE), // sink index
    string(sink),
    u32(NONE), // maximum buffer length
    boolean(true), // corked
    ...[u32(NONE), u32(NONE), u32(NONE), u32(0)], // target length, prebuffering, minimum request, group
    volumes([0x10000, 0x10000]),
    ...Array.from({ length: 9 }, () => boolean(false)), // seven flags of the format, muted, adjust latency
    rawProperties(props),
    ...Array.from({ length: 7 }, () => boolean(false)),
    noFormats(),
  ];
}

/** @throws {Error} when the server refuses the stream, with its error code. */
export async function openWildStream(
  socketPath: string,
  sink: string,
  props: RawProperties,
): Promise<WildStream> {
  const socket = connect({ path: socketPath });
  socket.write(
    Buffer.concat([
      packet(COMMAND.authenticate, 0, [u32(PROTOCOL_VERSION), bytes(Buffer.alloc(COOKIE_BYTES))]),
      packet(COMMAND.setClientName, 1, [properties({ 'application.name': 'wild' })]),
      packet(COMMAND.createPlaybackStream, 2, creation(sink, props)),
    ]),
  );
  let received: Buffer = Buffer.alloc(0);
  for (;;) {
    const [data] = (await once(socket, 'data')) as [Buffer];
    const { payloads, rest } = split(Buffer.concat([received, data]));
    received = rest;
    for (const payload of payloads) {
      const command = payload.readUInt32BE(1);
      if (command === COMMAND.error)
        throw new Error(`the sound server answered error ${payload.readUInt32BE(11)}`);
      // After command and tag: the stream's channel, then the sink input's index.
      if (payload.readUInt32BE(6) === 2) {
        return { id: payload.readUInt32BE(16), close: () => void socket.destroy() };
      }
    }
  }
}
