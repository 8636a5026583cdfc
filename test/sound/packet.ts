// Packets of the sound server's protocol as buffers, made of the bytes that test/protocol/pulse/bytes.ts writes down by hand: only what a
// client that plays needs.

import * as wire from '../protocol/pulse/bytes.js';

/** Protocol version that the packets are written for. */
export const PROTOCOL_VERSION = 32;

/** Commands by their number in the protocol. */
export const COMMAND = {
  error: 0,
  reply: 2,
  createPlaybackStream: 3,
  deletePlaybackStream: 4,
  createRecordStream: 5,
  deleteRecordStream: 6,
  auth: 8,
  setClientName: 9,
  getServerInfo: 20,
  getSink: 21,
  getSinks: 22,
  getInput: 29,
  getInputs: 30,
  subscribe: 35,
  setSinkVolume: 36,
  setInputVolume: 37,
  setSinkMute: 39,
  corkPlaybackStream: 41,
  setPlaybackStreamName: 46,
  recordStreamKilled: 65,
  event: 66,
  move: 67,
  getCard: 88,
  getCards: 89,
  setCardProfile: 90,
  setSinkPort: 96,
} as const;

const CONTROL_CHANNEL = 0xffffffff;
const DESCRIPTOR_BYTES = 20;

export const u32 = (value: number): Buffer => Buffer.from(wire.u32(value));
export const boolean = (value: boolean): Buffer => Buffer.from(wire.bool(value));
/** A string without its value is the tag `N`. */
export const string = (value?: string): Buffer => Buffer.from(wire.text(value ?? null));
export const bytes = (value: Buffer): Buffer => Buffer.from(wire.blob([...value]));
/** 16-bit little-endian samples. */
export const sampleSpec = (channels: number, rate: number): Buffer =>
  Buffer.from(wire.spec(3, channels, rate));
/** One channel is mono (0), more are front-left (1), front-right (2) and so on. */
export const channelMap = (channels: number): Buffer =>
  Buffer.from(wire.map(...Array.from({ length: channels }, (_, i) => (channels === 1 ? 0 : i + 1))));
/** 0x10000 is 100 %. */
export const volumes = (values: readonly number[]): Buffer => Buffer.from(wire.volumes(...values));
/** A text, or any bytes. */
export const properties = (entries: Readonly<Record<string, string | Buffer>>): Buffer =>
  Buffer.from(
    wire.props(...Object.entries(entries).map(([key, value]) => wire.prop(key, [...Buffer.from(value), 0]))),
  );
/** An empty list of formats: the server takes the sample specification. */
export const noFormats = (): Buffer => Buffer.from('B\0');

/** A whole control packet. */
export const packet = (command: number, requestTag: number, fields: readonly Buffer[]): Buffer =>
  Buffer.from(wire.command(command, requestTag, [...Buffer.concat(fields)]));

/** The received bytes, cut into payloads of control packets; `rest` is the beginning of the next packet. */
export function split(received: Buffer): { readonly payloads: readonly Buffer[]; readonly rest: Buffer } {
  const payloads: Buffer[] = [];
  let rest = received;
  while (rest.length >= DESCRIPTOR_BYTES) {
    const end = DESCRIPTOR_BYTES + rest.readUInt32BE(0);
    if (rest.length < end) break;
    if (rest.readUInt32BE(4) === CONTROL_CHANNEL) payloads.push(rest.subarray(DESCRIPTOR_BYTES, end));
    rest = rest.subarray(end);
  }
  return { payloads, rest };
}
