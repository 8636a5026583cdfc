// Decides which protocol version a connection has. Defines the type tags, the index NONE and the error of the
// wire. Pure.

/** A server with an older version is refused, because its records have other fields. */
export const OLDEST_VERSION = 32;
/** The version that we offer. Newer ones only add fields that we do not need. */
export const NEWEST_VERSION = 35;

/**
 * Each side sends its version in the lower half of a word of 32 bits. The upper half has flags for kinds of
 * shared memory. We offer no kind, so the server's flags have no effect.
 */
const VERSION_BITS = 0xffff;

/**
 * Returns the version that both sides use: the lower of the server's version and our own. The result is
 * undefined if the server's version is older than OLDEST_VERSION. `serverWord` is the server's version with
 * its flags.
 */
export function negotiate(serverWord: number): number | undefined {
  const version = Math.min(NEWEST_VERSION, serverWord & VERSION_BITS);
  return version < OLDEST_VERSION ? undefined : version;
}

/**
 * Each value on the wire begins with one of these ASCII characters (PulseAudio's `pulsecore/tagstruct.h`).
 * Texts and bools have two type tags each.
 */
export const TYPE_TAG = {
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

const TYPE_TAG_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(TYPE_TAG).map(([name, byte]) => [byte, name]),
);

/** Names the byte that stands in the place of a type tag, for error messages and for trace/values.ts. */
export function describeTypeTag(byte: number | undefined): string {
  if (byte === undefined) return 'the end of the frame';
  return TYPE_TAG_NAMES.get(byte) ?? `byte 0x${byte.toString(16).padStart(2, '0')}`;
}

/**
 * The index that means "no object". Messages of the server that answer no request have this number as their
 * tag.
 */
export const NONE = 0xffffffff;

/**
 * This error means that the other side has broken the protocol, or that the protocol has no form for a value.
 * The code that handles frames catches this error.
 */
export class WireError extends Error {
  override readonly name = 'WireError';
}
