// Lists the fields of the server's records, in wire order. `since` names the protocol version that introduced
// a field (PulseAudio's file PROTOCOL). `ValueTypes` in reader.ts explains the kinds of fields: an `excerpt`
// is a text that may be cut, and `text` and `optionalText` are whole texts.

import {
  bool,
  channelMap,
  excerpt,
  format,
  index,
  listAfterU8,
  listAfterU32,
  optionalText,
  ownIndex,
  props,
  type RecordOf,
  record,
  s64,
  sampleSpec,
  since,
  text,
  u8,
  u32,
  usec,
  volume,
  volumes,
} from './fields.js';

export const SERVER_INFO = {
  packageName: excerpt,
  packageVersion: excerpt,
  user: excerpt,
  host: excerpt,
  sampleSpec,
  /** `defaultSink` and `defaultSource` are whole texts, because they are compared with names. */
  defaultSink: optionalText,
  defaultSource: optionalText,
  cookie: u32,
  channelMap,
};

export const PORT_INFO = {
  name: text,
  description: excerpt,
  priority: u32,
  /** 0 unknown, 1 no, 2 yes. */
  available: u32,
  availabilityGroup: since(34, excerpt),
  type: since(34, u32),
};

/** The first fields of sinks and sources. */
const DEVICE_BEGINNING = {
  index: ownIndex,
  name: text,
  description: excerpt,
  sampleSpec,
  channelMap,
  ownerModule: index,
  /** The raw volume of each channel: 0x10000 is 100 % (volume.ts). */
  volume: volumes,
  muted: bool,
};

/** The last fields of sinks and sources. */
const DEVICE_END = {
  latency: usec,
  driver: excerpt,
  flags: u32,
  props,
  configuredLatency: usec,
  baseVolume: volume,
  /** 0 running, 1 idle, 2 suspended; undefined if the state is unknown. */
  state: index,
  volumeSteps: u32,
  card: index,
  ports: listAfterU32(record(PORT_INFO)),
  /** An excerpt, because it is only published. */
  activePort: excerpt,
  formats: listAfterU8(format),
};

export const SINK_INFO = {
  ...DEVICE_BEGINNING,
  monitorSource: index,
  monitorSourceName: excerpt,
  ...DEVICE_END,
};

export const SOURCE_INFO = {
  ...DEVICE_BEGINNING,
  /** The sink whose sound the source captures; undefined for a source that is no monitor. */
  monitorOfSink: index,
  monitorOfSinkName: excerpt,
  ...DEVICE_END,
};

export const SINK_INPUT_INFO = {
  index: ownIndex,
  name: excerpt,
  ownerModule: index,
  client: index,
  sink: index,
  sampleSpec,
  channelMap,
  /** The raw volume of each channel. It has a meaning only if `hasVolume` is true. */
  volume: volumes,
  bufferLatency: usec,
  sinkLatency: usec,
  resampleMethod: excerpt,
  driver: excerpt,
  muted: bool,
  props,
  corked: bool,
  hasVolume: bool,
  volumeWritable: bool,
  format,
};

/** A stream that captures a source. */
export const SOURCE_OUTPUT_INFO = {
  index: ownIndex,
  name: excerpt,
  ownerModule: index,
  client: index,
  source: index,
  sampleSpec,
  channelMap,
  bufferLatency: usec,
  sourceLatency: usec,
  resampleMethod: excerpt,
  driver: excerpt,
  props,
  corked: bool,
  volume: volumes,
  muted: bool,
  hasVolume: bool,
  volumeWritable: bool,
  format,
};

export const MODULE_INFO = {
  index: ownIndex,
  name: text,
  /** A whole text, because the argument shows whether the daemon has loaded the module. */
  argument: optionalText,
  /** How many streams or devices use the module; undefined if that is unknown. */
  used: index,
  props,
};

/** The reply to CREATE_RECORD_STREAM, with what the server has chosen. */
export const RECORD_STREAM_REPLY = {
  /** The stream's index, by which further commands name it. It is also the channel of its audio data. */
  stream: u32,
  sourceOutput: index,
  /** Size of the server's buffer, in bytes. */
  maxLength: u32,
  /** The server sends the sound in fragments of this many bytes. */
  fragmentLength: u32,
  sampleSpec,
  channelMap,
  source: index,
  sourceName: excerpt,
  suspended: bool,
  latency: usec,
  format,
};

/** The reply to CREATE_PLAYBACK_STREAM, with what the server has chosen. */
export const PLAYBACK_STREAM_REPLY = {
  /** The stream's index, by which further commands name it. */
  stream: u32,
  sinkInput: index,
  /** The number of bytes that the server wants now. */
  missing: u32,
  maxLength: u32,
  targetLength: u32,
  prebuffering: u32,
  minimumRequest: u32,
  sampleSpec,
  channelMap,
  sink: index,
  sinkName: excerpt,
  suspended: bool,
  latency: usec,
  format,
};

export const CARD_PROFILE = {
  /** A whole text, because it is sent back to the server. */
  name: optionalText,
  description: excerpt,
  /** How many sinks and sources the profile makes. */
  sinks: u32,
  sources: u32,
  priority: u32,
  /** 0 if the server knows that the profile cannot be used now, else 1. */
  available: u32,
};

export const CARD_PORT = {
  name: excerpt,
  description: excerpt,
  priority: u32,
  /** 0 unknown, 1 no, 2 yes. */
  available: u32,
  /** 1 output, 2 input. */
  direction: u8,
  props,
  /** The names of the profiles that have the port. */
  profiles: listAfterU32(optionalText),
  latencyOffset: s64,
  availabilityGroup: since(34, excerpt),
  type: since(34, u32),
};

export const CARD_INFO = {
  index: ownIndex,
  /** A whole text; undefined in older versions of PipeWire for a device without a name. */
  name: optionalText,
  ownerModule: index,
  driver: excerpt,
  profiles: listAfterU32(record(CARD_PROFILE)),
  /** A whole text, because it is compared with the names of profiles. */
  activeProfile: optionalText,
  props,
  ports: listAfterU32(record(CARD_PORT)),
};

export type ServerInfo = RecordOf<typeof SERVER_INFO>;
export type SinkInfo = RecordOf<typeof SINK_INFO>;
export type SourceInfo = RecordOf<typeof SOURCE_INFO>;
export type SinkInputInfo = RecordOf<typeof SINK_INPUT_INFO>;
export type ModuleInfo = RecordOf<typeof MODULE_INFO>;
export type SourceOutputInfo = RecordOf<typeof SOURCE_OUTPUT_INFO>;
export type CardInfo = RecordOf<typeof CARD_INFO>;

export const serverInfo = record(SERVER_INFO);
export const sinkInfo = record(SINK_INFO);
export const sourceInfo = record(SOURCE_INFO);
export const sinkInputInfo = record(SINK_INPUT_INFO);
export const sourceOutputInfo = record(SOURCE_OUTPUT_INFO);
export const moduleInfo = record(MODULE_INFO);
export const cardInfo = record(CARD_INFO);
export const recordStreamReply = record(RECORD_STREAM_REPLY);
export const playbackStreamReply = record(PLAYBACK_STREAM_REPLY);
