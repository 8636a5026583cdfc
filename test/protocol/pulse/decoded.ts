// Decodes the fields of a reply as the daemon does, but without a session. The version is that of the sound
// server's protocol.

import { COMMANDS, type Reply, type RequestName } from '../../../src/protocol/pulse/commands.js';
import { Chunk } from '../../../src/protocol/pulse/frame.js';
import { Reader } from '../../../src/protocol/pulse/reader.js';
import { TextCache } from '../../../src/protocol/pulse/text-cache.js';

export function decode<C extends RequestName>(
  command: C,
  fields: readonly number[] | Uint8Array,
  { version = 35, texts = new TextCache() } = {},
): Reply<C> {
  const reader = new Reader(new Chunk(Uint8Array.from(fields)), version, texts);
  const value = COMMANDS[command].reply.read(reader);
  reader.finish();
  return value;
}
