// What reading and writing share: the protocol versions that are spoken, the tag in front of every value, the wire's "no object",
// and the one error of the codec.

/** Below 32 there are field variants that no server of the last decade needs. */
export const OLDEST_VERSION = 32;
/** What is offered. Every field that a newer version may add is one that we did not ask for. */
export const NEWEST_VERSION = 35;

/** The upper half of the word carries flags (shared memory, memfd); ours are clear, so theirs say nothing. */
const VERSION_BITS = 0xffff;

/** Both sides speak the lower of the two; undefined when the server's is older than anything we read. */
export function negotiate(answered: number): number | undefined {
  const version = Math.min(NEWEST_VERSION, answered & VERSION_BITS);
  return version < OLDEST_VERSION ? undefined : version;
}

/** One ASCII letter per type, as in PulseAudio's `pulsecore/tagstruct.h`. */
export const TAG = {
  text: 0x74, // t
  noText: 0x4e, // N
  u32: 0x4c, // L
  u8: 0x42, // B
  sampleSpec: 0x61, // a
  bytes: 0x78, // x
  yes: 0x31, // 1
  no: 0x30, // 0
  usec: 0x55, // U
  channelMap: 0x6d, // m
  volumes: 0x76, // v
  volume: 0x56, // V
  props: 0x50, // P
  format: 0x66, // f
  u64: 0x52, // R
  s64: 0x72, // r
  time: 0x54, // T
} as const;

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TAG).map(([name, byte]) => [byte, name]));

/** What stands at an offset, for a sentence: the tag's name, or the byte when it is none. */
export function describeTag(byte: number | undefined): string {
  if (byte === undefined) return 'the end of the frame';
  return NAMES.get(byte) ?? `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/** The index that means "no object", and the tag of what the server sends unasked. */
export const NONE = 0xffffffff;

/** The other side broke the protocol, or a value does not fit it. It never leaves the session. */
export class WireError extends Error {
  override readonly name = 'WireError';
}
