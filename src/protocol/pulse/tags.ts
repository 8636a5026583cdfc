// The type tags of the wire: the byte in front of every value. A table; it may not hold behaviour beyond naming a byte.

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
} as const;

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TAG).map(([name, byte]) => [byte, name]));

/** What stands at an offset, for a sentence: the tag's name, or the byte when it is none. */
export function describeTag(byte: number | undefined): string {
  if (byte === undefined) return 'the end of the frame';
  return NAMES.get(byte) ?? `byte 0x${byte.toString(16).padStart(2, '0')}`;
}
