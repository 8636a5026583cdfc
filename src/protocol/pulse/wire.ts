// Shared by reader and writer: the supported protocol versions, the tag before every value, the wire's "no
// object", and the codec's only error.

/** Below 32 there are field variants that no server of the last decade needs. */
export const OLDEST_VERSION = 32;
/** The offered version. A newer one would only add fields that we do not ask for. */
export const NEWEST_VERSION = 35;

/**
 * The upper half of the word carries flags (shared memory, memfd); ours are clear, so the server's do not
 * matter.
 */
const VERSION_BITS = 0xffff;

/** Both sides use the lower version; undefined if the server's is older than any that we read. */
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

/** Describes the byte at an offset, for a message: the tag's name, or the byte if it is no tag. */
export function describeTag(byte: number | undefined): string {
  if (byte === undefined) return 'the end of the frame';
  return NAMES.get(byte) ?? `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/** The index that means "no object", and the tag of the server's unasked messages. */
export const NONE = 0xffffffff;

/** The other side broke the protocol, or a value does not fit it. It never leaves the session. */
export class WireError extends Error {
  override readonly name = 'WireError';
}
