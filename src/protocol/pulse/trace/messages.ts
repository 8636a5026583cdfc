// Table of all commands of the protocol, versions 32 to 35: number, name, fields of request and reply in wire order (PulseAudio 17:
// PROTOCOL, native-common.h, protocol-native.c). Records that the daemon reads too come from ../records.ts. Only a trace needs all this.

import { PLAYBACK_OPTIONS, RECORD_OPTIONS } from '../commands.js';
import {
  bool,
  counted,
  countedByte,
  everyOf,
  excerpt,
  index,
  props,
  record,
  s64,
  u32,
  usec,
  volume,
  volumes,
} from '../fields.js';
import {
  CARD_INFO,
  CARD_PORT,
  CARD_PROFILE,
  PLAYBACK_STREAM,
  PORT_INFO,
  RECORD_STREAM,
  SERVER_INFO,
  SINK_INFO,
  SINK_INPUT_INFO,
} from '../records.js';
import {
  available,
  deviceState,
  encoding,
  event,
  type Fields,
  facilities,
  fault,
  nameList,
  positions,
  protocolVersion,
  samples,
  secret,
  time,
  u64,
  updateMode,
} from './kinds.js';

export interface Message {
  readonly name: string;
  readonly fields: Fields;
  readonly reply: Fields;
}

const SHAPE: Fields = { sampleSpec: samples, channelMap: positions };
const FORMATS = countedByte(encoding);
const PORTS = counted(record({ ...PORT_INFO, available }));

/** Its `cookie` is no secret, but a random number that distinguishes one life of the server from the next. */
const SERVER: Fields = { ...SERVER_INFO, ...SHAPE };

const SINK: Fields = {
  ...SINK_INFO,
  ...SHAPE,
  state: deviceState,
  ports: PORTS,
  formats: FORMATS,
};

const SOURCE: Fields = {
  index: u32,
  name: excerpt,
  description: excerpt,
  ...SHAPE,
  ownerModule: index,
  volume: volumes,
  muted: bool,
  monitorOfSink: index,
  monitorOfSinkName: excerpt,
  latency: usec,
  driver: excerpt,
  flags: u32,
  props,
  configuredLatency: usec,
  baseVolume: volume,
  state: deviceState,
  volumeSteps: u32,
  card: index,
  ports: PORTS,
  activePort: excerpt,
  formats: FORMATS,
};

const SINK_INPUT: Fields = { ...SINK_INPUT_INFO, ...SHAPE, format: encoding };

const SOURCE_OUTPUT: Fields = {
  index: u32,
  name: excerpt,
  ownerModule: index,
  client: index,
  source: index,
  ...SHAPE,
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
  format: encoding,
};

const MODULE: Fields = {
  index: u32,
  name: excerpt,
  argument: excerpt,
  used: index,
  props,
};

const CLIENT: Fields = {
  index: u32,
  name: excerpt,
  ownerModule: index,
  driver: excerpt,
  props,
};

const SAMPLE: Fields = {
  index: u32,
  name: excerpt,
  volume: volumes,
  duration: usec,
  ...SHAPE,
  length: u32,
  lazy: bool,
  filename: excerpt,
  props,
};

const CARD: Fields = {
  ...CARD_INFO,
  profiles: counted(record(CARD_PROFILE)),
  ports: counted(record({ ...CARD_PORT, available })),
};

/** The wire has both fields for an object with a name; a request uses one of them. */
const OBJECT: Fields = { index, name: excerpt };
const STREAM: Fields = { stream: u32 };

/** libpulse's buffer attributes, in bytes; all ones means that the server chooses. */
const PLAYBACK_BUFFER: Fields = {
  maxLength: index,
  targetLength: index,
  prebuffering: index,
  minimumRequest: index,
};
const RECORD_BUFFER: Fields = { maxLength: index, fragmentLength: index };

/** The wire has both index and name of a sink or source. An override keeps the place of what it replaces. */
const CREATE_PLAYBACK: Fields = {
  ...SHAPE,
  ...{ sink: index, sinkName: excerpt },
  ...PLAYBACK_OPTIONS,
  formats: FORMATS,
};
const CREATE_RECORD: Fields = {
  ...SHAPE,
  ...{ source: index, sourceName: excerpt },
  ...RECORD_OPTIONS,
  formats: FORMATS,
};

const PLAYBACK_CREATED: Fields = { ...PLAYBACK_STREAM, ...SHAPE, format: encoding };
const RECORD_CREATED: Fields = { ...RECORD_STREAM, ...SHAPE, format: encoding };

const TIMING: Fields = { ...STREAM, sent: time };
const TIMED: Fields = {
  sinkLatency: usec,
  sourceLatency: usec,
  running: bool,
  sent: time,
  answered: time,
  writeIndex: s64,
  readIndex: s64,
};

const ADJUST: Fields = { adjustLatency: bool, earlyRequests: bool };

const message = (name: string, fields: Fields = {}, reply: Fields = {}): Message => ({ name, fields, reply });
const list = (name: string, of: Fields): Fields => ({ [name]: everyOf(record(of)) });

/** Each command at the index of its number. */
export const MESSAGES: readonly Message[] = [
  message('ERROR', { error: fault }),
  message('TIMEOUT'),
  message('REPLY'),
  message('CREATE_PLAYBACK_STREAM', CREATE_PLAYBACK, PLAYBACK_CREATED),
  message('DELETE_PLAYBACK_STREAM', STREAM),
  message('CREATE_RECORD_STREAM', CREATE_RECORD, RECORD_CREATED),
  message('DELETE_RECORD_STREAM', STREAM),
  message('EXIT'),
  message('AUTH', { version: protocolVersion, cookie: secret }, { version: protocolVersion }),
  message('SET_CLIENT_NAME', { props }, { clientIndex: index }),
  message('LOOKUP_SINK', { name: excerpt }, { index }),
  message('LOOKUP_SOURCE', { name: excerpt }, { index }),
  message('DRAIN_PLAYBACK_STREAM', STREAM),
  message(
    'STAT',
    {},
    {
      blocks: u32,
      blockBytes: u32,
      blocksEver: u32,
      blockBytesEver: u32,
      sampleBytes: u32,
    },
  ),
  message('GET_PLAYBACK_LATENCY', TIMING, {
    ...TIMED,
    underrunFor: u64,
    playingFor: u64,
  }),
  message(
    'CREATE_UPLOAD_STREAM',
    { name: excerpt, ...SHAPE, length: u32, props: props },
    { stream: u32, length: u32 },
  ),
  message('DELETE_UPLOAD_STREAM', STREAM),
  message('FINISH_UPLOAD_STREAM', STREAM),
  message(
    'PLAY_SAMPLE',
    { sink: index, sinkName: excerpt, volume: index, name: excerpt, props: props },
    { sinkInput: index },
  ),
  message('REMOVE_SAMPLE', { name: excerpt }),
  message('GET_SERVER_INFO', {}, SERVER),
  message('GET_SINK_INFO', OBJECT, SINK),
  message('GET_SINK_INFO_LIST', {}, list('sinks', SINK)),
  message('GET_SOURCE_INFO', OBJECT, SOURCE),
  message('GET_SOURCE_INFO_LIST', {}, list('sources', SOURCE)),
  message('GET_MODULE_INFO', { index }, MODULE),
  message('GET_MODULE_INFO_LIST', {}, list('modules', MODULE)),
  message('GET_CLIENT_INFO', { index }, CLIENT),
  message('GET_CLIENT_INFO_LIST', {}, list('clients', CLIENT)),
  message('GET_SINK_INPUT_INFO', { index }, SINK_INPUT),
  message('GET_SINK_INPUT_INFO_LIST', {}, list('sinkInputs', SINK_INPUT)),
  message('GET_SOURCE_OUTPUT_INFO', { index }, SOURCE_OUTPUT),
  message('GET_SOURCE_OUTPUT_INFO_LIST', {}, list('sourceOutputs', SOURCE_OUTPUT)),
  message('GET_SAMPLE_INFO', OBJECT, SAMPLE),
  message('GET_SAMPLE_INFO_LIST', {}, list('samples', SAMPLE)),
  message('SUBSCRIBE', { mask: facilities }),
  message('SET_SINK_VOLUME', { ...OBJECT, volume: volumes }),
  message('SET_SINK_INPUT_VOLUME', { index, volume: volumes }),
  message('SET_SOURCE_VOLUME', { ...OBJECT, volume: volumes }),
  message('SET_SINK_MUTE', { ...OBJECT, muted: bool }),
  message('SET_SOURCE_MUTE', { ...OBJECT, muted: bool }),
  message('CORK_PLAYBACK_STREAM', { ...STREAM, corked: bool }),
  message('FLUSH_PLAYBACK_STREAM', STREAM),
  message('TRIGGER_PLAYBACK_STREAM', STREAM),
  message('SET_DEFAULT_SINK', { name: excerpt }),
  message('SET_DEFAULT_SOURCE', { name: excerpt }),
  message('SET_PLAYBACK_STREAM_NAME', { ...STREAM, name: excerpt }),
  message('SET_RECORD_STREAM_NAME', { ...STREAM, name: excerpt }),
  message('KILL_CLIENT', { index }),
  message('KILL_SINK_INPUT', { index }),
  message('KILL_SOURCE_OUTPUT', { index }),
  message('LOAD_MODULE', { name: excerpt, argument: excerpt }, { index }),
  message('UNLOAD_MODULE', { index }),
  // Removed from both sides in 0.9.15, and their fields from the documents.
  message('ADD_AUTOLOAD'),
  message('REMOVE_AUTOLOAD'),
  message('GET_AUTOLOAD_INFO'),
  message('GET_AUTOLOAD_INFO_LIST'),
  message('GET_RECORD_LATENCY', TIMING, TIMED),
  message('CORK_RECORD_STREAM', { ...STREAM, corked: bool }),
  message('FLUSH_RECORD_STREAM', STREAM),
  message('PREBUF_PLAYBACK_STREAM', STREAM),
  message('REQUEST', { ...STREAM, bytes: u32 }),
  message('OVERFLOW', STREAM),
  message('UNDERFLOW', { ...STREAM, at: s64 }),
  message('PLAYBACK_STREAM_KILLED', STREAM),
  message('RECORD_STREAM_KILLED', STREAM),
  message('SUBSCRIBE_EVENT', { event, index }),
  message('MOVE_SINK_INPUT', { index, sink: index, sinkName: excerpt }),
  message('MOVE_SOURCE_OUTPUT', { index, source: index, sourceName: excerpt }),
  message('SET_SINK_INPUT_MUTE', { index, muted: bool }),
  message('SUSPEND_SINK', { ...OBJECT, suspended: bool }),
  message('SUSPEND_SOURCE', { ...OBJECT, suspended: bool }),
  message(
    'SET_PLAYBACK_STREAM_BUFFER_ATTR',
    { ...STREAM, ...PLAYBACK_BUFFER, ...ADJUST },
    { ...PLAYBACK_BUFFER, latency: usec },
  ),
  message(
    'SET_RECORD_STREAM_BUFFER_ATTR',
    { ...STREAM, ...RECORD_BUFFER, ...ADJUST },
    { ...RECORD_BUFFER, latency: usec },
  ),
  message('UPDATE_PLAYBACK_STREAM_SAMPLE_RATE', { ...STREAM, rate: u32 }),
  message('UPDATE_RECORD_STREAM_SAMPLE_RATE', { ...STREAM, rate: u32 }),
  message('PLAYBACK_STREAM_SUSPENDED', { ...STREAM, suspended: bool }),
  message('RECORD_STREAM_SUSPENDED', { ...STREAM, suspended: bool }),
  message('PLAYBACK_STREAM_MOVED', {
    ...STREAM,
    ...{ sink: index, sinkName: excerpt, suspended: bool },
    ...PLAYBACK_BUFFER,
    latency: usec,
  }),
  message('RECORD_STREAM_MOVED', {
    ...STREAM,
    ...{ source: index, sourceName: excerpt, suspended: bool },
    ...RECORD_BUFFER,
    latency: usec,
  }),
  message('UPDATE_RECORD_STREAM_PROPLIST', { ...STREAM, mode: updateMode, props }),
  message('UPDATE_PLAYBACK_STREAM_PROPLIST', { ...STREAM, mode: updateMode, props }),
  message('UPDATE_CLIENT_PROPLIST', { mode: updateMode, props }),
  message('REMOVE_RECORD_STREAM_PROPLIST', { ...STREAM, keys: nameList }),
  message('REMOVE_PLAYBACK_STREAM_PROPLIST', { ...STREAM, keys: nameList }),
  message('REMOVE_CLIENT_PROPLIST', { keys: nameList }),
  message('STARTED', STREAM),
  // The module's own fields follow.
  message('EXTENSION', { module: index, moduleName: excerpt }),
  message('GET_CARD_INFO', OBJECT, CARD),
  message('GET_CARD_INFO_LIST', {}, list('cards', CARD)),
  message('SET_CARD_PROFILE', { ...OBJECT, profile: excerpt }),
  message('CLIENT_EVENT', { name: excerpt, props }),
  message('PLAYBACK_STREAM_EVENT', { ...STREAM, name: excerpt, props }),
  message('RECORD_STREAM_EVENT', { ...STREAM, name: excerpt, props }),
  message('PLAYBACK_BUFFER_ATTR_CHANGED', { ...STREAM, ...PLAYBACK_BUFFER, latency: usec }),
  message('RECORD_BUFFER_ATTR_CHANGED', { ...STREAM, ...RECORD_BUFFER, latency: usec }),
  message('SET_SINK_PORT', { ...OBJECT, port: excerpt }),
  message('SET_SOURCE_PORT', { ...OBJECT, port: excerpt }),
  message('SET_SOURCE_OUTPUT_VOLUME', { index, volume: volumes }),
  message('SET_SOURCE_OUTPUT_MUTE', { index, muted: bool }),
  message('SET_PORT_LATENCY_OFFSET', { ...OBJECT, port: excerpt, offset: s64 }),
  message('ENABLE_SRBCHANNEL'),
  message('DISABLE_SRBCHANNEL'),
  message('REGISTER_MEMFD_SHMID', { id: u32 }),
  message(
    'SEND_OBJECT_MESSAGE',
    { path: excerpt, message: excerpt, parameters: excerpt },
    { response: excerpt },
  ),
];
