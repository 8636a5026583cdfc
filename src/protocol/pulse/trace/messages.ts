// The names of all commands of the protocol (PulseAudio 17: native-common.h), and the fields of those that the daemon uses, in wire order, by
// its own tables: the values of all others are shown by their types, which stand on the wire.

import { type Arguments, COMMANDS, type CommandName, type FROM_SERVER } from '../commands.js';
import { byIndex } from '../fields.js';
import * as records from '../records.js';
import { NAMINGS, type Naming } from './values.js';

export interface Field {
  readonly name: string;
  /** The protocol version that introduced it; absent if all have it. */
  readonly since?: number;
  readonly as?: Naming | undefined;
  /** It is a list, after its count or to the end of the message. */
  readonly list?: 'counted' | 'open';
  /** For a list of records: their fields. */
  readonly of?: Fields;
}

export type Fields = readonly Field[];

/** The knowledge about fields that the daemon's table lacks, by their names. */
type Known = Readonly<Record<string, Omit<Field, 'name'>>>;

/** The fields of a table of the daemon's. An object that a request selects has its index and its name, of which one is used. */
function fieldsOf(table: Arguments | Readonly<Record<string, object>>, known: Known = {}): Fields {
  return Object.entries(table).flatMap(([name, kind]) => {
    const since = 'since' in kind && typeof kind.since === 'number' ? { since: kind.since } : {};
    const field = { name, ...since, ...known[name] };
    return kind === byIndex ? [field, { name: name === 'index' ? 'name' : `${name}Name` }] : [field];
  });
}

const LIST = { list: 'counted' } as const;
const AVAILABLE = { available: { as: NAMINGS.available } };

const PORT = fieldsOf(records.PORT_INFO, AVAILABLE);
const SINK = fieldsOf(records.SINK_INFO, {
  ...{ state: { as: NAMINGS.deviceState }, ports: { ...LIST, of: PORT }, formats: LIST },
});
const SINK_INPUT = fieldsOf(records.SINK_INPUT_INFO);
const PROFILE = fieldsOf(records.CARD_PROFILE);
const CARD_PORT = fieldsOf(records.CARD_PORT, { ...AVAILABLE, profiles: LIST });
const CARD = fieldsOf(records.CARD_INFO, {
  ...{ profiles: { ...LIST, of: PROFILE }, ports: { ...LIST, of: CARD_PORT } },
});

const VERSION = { version: { as: NAMINGS.protocolVersion } };
const IN_REQUESTS: Known = { ...VERSION, mask: { as: NAMINGS.facilities }, formats: LIST };

const everyOf = (name: string, of: Fields): Fields => [{ name, list: 'open', of }];

const REPLIES: Readonly<Partial<Record<string, Fields>>> = {
  AUTH: [{ name: 'version', ...VERSION.version }],
  SET_CLIENT_NAME: [{ name: 'clientIndex' }],
  CREATE_PLAYBACK_STREAM: fieldsOf(records.PLAYBACK_STREAM),
  CREATE_RECORD_STREAM: fieldsOf(records.RECORD_STREAM),
  /** Its `cookie` is no secret, but a random number that distinguishes one life of the server from the next. */
  GET_SERVER_INFO: fieldsOf(records.SERVER_INFO),
  GET_SINK_INFO: SINK,
  GET_SINK_INFO_LIST: everyOf('sinks', SINK),
  GET_SINK_INPUT_INFO: SINK_INPUT,
  GET_SINK_INPUT_INFO_LIST: everyOf('sinkInputs', SINK_INPUT),
  GET_CARD_INFO: CARD,
  GET_CARD_INFO_LIST: everyOf('cards', CARD),
} satisfies Partial<Record<CommandName, Fields>>;

const FROM_THE_SERVER: Readonly<Partial<Record<string, Fields>>> = {
  ERROR: [{ name: 'error', as: NAMINGS.fault }],
  RECORD_STREAM_KILLED: [{ name: 'stream' }],
  SUBSCRIBE_EVENT: [{ name: 'event', as: NAMINGS.event }, { name: 'index' }],
} satisfies Partial<Record<keyof typeof FROM_SERVER, Fields>>;

/** In the order of their numbers. */
const NAMES = `
  ERROR TIMEOUT REPLY CREATE_PLAYBACK_STREAM DELETE_PLAYBACK_STREAM CREATE_RECORD_STREAM DELETE_RECORD_STREAM EXIT AUTH SET_CLIENT_NAME
  LOOKUP_SINK LOOKUP_SOURCE DRAIN_PLAYBACK_STREAM STAT GET_PLAYBACK_LATENCY CREATE_UPLOAD_STREAM DELETE_UPLOAD_STREAM FINISH_UPLOAD_STREAM
  PLAY_SAMPLE REMOVE_SAMPLE GET_SERVER_INFO GET_SINK_INFO GET_SINK_INFO_LIST GET_SOURCE_INFO GET_SOURCE_INFO_LIST GET_MODULE_INFO
  GET_MODULE_INFO_LIST GET_CLIENT_INFO GET_CLIENT_INFO_LIST GET_SINK_INPUT_INFO GET_SINK_INPUT_INFO_LIST GET_SOURCE_OUTPUT_INFO
  GET_SOURCE_OUTPUT_INFO_LIST GET_SAMPLE_INFO GET_SAMPLE_INFO_LIST SUBSCRIBE SET_SINK_VOLUME SET_SINK_INPUT_VOLUME SET_SOURCE_VOLUME
  SET_SINK_MUTE SET_SOURCE_MUTE CORK_PLAYBACK_STREAM FLUSH_PLAYBACK_STREAM TRIGGER_PLAYBACK_STREAM SET_DEFAULT_SINK SET_DEFAULT_SOURCE
  SET_PLAYBACK_STREAM_NAME SET_RECORD_STREAM_NAME KILL_CLIENT KILL_SINK_INPUT KILL_SOURCE_OUTPUT LOAD_MODULE UNLOAD_MODULE ADD_AUTOLOAD
  REMOVE_AUTOLOAD GET_AUTOLOAD_INFO GET_AUTOLOAD_INFO_LIST GET_RECORD_LATENCY CORK_RECORD_STREAM FLUSH_RECORD_STREAM PREBUF_PLAYBACK_STREAM
  REQUEST OVERFLOW UNDERFLOW PLAYBACK_STREAM_KILLED RECORD_STREAM_KILLED SUBSCRIBE_EVENT MOVE_SINK_INPUT MOVE_SOURCE_OUTPUT
  SET_SINK_INPUT_MUTE SUSPEND_SINK SUSPEND_SOURCE SET_PLAYBACK_STREAM_BUFFER_ATTR SET_RECORD_STREAM_BUFFER_ATTR
  UPDATE_PLAYBACK_STREAM_SAMPLE_RATE UPDATE_RECORD_STREAM_SAMPLE_RATE PLAYBACK_STREAM_SUSPENDED RECORD_STREAM_SUSPENDED
  PLAYBACK_STREAM_MOVED RECORD_STREAM_MOVED UPDATE_RECORD_STREAM_PROPLIST UPDATE_PLAYBACK_STREAM_PROPLIST UPDATE_CLIENT_PROPLIST
  REMOVE_RECORD_STREAM_PROPLIST REMOVE_PLAYBACK_STREAM_PROPLIST REMOVE_CLIENT_PROPLIST STARTED EXTENSION GET_CARD_INFO GET_CARD_INFO_LIST
  SET_CARD_PROFILE CLIENT_EVENT PLAYBACK_STREAM_EVENT RECORD_STREAM_EVENT PLAYBACK_BUFFER_ATTR_CHANGED RECORD_BUFFER_ATTR_CHANGED
  SET_SINK_PORT SET_SOURCE_PORT SET_SOURCE_OUTPUT_VOLUME SET_SOURCE_OUTPUT_MUTE SET_PORT_LATENCY_OFFSET ENABLE_SRBCHANNEL DISABLE_SRBCHANNEL
  REGISTER_MEMFD_SHMID SEND_OBJECT_MESSAGE
`;

/** Each command at the index of its number. */
export const MESSAGES = NAMES.trim()
  .split(/\s+/)
  .map((name) => {
    const request: Arguments = Object.hasOwn(COMMANDS, name) ? COMMANDS[name as CommandName].args : {};
    const fields = FROM_THE_SERVER[name] ?? fieldsOf(request, IN_REQUESTS);
    return { name, fields, reply: REPLIES[name] ?? [] };
  });
