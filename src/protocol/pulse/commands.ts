// Lists the commands that we send to the sound server, and the messages that it may send. The tables decide
// how the arguments of a command are written, and how its reply is read.

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
 * The kinds of a command's arguments, by name and in wire order. The type `Writable<never>` accepts every
 * kind: `Writable<number>` as well as `Writable<boolean>`.
 */
export type CommandArguments = Readonly<Record<string, Writable<never>>>;
/** The type of an argument's value: `typeof u32` makes `number`. */
type ArgumentValue<Kind> = Kind extends Writable<infer Value> ? Value : never;

/**
 * The type of the values of arguments: `{ index: typeof u32, muted: typeof bool }` makes
 * `{ index: number, muted: boolean }`.
 */
type ValuesOf<Args extends CommandArguments> = { readonly [Name in keyof Args]: ArgumentValue<Args[Name]> };

interface CommandSpec<ArgValues, ReplyValue> {
  readonly code: number;
  readonly args: CommandArguments;
  readonly reply: Readable<ReplyValue>;
  write(writer: Writer, values: ArgValues): void;
}

function command<const Args extends CommandArguments, ReplyValue>(
  code: number,
  args: Args,
  reply: Readable<ReplyValue>,
): CommandSpec<ValuesOf<Args>, ReplyValue> {
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

/** The commands that open a connection. Only the session itself sends them. */
export const HANDSHAKE = {
  AUTH: command(8, { version: u32, cookie: bytes }, record({ version: u32 })),
  SET_CLIENT_NAME: command(9, { props }, record({ clientIndex: index })),
};

const STREAM_FLAGS = {
  noRemap: bool,
  noRemix: bool,
  fixFormat: bool,
  fixRate: bool,
  fixChannels: bool,
  /** If true, the stream ends when its sink or source disappears, and never moves to another one. */
  noMove: bool,
  variableRate: bool,
};

/**
 * A stream from a source to us. In a frame of its audio data, the channel is the stream's index (frame.ts).
 */
const RECORD_STREAM_ARGUMENTS = {
  sampleSpec,
  channelMap,
  source: byIndex,
  /**
   * Size of the server's buffer, in bytes. Sizes have the kind `index`, because a size may be undefined. The
   * server then chooses the size.
   */
  maxLength: index,
  corked: bool,
  /** Size of one fragment, in bytes. */
  fragmentLength: index,
  ...STREAM_FLAGS,
  /**
   * If true, the server lowers the rate: it replaces several samples by their peak, and does not filter them.
   */
  peakDetect: bool,
  adjustLatency: bool,
  props,
  /** If defined, only the sound of this sink input is recorded. */
  directOnInput: index,
  earlyRequests: bool,
  /** If true, the server may suspend the source although the stream is open. */
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

/** All other commands. The session accepts these requests from its callers after the handshake. */
export const REQUESTS = {
  CREATE_PLAYBACK_STREAM: command(3, PLAYBACK_STREAM_ARGUMENTS, playbackStreamReply),
  CREATE_RECORD_STREAM: command(5, RECORD_STREAM_ARGUMENTS, recordStreamReply),
  DELETE_RECORD_STREAM: command(6, { stream: u32 }, acknowledgement),
  GET_SERVER_INFO: command(20, {}, serverInfo),
  GET_SINK_INFO: command(21, { index: byIndex }, sinkInfo),
  GET_SINK_INFO_LIST: command(22, {}, listToEnd(sinkInfo)),
  GET_SOURCE_INFO: command(23, { index: byIndex }, sourceInfo),
  GET_SOURCE_INFO_LIST: command(24, {}, listToEnd(sourceInfo)),
  GET_MODULE_INFO: command(25, { index: u32 }, moduleInfo),
  GET_MODULE_INFO_LIST: command(26, {}, listToEnd(moduleInfo)),
  GET_SINK_INPUT_INFO: command(29, { index: u32 }, sinkInputInfo),
  GET_SINK_INPUT_INFO_LIST: command(30, {}, listToEnd(sinkInputInfo)),
  GET_SOURCE_OUTPUT_INFO_LIST: command(32, {}, listToEnd(sourceOutputInfo)),
  SUBSCRIBE: command(35, { mask: u32 }, acknowledgement),
  SET_SINK_VOLUME: command(36, { index: byIndex, volume: volumes }, acknowledgement),
  SET_SINK_INPUT_VOLUME: command(37, { index: u32, volume: volumes }, acknowledgement),
  SET_SOURCE_VOLUME: command(38, { index: byIndex, volume: volumes }, acknowledgement),
  SET_SINK_MUTE: command(39, { index: byIndex, muted: bool }, acknowledgement),
  SET_SOURCE_MUTE: command(40, { index: byIndex, muted: bool }, acknowledgement),
  SET_DEFAULT_SINK: command(44, { name: text }, acknowledgement),
  SET_DEFAULT_SOURCE: command(45, { name: text }, acknowledgement),
  SET_PLAYBACK_STREAM_NAME: command(46, { stream: u32, name: text }, acknowledgement),
  /** The module stays loaded after our connection has ended. */
  LOAD_MODULE: command(51, { name: text, argument: text }, record({ index: u32 })),
  /**
   * If a module ends, PipeWire gives its index to the next module that somebody loads. So a caller must first
   * check that the index still belongs to the same module.
   */
  UNLOAD_MODULE: command(52, { index: u32 }, acknowledgement),
  MOVE_SINK_INPUT: command(67, { index: u32, sink: byIndex }, acknowledgement),
  SET_SINK_INPUT_MUTE: command(69, { index: u32, muted: bool }, acknowledgement),
  GET_CARD_INFO: command(88, { index: byIndex }, cardInfo),
  GET_CARD_INFO_LIST: command(89, {}, listToEnd(cardInfo)),
  SET_CARD_PROFILE: command(90, { index: byIndex, profile: text }, acknowledgement),
  SET_SINK_PORT: command(96, { index: byIndex, port: text }, acknowledgement),
  SET_SOURCE_PORT: command(97, { index: byIndex, port: text }, acknowledgement),
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
    /** A policy module of the server sends this message. */
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

type AllCommands = typeof REQUESTS & typeof HANDSHAKE;
/** The arguments of each command: `SET_SINK_MUTE` has `{ index: number, muted: boolean }`. */
type ArgsByName = {
  [C in CommandName]: AllCommands[C] extends CommandSpec<infer ArgValues, unknown> ? ArgValues : never;
};

/** The value of each command's reply: that of `GET_SINK_INFO` is `SinkInfo`. */
type ReplyByName = {
  [C in CommandName]: AllCommands[C]['reply'] extends Readable<infer ReplyValue> ? ReplyValue : never;
};

export type RequestArgs<C extends CommandName> = ArgsByName[C];
export type Reply<C extends CommandName> = ReplyByName[C];

type CommandTable = { readonly [C in CommandName]: CommandSpec<ArgsByName[C], ReplyByName[C]> };
/** Both tables in one. The compiler accepts a command only with its own arguments and reply. */
export const COMMANDS: CommandTable = { ...HANDSHAKE, ...REQUESTS };

/**
 * Adds a command's frame to the writer. Returns the `Readable` that reads the reply. Throws WireError, and
 * adds nothing, if an argument does not fit the wire.
 */
export function writeCommand<C extends CommandName>(
  writer: Writer,
  name: C,
  tag: number,
  args: RequestArgs<C>,
): Readable<Reply<C>> {
  const { code, write, reply } = COMMANDS[name];
  // If one of these calls throws, the writer drops the unfinished frame.
  writer.begin(code, tag);
  write(writer, args);
  writer.end();
  return reply;
}
