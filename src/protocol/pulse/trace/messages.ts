// Table of all commands of the protocol, versions 32 to 35: number, name, fields of request and reply in wire order (PulseAudio 17:
// PROTOCOL, native-common.h, protocol-native.c). Types stand on the wire. Records that the daemon reads too are named as in ../records.ts.

import { PLAYBACK_OPTIONS, RECORD_OPTIONS } from '../commands.js';
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
  event,
  facilities,
  fault,
  type Naming,
  protocolVersion,
  updateMode,
} from './values.js';

export interface Field {
  readonly name: string;
  /** The protocol version that introduced it; absent if all have it. */
  readonly since?: number;
  readonly as?: Naming;
  /** It is a list, after its count or to the end of the message. */
  readonly list?: 'counted' | 'to the end';
  /** The fields of the records of a list; absent where it has plain values. */
  readonly of?: readonly Field[];
}

type Fields = readonly Field[];

export interface Message {
  readonly name: string;
  readonly fields: Fields;
  readonly reply: Fields;
}

/** A text has the names of plain fields. */
type Part = string | Field | Fields;

function fieldsOf(...parts: readonly Part[]): Fields {
  return parts.flatMap((part): Fields => {
    if (typeof part === 'string') return (part.match(/\S+/g) ?? []).map((name) => ({ name }));
    return 'name' in part ? [part] : part;
  });
}

/** The fields of a table of the daemon's; `more` has what is more than a name. */
function like(
  table: Readonly<Record<string, object>>,
  more: Readonly<Record<string, Omit<Field, 'name'>>> = {},
): Fields {
  return Object.entries(table).map(([name, kind]) => {
    const since = 'since' in kind && typeof kind.since === 'number' ? { since: kind.since } : {};
    return { name, ...since, ...more[name] };
  });
}

const PORTS = { list: 'counted', of: like(PORT_INFO, { available: { as: available } }) } as const;
const PLAIN_LIST = { list: 'counted' } as const;
const STATE = { as: deviceState } as const;

/** Its `cookie` is no secret, but a random number that distinguishes one life of the server from the next. */
const SERVER = like(SERVER_INFO);
const SINK_INPUT = like(SINK_INPUT_INFO);
const SINK = like(SINK_INFO, { state: STATE, ports: PORTS, formats: PLAIN_LIST });
const SOURCE = fieldsOf(
  'index name description sampleSpec channelMap ownerModule volume muted monitorOfSink monitorOfSinkName',
  'latency driver flags props configuredLatency baseVolume',
  { name: 'state', ...STATE },
  'volumeSteps card',
  { name: 'ports', ...PORTS },
  'activePort',
  { name: 'formats', ...PLAIN_LIST },
);
const SOURCE_OUTPUT = fieldsOf(
  'index name ownerModule client source sampleSpec channelMap bufferLatency sourceLatency resampleMethod driver',
  'props corked volume muted hasVolume volumeWritable format',
);
const MODULE = 'index name argument used props';
const CLIENT = 'index name ownerModule driver props';
const SAMPLE = 'index name volume duration sampleSpec channelMap length lazy filename props';
const CARD = like(CARD_INFO, {
  profiles: { list: 'counted', of: like(CARD_PROFILE) },
  ports: { list: 'counted', of: like(CARD_PORT, { available: { as: available }, profiles: PLAIN_LIST }) },
});

/** The wire has both fields for an object with a name; a request uses one of them. */
const OBJECT = 'index name';
/** libpulse's buffer attributes, in bytes; none means that the server chooses. */
const PLAYBACK_BUFFER = 'maxLength targetLength prebuffering minimumRequest';
const RECORD_BUFFER = 'maxLength fragmentLength';
const TIMED = 'sinkLatency sourceLatency running sent answered writeIndex readIndex';
const KEYS: Field = { name: 'keys', list: 'to the end' };
const MODE: Field = { name: 'mode', as: updateMode };
const VERSION: Field = { name: 'version', as: protocolVersion };

const message = (name: string, fields: Part = '', reply: Part = ''): Message => ({
  name,
  fields: fieldsOf(fields),
  reply: fieldsOf(reply),
});
const list = (name: string, of: Part): Field => ({ name, list: 'to the end', of: fieldsOf(of) });

/** Each command at the index of its number. */
export const MESSAGES: readonly Message[] = [
  message('ERROR', { name: 'error', as: fault }),
  message('TIMEOUT'),
  message('REPLY'),
  message(
    'CREATE_PLAYBACK_STREAM',
    fieldsOf('sampleSpec channelMap sink sinkName', like(PLAYBACK_OPTIONS, { formats: PLAIN_LIST })),
    like(PLAYBACK_STREAM),
  ),
  message('DELETE_PLAYBACK_STREAM', 'stream'),
  message(
    'CREATE_RECORD_STREAM',
    fieldsOf('sampleSpec channelMap source sourceName', like(RECORD_OPTIONS, { formats: PLAIN_LIST })),
    like(RECORD_STREAM),
  ),
  message('DELETE_RECORD_STREAM', 'stream'),
  message('EXIT'),
  message('AUTH', fieldsOf(VERSION, 'cookie'), VERSION),
  message('SET_CLIENT_NAME', 'props', 'clientIndex'),
  message('LOOKUP_SINK', 'name', 'index'),
  message('LOOKUP_SOURCE', 'name', 'index'),
  message('DRAIN_PLAYBACK_STREAM', 'stream'),
  message('STAT', '', 'blocks blockBytes blocksEver blockBytesEver sampleBytes'),
  message('GET_PLAYBACK_LATENCY', 'stream sent', fieldsOf(TIMED, 'underrunFor playingFor')),
  message('CREATE_UPLOAD_STREAM', 'name sampleSpec channelMap length props', 'stream length'),
  message('DELETE_UPLOAD_STREAM', 'stream'),
  message('FINISH_UPLOAD_STREAM', 'stream'),
  message('PLAY_SAMPLE', 'sink sinkName volume name props', 'sinkInput'),
  message('REMOVE_SAMPLE', 'name'),
  message('GET_SERVER_INFO', '', SERVER),
  message('GET_SINK_INFO', OBJECT, SINK),
  message('GET_SINK_INFO_LIST', '', list('sinks', SINK)),
  message('GET_SOURCE_INFO', OBJECT, SOURCE),
  message('GET_SOURCE_INFO_LIST', '', list('sources', SOURCE)),
  message('GET_MODULE_INFO', 'index', MODULE),
  message('GET_MODULE_INFO_LIST', '', list('modules', MODULE)),
  message('GET_CLIENT_INFO', 'index', CLIENT),
  message('GET_CLIENT_INFO_LIST', '', list('clients', CLIENT)),
  message('GET_SINK_INPUT_INFO', 'index', SINK_INPUT),
  message('GET_SINK_INPUT_INFO_LIST', '', list('sinkInputs', SINK_INPUT)),
  message('GET_SOURCE_OUTPUT_INFO', 'index', SOURCE_OUTPUT),
  message('GET_SOURCE_OUTPUT_INFO_LIST', '', list('sourceOutputs', SOURCE_OUTPUT)),
  message('GET_SAMPLE_INFO', OBJECT, SAMPLE),
  message('GET_SAMPLE_INFO_LIST', '', list('samples', SAMPLE)),
  message('SUBSCRIBE', { name: 'mask', as: facilities }),
  message('SET_SINK_VOLUME', 'index name volume'),
  message('SET_SINK_INPUT_VOLUME', 'index volume'),
  message('SET_SOURCE_VOLUME', 'index name volume'),
  message('SET_SINK_MUTE', 'index name muted'),
  message('SET_SOURCE_MUTE', 'index name muted'),
  message('CORK_PLAYBACK_STREAM', 'stream corked'),
  message('FLUSH_PLAYBACK_STREAM', 'stream'),
  message('TRIGGER_PLAYBACK_STREAM', 'stream'),
  message('SET_DEFAULT_SINK', 'name'),
  message('SET_DEFAULT_SOURCE', 'name'),
  message('SET_PLAYBACK_STREAM_NAME', 'stream name'),
  message('SET_RECORD_STREAM_NAME', 'stream name'),
  message('KILL_CLIENT', 'index'),
  message('KILL_SINK_INPUT', 'index'),
  message('KILL_SOURCE_OUTPUT', 'index'),
  message('LOAD_MODULE', 'name argument', 'index'),
  message('UNLOAD_MODULE', 'index'),
  // Removed from both sides in 0.9.15, and their fields from the documents.
  message('ADD_AUTOLOAD'),
  message('REMOVE_AUTOLOAD'),
  message('GET_AUTOLOAD_INFO'),
  message('GET_AUTOLOAD_INFO_LIST'),
  message('GET_RECORD_LATENCY', 'stream sent', TIMED),
  message('CORK_RECORD_STREAM', 'stream corked'),
  message('FLUSH_RECORD_STREAM', 'stream'),
  message('PREBUF_PLAYBACK_STREAM', 'stream'),
  message('REQUEST', 'stream bytes'),
  message('OVERFLOW', 'stream'),
  message('UNDERFLOW', 'stream at'),
  message('PLAYBACK_STREAM_KILLED', 'stream'),
  message('RECORD_STREAM_KILLED', 'stream'),
  message('SUBSCRIBE_EVENT', fieldsOf({ name: 'event', as: event }, 'index')),
  message('MOVE_SINK_INPUT', 'index sink sinkName'),
  message('MOVE_SOURCE_OUTPUT', 'index source sourceName'),
  message('SET_SINK_INPUT_MUTE', 'index muted'),
  message('SUSPEND_SINK', 'index name suspended'),
  message('SUSPEND_SOURCE', 'index name suspended'),
  message(
    'SET_PLAYBACK_STREAM_BUFFER_ATTR',
    fieldsOf('stream', PLAYBACK_BUFFER, 'adjustLatency earlyRequests'),
    fieldsOf(PLAYBACK_BUFFER, 'latency'),
  ),
  message(
    'SET_RECORD_STREAM_BUFFER_ATTR',
    fieldsOf('stream', RECORD_BUFFER, 'adjustLatency earlyRequests'),
    fieldsOf(RECORD_BUFFER, 'latency'),
  ),
  message('UPDATE_PLAYBACK_STREAM_SAMPLE_RATE', 'stream rate'),
  message('UPDATE_RECORD_STREAM_SAMPLE_RATE', 'stream rate'),
  message('PLAYBACK_STREAM_SUSPENDED', 'stream suspended'),
  message('RECORD_STREAM_SUSPENDED', 'stream suspended'),
  message('PLAYBACK_STREAM_MOVED', fieldsOf('stream sink sinkName suspended', PLAYBACK_BUFFER, 'latency')),
  message('RECORD_STREAM_MOVED', fieldsOf('stream source sourceName suspended', RECORD_BUFFER, 'latency')),
  message('UPDATE_RECORD_STREAM_PROPLIST', fieldsOf('stream', MODE, 'props')),
  message('UPDATE_PLAYBACK_STREAM_PROPLIST', fieldsOf('stream', MODE, 'props')),
  message('UPDATE_CLIENT_PROPLIST', fieldsOf(MODE, 'props')),
  message('REMOVE_RECORD_STREAM_PROPLIST', fieldsOf('stream', KEYS)),
  message('REMOVE_PLAYBACK_STREAM_PROPLIST', fieldsOf('stream', KEYS)),
  message('REMOVE_CLIENT_PROPLIST', KEYS),
  message('STARTED', 'stream'),
  // The module's own fields follow.
  message('EXTENSION', 'module moduleName'),
  message('GET_CARD_INFO', OBJECT, CARD),
  message('GET_CARD_INFO_LIST', '', list('cards', CARD)),
  message('SET_CARD_PROFILE', 'index name profile'),
  message('CLIENT_EVENT', 'name props'),
  message('PLAYBACK_STREAM_EVENT', 'stream name props'),
  message('RECORD_STREAM_EVENT', 'stream name props'),
  message('PLAYBACK_BUFFER_ATTR_CHANGED', fieldsOf('stream', PLAYBACK_BUFFER, 'latency')),
  message('RECORD_BUFFER_ATTR_CHANGED', fieldsOf('stream', RECORD_BUFFER, 'latency')),
  message('SET_SINK_PORT', 'index name port'),
  message('SET_SOURCE_PORT', 'index name port'),
  message('SET_SOURCE_OUTPUT_VOLUME', 'index volume'),
  message('SET_SOURCE_OUTPUT_MUTE', 'index muted'),
  message('SET_PORT_LATENCY_OFFSET', 'index name port offset'),
  message('ENABLE_SRBCHANNEL'),
  message('DISABLE_SRBCHANNEL'),
  message('REGISTER_MEMFD_SHMID', 'id'),
  message('SEND_OBJECT_MESSAGE', 'path message parameters', 'response'),
];
