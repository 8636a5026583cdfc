// Builds payloads and frames byte by byte from the protocol's description. It shares nothing with the code
// under test.

export type Bytes = readonly number[];

const word = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff);
const ascii = (letter: string): number => letter.charCodeAt(0);

export const u32 = (value: number): Bytes => [ascii('L'), ...word(value)];
export const u8 = (value: number): Bytes => [ascii('B'), value];
export const text = (value: string | null): Bytes =>
  value === null ? [ascii('N')] : [ascii('t'), ...new TextEncoder().encode(value), 0];
export const bool = (value: boolean): Bytes => [ascii(value ? '1' : '0')];
export const spec = (format: number, channels: number, rate: number): Bytes =>
  [ascii('a'), format, channels].concat(word(rate));
export const map = (...positions: number[]): Bytes => [ascii('m'), positions.length, ...positions];
export const volumes = (...raw: number[]): Bytes => [ascii('v'), raw.length, ...raw.flatMap(word)];
const volume = (raw: number): Bytes => [ascii('V'), ...word(raw)];
export const usec = (high: number, low: number): Bytes => [ascii('U'), ...word(high), ...word(low)];
export const blob = (value: Bytes): Bytes => [ascii('x'), ...word(value.length), ...value];
/** One property. Its value may have any bytes. */
export const prop = (key: string, value: Bytes): Bytes => [text(key), u32(value.length), blob(value)].flat();
export const props = (...entries: Bytes[]): Bytes => [ascii('P'), ...entries.flat(), ascii('N')];
export const textProp = (key: string, value: string): Bytes =>
  prop(key, [...new TextEncoder().encode(value), 0]);
export const format = (encoding: number, ...entries: Bytes[]): Bytes => [
  ascii('f'),
  ...u8(encoding),
  ...props(...entries),
];

/** The channel of frames with commands. */
const COMMAND_CHANNEL = 0xffffffff;

/**
 * A frame around any bytes. A test may set the words of its header, also to wrong values. `upperOffset`
 * is the upper word of the offset: 1 means 4 GiB. The lower word is 0.
 */
export function framed(
  payload: Bytes,
  { length = payload.length, channel = COMMAND_CHANNEL, upperOffset = 0, flags = 0 } = {},
): Uint8Array {
  const header = [length, channel, upperOffset, 0, flags];
  return Uint8Array.from([...header.flatMap(word), ...payload]);
}

/** The number that stands for no object. It is also the tag of messages that answer no request. */
const NONE = 0xffffffff;
/** The numbers of commands (native-common.h of PulseAudio). */
export const ERROR = 0;
const REPLY = 2;
const EVENT = 66;

export const command = (code: number, tag: number, ...fields: Bytes[]): Uint8Array =>
  framed([...u32(code), ...u32(tag), ...fields.flat()]);
export const reply = (tag: number, ...fields: Bytes[]): Uint8Array => command(REPLY, tag, ...fields);
export const error = (tag: number, code: number): Uint8Array => command(ERROR, tag, u32(code));
export const event = (kind: number, index: number): Uint8Array => command(EVENT, NONE, u32(kind), u32(index));

/** Sample formats (sample.h of PulseAudio). */
const S16LE = 3;
const FLOAT32LE = 5;
/** Positions of channels (channelmap.h). */
const FRONT_LEFT = 1;
const FRONT_RIGHT = 2;
/** The encoding of samples that are not compressed (format.h). */
const PCM = 1;
/** The raw volume of 100 % (volume.h). */
const FULL = 0x10000;
/** The number of raw volumes from 0 to `FULL`. */
const VOLUME_STEPS = 0x10001;

const STEREO = map(FRONT_LEFT, FRONT_RIGHT);
const BASE_VOLUME = volume(FULL);
const NO_LATENCY = usec(0, 0);
const ALSA_DRIVER = text('alsa');
const FORMATS: readonly Bytes[] = [format(PCM)];

/** The fields that a test may change in an otherwise ordinary record. */
const SINK_INPUT = {
  index: 7,
  name: 'Radio' as string | null,
  client: 12,
  sink: 3,
  corked: true,
  muted: false,
  hasVolume: true,
  volumeWritable: true,
  volumes: volumes(FULL, FULL / 2),
  bufferLatency: usec(0, 2000),
  ownerModule: NONE,
  encoding: PCM,
  props: props(textProp('media.name', 'Radio')),
};
export type SinkInputBytes = Partial<typeof SINK_INPUT>;

export function sinkInput(change: SinkInputBytes = {}): number[] {
  const fields = { ...SINK_INPUT, ...change };
  const sinkLatency = usec(0, 30);
  const resampleMethod = text(null);
  const driver = text('protocol-native.c');
  return [
    u32(fields.index),
    text(fields.name),
    u32(fields.ownerModule),
    u32(fields.client),
    u32(fields.sink),
    spec(S16LE, 2, 44100),
    STEREO,
    fields.volumes,
    fields.bufferLatency,
    sinkLatency,
    resampleMethod,
    driver,
    bool(fields.muted),
    fields.props,
    bool(fields.corked),
    bool(fields.hasVolume),
    bool(fields.volumeWritable),
    format(fields.encoding),
  ].flat();
}

/**
 * `monitor` is the index of the sink's monitor, whose name is made of `name`. `flags` are those of a null
 * sink of PulseAudio. `state` is 0 for a sink that runs, and 1 for an idle one. `ports` are bytes, because
 * their form depends on the version. Both null and undefined as `activePort` mean that no port is active.
 */
const SINK = {
  index: 3,
  name: 'living',
  description: null as string | null,
  muted: true,
  monitor: NONE,
  flags: 418,
  volumes: volumes(FULL, FULL),
  state: 0,
  card: NONE,
  ports: [] as readonly Bytes[],
  activePort: null as string | null | undefined,
  ownerModule: 1,
  props: props(),
};

export function sink(change: Partial<typeof SINK> = {}): number[] {
  const fields = { ...SINK, ...change };
  const monitorName = fields.monitor === NONE ? null : `${fields.name}.monitor`;
  return [
    u32(fields.index),
    text(fields.name),
    text(fields.description),
    spec(FLOAT32LE, 2, 48000),
    STEREO,
    u32(fields.ownerModule),
    fields.volumes,
    bool(fields.muted),
    u32(fields.monitor),
    text(monitorName),
    NO_LATENCY,
    ALSA_DRIVER,
    u32(fields.flags),
    fields.props,
    NO_LATENCY,
    BASE_VOLUME,
    u32(fields.state),
    u32(VOLUME_STEPS),
    u32(fields.card),
    u32(fields.ports.length),
    fields.ports.flat(),
    text(fields.activePort ?? null),
    u8(FORMATS.length),
    FORMATS.flat(),
  ].flat();
}

/** `monitorOf` is the index of the monitored sink, whose name is always that of `SINK`. */
const SOURCE = {
  index: 4,
  name: 'mike',
  description: 'Microphone' as string | null,
  monitorOf: NONE,
  volumes: volumes(FULL, FULL),
  state: 1,
  ports: [] as readonly Bytes[],
  activePort: null as string | null,
};

export type SourceBytes = Partial<typeof SOURCE>;

export function source(change: SourceBytes = {}): number[] {
  const fields = { ...SOURCE, ...change };
  const ownerModule = 1;
  const isMuted = false;
  const monitoredSink = fields.monitorOf === NONE ? null : SINK.name;
  const flags = 0;
  const card = NONE;
  return [
    u32(fields.index),
    text(fields.name),
    text(fields.description),
    spec(FLOAT32LE, 2, 48000),
    STEREO,
    u32(ownerModule),
    fields.volumes,
    bool(isMuted),
    u32(fields.monitorOf),
    text(monitoredSink),
    NO_LATENCY,
    ALSA_DRIVER,
    u32(flags),
    props(textProp('device.class', 'sound')),
    NO_LATENCY,
    BASE_VOLUME,
    u32(fields.state),
    u32(VOLUME_STEPS),
    u32(card),
    u32(fields.ports.length),
    fields.ports.flat(),
    text(fields.activePort),
    u8(FORMATS.length),
    FORMATS.flat(),
  ].flat();
}
