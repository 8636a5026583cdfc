// Builds payloads and frames byte by byte from the protocol's description. It shares nothing with the code under test.

export type Bytes = readonly number[];

const word = (value: number): number[] => [
  (value >>> 24) & 0xff,
  (value >>> 16) & 0xff,
  (value >>> 8) & 0xff,
  value & 0xff,
];
const ascii = (letter: string): number => letter.charCodeAt(0);

export const u32 = (value: number): Bytes => [ascii('L'), ...word(value)];
export const u8 = (value: number): Bytes => [ascii('B'), value];
export const text = (value: string | null): Bytes =>
  value === null ? [ascii('N')] : [ascii('t'), ...new TextEncoder().encode(value), 0];
export const bool = (value: boolean): Bytes => [ascii(value ? '1' : '0')];
export const spec = (format: number, channels: number, rate: number): Bytes => [
  ascii('a'),
  format,
  channels,
  ...word(rate),
];
export const map = (...positions: number[]): Bytes => [ascii('m'), positions.length, ...positions];
export const volumes = (...raw: number[]): Bytes => [ascii('v'), raw.length, ...raw.flatMap(word)];
const volume = (raw: number): Bytes => [ascii('V'), ...word(raw)];
export const usec = (high: number, low: number): Bytes => [ascii('U'), ...word(high), ...word(low)];
export const blob = (value: Bytes): Bytes => [ascii('x'), ...word(value.length), ...value];
/** One property with the given bytes as its value. */
export const prop = (key: string, value: Bytes): Bytes => [
  ...text(key),
  ...u32(value.length),
  ...blob(value),
];
export const props = (...entries: Bytes[]): Bytes => [ascii('P'), ...entries.flat(), ascii('N')];
export const textProp = (key: string, value: string): Bytes =>
  prop(key, [...new TextEncoder().encode(value), 0]);
export const format = (encoding: number): Bytes => [ascii('f'), ...u8(encoding), ...props()];

/** A frame around any bytes; the header's words can be wrong on purpose. */
export function framed(
  payload: Bytes,
  { length = payload.length, channel = 0xffffffff, offset = 0, flags = 0 } = {},
): Uint8Array {
  return Uint8Array.from([
    ...word(length),
    ...word(channel),
    ...word(offset),
    ...word(0),
    ...word(flags),
    ...payload,
  ]);
}

const NONE = 0xffffffff;
export const ERROR = 0;
const REPLY = 2;
const EVENT = 66;

export const command = (code: number, tag: number, ...fields: Bytes[]): Uint8Array =>
  framed([...u32(code), ...u32(tag), ...fields.flat()]);
export const reply = (tag: number, ...fields: Bytes[]): Uint8Array => command(REPLY, tag, ...fields);
export const error = (tag: number, code: number): Uint8Array => command(ERROR, tag, u32(code));
export const event = (kind: number, index: number): Uint8Array => command(EVENT, NONE, u32(kind), u32(index));

/** The fields that a test changes in an otherwise ordinary record. */
export interface SinkInputBytes {
  readonly index?: number;
  readonly name?: string | null;
  readonly client?: number;
  readonly sink?: number;
  readonly volumes?: Bytes;
  readonly muted?: boolean;
  readonly props?: Bytes;
  readonly corked?: boolean;
  readonly hasVolume?: boolean;
  readonly bufferLatency?: Bytes;
}

export function sinkInput({
  index = 7,
  name = 'Radio',
  client = 12,
  ...more
}: SinkInputBytes = {}): number[] {
  return [
    ...[u32(index), text(name), u32(NONE), u32(client), u32(more.sink ?? 3), spec(3, 2, 44100), map(1, 2)],
    ...[more.volumes ?? volumes(65536, 32768), more.bufferLatency ?? usec(0, 2000), usec(0, 30), text(null)],
    ...[text('protocol-native.c'), bool(more.muted ?? false)],
    ...[more.props ?? props(textProp('media.name', 'Radio')), bool(more.corked ?? true)],
    ...[bool(more.hasVolume ?? true), bool(false), format(1)],
  ].flat();
}

/** Ports are given as bytes because their shape depends on the version. */
export interface SinkBytes {
  readonly index?: number;
  readonly name?: string;
  readonly description?: string;
  readonly volumes?: Bytes;
  readonly muted?: boolean;
  /** The index of its monitor, which is called after it. */
  readonly monitor?: number;
  readonly flags?: number;
  readonly state?: number;
  readonly card?: number;
  readonly ports?: readonly Bytes[];
  readonly activePort?: string | null | undefined;
}

export function sink({ name = 'living', monitor, ports = [], ...more }: SinkBytes = {}): number[] {
  return [
    ...[
      u32(more.index ?? 3),
      text(name),
      text(more.description ?? null),
      spec(5, 2, 48000),
      map(1, 2),
      u32(1),
    ],
    ...[more.volumes ?? volumes(65536, 65536), bool(more.muted ?? true), u32(monitor ?? NONE)],
    ...[
      text(monitor === undefined ? null : `${name}.monitor`),
      usec(0, 0),
      text('alsa'),
      u32(more.flags ?? 418),
    ],
    ...[props(), usec(0, 0), volume(65536), u32(more.state ?? 0), u32(65537), u32(more.card ?? NONE)],
    ...[u32(ports.length), ports.flat(), text(more.activePort ?? null), u8(1), format(1)],
  ].flat();
}
