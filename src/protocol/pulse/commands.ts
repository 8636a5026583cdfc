// Which commands of the sound server are in use, and which arguments and reply each has. How they are written
// and read follows from these tables.

import {
  acknowledgement,
  bool,
  byIndex,
  bytes,
  channelMap,
  formats,
  index,
  listToEnd,
  props,
  type Readable,
  record,
  sampleSpec,
  text,
  u32,
  volumes,
  type Writable,
} from './fields.js';
import {
  cardInfo,
  moduleInfo,
  playbackStreamReply,
  recordStreamReply,
  serverInfo,
  sinkInfo,
  sinkInputInfo,
  sourceInfo,
  sourceOutputInfo,
} from './records.js';
import type { Writer } from './writer.js';

/**
 * Arguments in wire order, by name. Their type is `Writable<never>`, because all kinds can be assigned to
 * it: `Writable<number>` as well as `Writable<boolean>`.
 */
export type CommandArguments = Readonly<Record<string, Writable<never>>>;
/** The type of an argument's value: `typeof u32` makes `number`. */
type ArgumentValue<Kind> = Kind extends Writable<infer Value> ? Value : never;

/**
 * The values of arguments: `{ index: typeof u32, muted: typeof bool }` makes
 * `{ index: number, muted: boolean }`.
 */
type ValuesOf<Args extends CommandArguments> = { readonly [Name in keyof Args]: ArgumentValue<Args[Name]> };

interface RequestSpec<ArgValues, ReplyValue> {
  readonly code: number;
  readonly args: CommandArguments;
  readonly reply: Readable<ReplyValue>;
  write(writer: Writer, values: ArgValues): void;
}

function request<const Args extends CommandArguments, ReplyValue>(
  code: number,
  args: Args,
  reply: Readable<ReplyValue>,
): RequestSpec<ValuesOf<Args>, ReplyValue> {
  const argumentKinds = Object.entries(args) as [keyof Args, Writable<unknown>][];
  return {
    code,
    args,
    reply,
    write: (writer, values) => {
      for (const [name, kind] of argumentKinds) kind.write(writer, values[name]);
    },
  };
}

/** The requests that open a connection; only the session sends these. */
export const HANDSHAKE = {
  AUTH: request(8, { version: u32, cookie: bytes }, record({ version: u32 })),
  SET_CLIENT_NAME: request(9, { props }, record({ clientIndex: index })),
};

const STREAM_FLAGS = {
  noRemap: bool,
  noRemix: bool,
  fixFormat: bool,
  fixRate: bool,
  fixChannels: bool,
  /** If true, the stream ends with its sink or source instead of moving to another one. */
  noMove: bool,
  variableRate: bool,
};

/** A stream from a source to us. The channel of its audio data is the stream's index (frame.ts). */
const RECORD_STREAM_ARGUMENTS = {
  sampleSpec,
  channelMap,
  source: byIndex,
  /**
   * Size of the server's buffer, in bytes. Sizes have the kind `index`, because a size may be undefined, and
   * the server then chooses it.
   */
  maxLength: index,
  corked: bool,
  /** Size of one fragment, in bytes. */
  fragmentLength: index,
  ...STREAM_FLAGS,
  /** If true, the rate is lowered by sending only the peak of several samples, not by filtering them. */
  peakDetect: bool,
  adjustLatency: bool,
  props,
  /** If defined, only the sound of this sink input is recorded. */
  directOnInput: index,
  earlyRequests: bool,
  /** If true, the source may be suspended although the stream is open. */
  noInhibitAutoSuspend: bool,
  failOnSuspend: bool,
  formats,
  volume: volumes,
  muted: bool,
  /** If false, the server ignores `volume`. */
  volumeSet: bool,
  /** If false, the server ignores `muted`. */
  mutedSet: bool,
  relativeVolume: bool,
  passthrough: bool,
};

/** A stream from us to a sink. Streams with the same `syncId` start together. */
const PLAYBACK_STREAM_ARGUMENTS = {
  sampleSpec,
  channelMap,
  sink: byIndex,
  maxLength: index,
  corked: bool,
  /** How full the server keeps its buffer, in bytes. */
  targetLength: index,
  /** How full the buffer must be before the stream begins to play, in bytes. */
  prebuffering: index,
  /** The server requests at least this many bytes at a time. */
  minimumRequest: index,
  syncId: u32,
  volume: volumes,
  ...STREAM_FLAGS,
  muted: bool,
  adjustLatency: bool,
  props,
  volumeSet: bool,
  earlyRequests: bool,
  mutedSet: bool,
  noInhibitAutoSuspend: bool,
  failOnSuspend: bool,
  relativeVolume: bool,
  passthrough: bool,
  formats,
};

/** The arguments that have the same value in all record streams and playback streams that we create. */
export const SIMPLE_STREAM = {
  maxLength: undefined,
  noRemap: false,
  noRemix: false,
  fixFormat: false,
  fixRate: false,
  fixChannels: false,
  variableRate: false,
  earlyRequests: false,
  failOnSuspend: false,
  formats: [],
  muted: false,
  volumeSet: false,
  mutedSet: false,
  relativeVolume: false,
  passthrough: false,
};

/** The requests that are allowed once the session is ready. */
export const REQUESTS = {
  CREATE_PLAYBACK_STREAM: request(3, PLAYBACK_STREAM_ARGUMENTS, playbackStreamReply),
  CREATE_RECORD_STREAM: request(5, RECORD_STREAM_ARGUMENTS, recordStreamReply),
  DELETE_RECORD_STREAM: request(6, { stream: u32 }, acknowledgement),
  GET_SERVER_INFO: request(20, {}, serverInfo),
  GET_SINK_INFO: request(21, { index: byIndex }, sinkInfo),
  GET_SINK_INFO_LIST: request(22, {}, listToEnd(sinkInfo)),
  GET_SOURCE_INFO: request(23, { index: byIndex }, sourceInfo),
  GET_SOURCE_INFO_LIST: request(24, {}, listToEnd(sourceInfo)),
  GET_MODULE_INFO: request(25, { index: u32 }, moduleInfo),
  GET_MODULE_INFO_LIST: request(26, {}, listToEnd(moduleInfo)),
  GET_SINK_INPUT_INFO: request(29, { index: u32 }, sinkInputInfo),
  GET_SINK_INPUT_INFO_LIST: request(30, {}, listToEnd(sinkInputInfo)),
  GET_SOURCE_OUTPUT_INFO_LIST: request(32, {}, listToEnd(sourceOutputInfo)),
  SUBSCRIBE: request(35, { mask: u32 }, acknowledgement),
  SET_SINK_VOLUME: request(36, { index: byIndex, volume: volumes }, acknowledgement),
  SET_SINK_INPUT_VOLUME: request(37, { index: u32, volume: volumes }, acknowledgement),
  SET_SOURCE_VOLUME: request(38, { index: byIndex, volume: volumes }, acknowledgement),
  SET_SINK_MUTE: request(39, { index: byIndex, muted: bool }, acknowledgement),
  SET_SOURCE_MUTE: request(40, { index: byIndex, muted: bool }, acknowledgement),
  SET_DEFAULT_SINK: request(44, { name: text }, acknowledgement),
  SET_DEFAULT_SOURCE: request(45, { name: text }, acknowledgement),
  SET_PLAYBACK_STREAM_NAME: request(46, { stream: u32, name: text }, acknowledgement),
  /** The module stays when the connection that has loaded it ends. */
  LOAD_MODULE: request(51, { name: text, argument: text }, record({ index: u32 })),
  /**
   * If a module ends, PipeWire gives its index to the next one that is loaded. So a caller must first read
   * whether the index is still that of the same module.
   */
  UNLOAD_MODULE: request(52, { index: u32 }, acknowledgement),
  MOVE_SINK_INPUT: request(67, { index: u32, sink: byIndex }, acknowledgement),
  SET_SINK_INPUT_MUTE: request(69, { index: u32, muted: bool }, acknowledgement),
  GET_CARD_INFO: request(88, { index: byIndex }, cardInfo),
  GET_CARD_INFO_LIST: request(89, {}, listToEnd(cardInfo)),
  SET_CARD_PROFILE: request(90, { index: byIndex, profile: text }, acknowledgement),
  SET_SINK_PORT: request(96, { index: byIndex, port: text }, acknowledgement),
  SET_SOURCE_PORT: request(97, { index: byIndex, port: text }, acknowledgement),
};

/** The messages of the server that a session handles, with their numbers. */
export const FROM_SERVER = {
  ERROR: 0,
  REPLY: 2,
  /** The server has ended a record stream: its source is gone, or a client has requested the end. */
  RECORD_STREAM_KILLED: 65,
  SUBSCRIBE_EVENT: 66,
} as const;

/**
 * Other messages that the server may send. None of them is needed: the daemon has only record streams, for
 * which audio data and `RECORD_STREAM_KILLED` are enough. `tonearm bench` has a playback stream, but this
 * stream is always corked, so its messages do not matter.
 */
export const IGNORED_FROM_SERVER: ReadonlySet<number> = new Set(
  Object.values({
    PLAYBACK_STREAM_REQUEST: 61,
    PLAYBACK_STREAM_KILLED: 64,
    PLAYBACK_STREAM_SUSPENDED: 76,
    RECORD_STREAM_SUSPENDED: 77,
    PLAYBACK_STREAM_MOVED: 78,
    RECORD_STREAM_MOVED: 79,
    /** A policy module of the server sends it to a client. */
    CLIENT_EVENT: 91,
    PLAYBACK_STREAM_EVENT: 92,
    RECORD_STREAM_EVENT: 93,
    PLAYBACK_BUFFER_CHANGED: 94,
    RECORD_BUFFER_CHANGED: 95,
  }),
);

export type RequestName = keyof typeof REQUESTS;
export type HandshakeName = keyof typeof HANDSHAKE;
export type CommandName = RequestName | HandshakeName;

type AllRequests = typeof REQUESTS & typeof HANDSHAKE;
/** The arguments of each command: `SET_SINK_MUTE` has `{ index: number, muted: boolean }`. */
type ArgsByName = {
  [C in CommandName]: AllRequests[C] extends RequestSpec<infer ArgValues, unknown> ? ArgValues : never;
};

/** The value of each command's reply: that of `GET_SINK_INFO` is `SinkInfo`. */
type ReplyByName = {
  [C in CommandName]: AllRequests[C]['reply'] extends Readable<infer ReplyValue> ? ReplyValue : never;
};

export type RequestArgs<C extends CommandName> = ArgsByName[C];
export type Reply<C extends CommandName> = ReplyByName[C];

type CommandTable = { readonly [C in CommandName]: RequestSpec<ArgsByName[C], ReplyByName[C]> };
/** Both tables in one. The compiler accepts a command only with its own arguments and reply. */
export const COMMANDS: CommandTable = { ...HANDSHAKE, ...REQUESTS };

/**
 * Adds a command's frame to the writer, and returns the reader of its reply. Throws WireError, and adds
 * nothing, if an argument does not fit the wire.
 */
export function writeCommand<C extends CommandName>(
  writer: Writer,
  command: C,
  tag: number,
  args: RequestArgs<C>,
): Readable<Reply<C>> {
  const { code, write, reply } = COMMANDS[command];
  // If one of these calls throws, the writer drops the unfinished frame.
  writer.begin(code, tag);
  write(writer, args);
  writer.end();
  return reply;
}
