// Makes packets of the sound server's protocol as buffers, and cuts received bytes into packets. The fields
// come from test/protocol/pulse/bytes.ts, which shares no code with the daemon.

import * as wire from '../protocol/pulse/bytes.js';

/** Protocol version that the packets are written for. */
export const PROTOCOL_VERSION = 32;

/** The number of each command in the protocol. */
export const COMMAND = {
  error: 0,
  reply: 2,
  auth: 8,
  setClientName: 9,
  subscribe: 35,
  event: 66,
  createPlaybackStream: 3,
  deletePlaybackStream: 4,
  corkPlaybackStream: 41,
  setPlaybackStreamName: 46,
  createRecordStream: 5,
  deleteRecordStream: 6,
  recordStreamKilled: 65,
  getServerInfo: 20,
  getSink: 21,
  getSinks: 22,
  getSource: 23,
  getSources: 24,
  getInput: 29,
  getInputs: 30,
  getCard: 88,
  getCards: 89,
  setSinkVolume: 36,
  setInputVolume: 37,
  setSourceVolume: 38,
  setSinkMute: 39,
  setCardProfile: 90,
  setSinkPort: 96,
  setSourcePort: 97,
  move: 67,
};

/** Control packets have this channel. Each of them has a command. */
const CONTROL_CHANNEL = 0xffffffff;
const DESCRIPTOR_BYTES = 20;

/** A whole control packet. */
export const packet = (command: number, requestTag: number, ...fields: wire.Bytes[]): Buffer =>
  Buffer.from(wire.command(command, requestTag, ...fields));

/**
 * Cuts received bytes into the payloads of control packets. Packets of other channels are left out. `rest` is
 * the received part of the next packet.
 */
export function split(received: Buffer): { readonly payloads: readonly Buffer[]; readonly rest: Buffer } {
  const payloads: Buffer[] = [];
  let rest = received;
  while (rest.length >= DESCRIPTOR_BYTES) {
    const payloadBytes = rest.readUInt32BE(0);
    const channel = rest.readUInt32BE(4);
    const end = DESCRIPTOR_BYTES + payloadBytes;
    if (rest.length < end) break;
    if (channel === CONTROL_CHANNEL) payloads.push(rest.subarray(DESCRIPTOR_BYTES, end));
    rest = rest.subarray(end);
  }
  return { payloads, rest };
}
