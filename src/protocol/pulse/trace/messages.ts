// Lists the commands of the protocol versions 32 to 35, and names the fields of each command and its reply
// (PulseAudio 17: PROTOCOL, native-common.h, protocol-native.c). The types of the fields are not needed,
// because each value on the wire begins with its type tag.

import { COMMANDS, type CommandArguments, type CommandName } from '../commands.js';
import { byIndex } from '../fields.js';
import * as records from '../records.js';
import { NAMINGS, type Naming } from './values.js';

export interface MessageField {
  readonly name: string;
  /** The protocol version that introduced the field. Absent if all versions have it. */
  readonly since?: number;
  /** Turns the field's value, a number, into a name or names. Absent if the field's values have no names. */
  readonly naming?: Naming | undefined;
  /**
   * `*` stands for a list that begins with the number of its items, `+` for a list that goes on to the end
   * of the message. Absent if the field is no list.
   */
  readonly list?: string | undefined;
  /**
   * The name of a row of RECORDS: each item of the list has the fields of this row. Absent or '' if the items
   * are plain values, or the field is no list.
   */
  readonly itemRecord?: string | undefined;
}

export type MessageFields = readonly MessageField[];

/**
 * A field has one of these forms in the texts below:
 * - `index`: a plain value.
 * - `state:deviceState`: a number. The row `deviceState` of NAMINGS turns it into a name.
 * - `formats*`: a list of values that begins with their number.
 * - `keys+`: a list of values that goes on to the end of the message.
 * - `ports*PORT` or `sinks+SINK`: a list like the two above, but an item has all fields of a RECORDS row.
 * - `PORT`: all fields of the row `PORT` of RECORDS. `parseFields` reads this form without FIELD.
 */
const FIELD = /^(\w+)(?::(\w+))?(?:([*+])([A-Z_]*))?$/;

function parseFields(text: string): MessageFields {
  return (text.match(/\S+/g) ?? []).flatMap((word) => {
    if (/^[A-Z_]+$/.test(word)) return recordFields(word);
    const [, name = word, namingName = '', list, itemRecord] = FIELD.exec(word) ?? [];
    return [{ name, naming: NAMINGS[namingName], list, itemRecord }];
  });
}

/**
 * Returns the fields of a table of records.ts, or of a command in commands.ts. A table does not say which
 * fields are lists, or which values have names. `details` contains such fields once more, in the form of
 * FIELD, such as `state:deviceState ports*PORT`. Fields in `details` that the table lacks are ignored, so
 * that several tables can share one text.
 */
function fieldsOfTable(
  table: CommandArguments | Readonly<Record<string, object>>,
  details = '',
): MessageFields {
  const detailedFields = parseFields(details);
  return Object.entries(table).flatMap(([name, kind]) => {
    const since = 'since' in kind && typeof kind.since === 'number' ? { since: kind.since } : {};
    const detailedField = detailedFields.find((field) => field.name === name);
    const field = { name, ...since, ...detailedField };
    if (kind !== byIndex) return [field];
    // tonearm sends a `byIndex` as two values, an index and a name. The values of `sink` are called
    // `sink` and `sinkName` here. Those of `index` are called `index` and `name`.
    const secondFieldName = name === 'index' ? 'name' : `${name}Name`;
    return [field, { name: secondFieldName }];
  });
}

/** Groups of fields by name. The fields belong to an item of a list, to a command, or to a reply. */
const RECORDS: Readonly<Record<string, MessageFields>> = {
  OBJECT: parseFields('index name'),
  /**
   * The field `cookie` of the server may be traced, because it is not the secret of AUTH. It is a random
   * number that distinguishes one life of the server from the next.
   */
  SERVER: fieldsOfTable(records.SERVER_INFO),
  SINK: fieldsOfTable(records.SINK_INFO, 'state:deviceState ports*PORT formats*'),
  SOURCE: fieldsOfTable(records.SOURCE_INFO, 'state:deviceState ports*PORT formats*'),
  PORT: fieldsOfTable(records.PORT_INFO, 'available:available'),
  SINK_INPUT: fieldsOfTable(records.SINK_INPUT_INFO),
  SOURCE_OUTPUT: fieldsOfTable(records.SOURCE_OUTPUT_INFO),
  MODULE: fieldsOfTable(records.MODULE_INFO),
  CLIENT: parseFields('index name ownerModule driver props'),
  SAMPLE: parseFields('index name volume duration sampleSpec channelMap length lazy filename props'),
  CARD: fieldsOfTable(records.CARD_INFO, 'profiles*CARD_PROFILE ports*CARD_PORT'),
  CARD_PROFILE: fieldsOfTable(records.CARD_PROFILE),
  CARD_PORT: fieldsOfTable(records.CARD_PORT, 'available:available profiles*'),
  PLAYBACK_STREAM: fieldsOfTable(records.PLAYBACK_STREAM_REPLY),
  RECORD_STREAM: fieldsOfTable(records.RECORD_STREAM_REPLY),
  /** Sizes of the two kinds of buffers, in bytes. If a request has null as a size, the server chooses it. */
  PLAYBACK_BUFFER: parseFields('maxLength targetLength prebuffering minimumRequest'),
  RECORD_BUFFER: parseFields('maxLength fragmentLength'),
  TIMES: parseFields('sinkLatency sourceLatency running sent answered writeIndex readIndex'),
};

/**
 * Returns the fields of a row of RECORDS; an empty list if there is no such row. `parseFields` calls this
 * function only for a word that is the name of a row, such as `PLAYBACK_BUFFER`. The rows of RECORDS contain
 * no such word (`ports*PORT` is another form), so RECORDS is complete before the first call.
 */
export const recordFields = (name: string): MessageFields => RECORDS[name] ?? [];

/**
 * The commands, one on a line, in the order of their numbers. A line has the command's name, the command's
 * fields, and after an arrow the fields of the reply, if it has fields. If tonearm sends the command, the
 * line lacks the command's fields, because they are in COMMANDS. The four commands whose names contain
 * AUTOLOAD have no fields, because PulseAudio 0.9.15 removed these commands. After the two fields of
 * EXTENSION come values that the module defines. These values have no names here.
 */
const LINES = `
  ERROR error:fault
  TIMEOUT
  REPLY
  CREATE_PLAYBACK_STREAM -> PLAYBACK_STREAM
  DELETE_PLAYBACK_STREAM stream
  CREATE_RECORD_STREAM -> RECORD_STREAM
  DELETE_RECORD_STREAM
  EXIT
  AUTH -> version:protocolVersion
  SET_CLIENT_NAME -> clientIndex
  LOOKUP_SINK name -> index
  LOOKUP_SOURCE name -> index
  DRAIN_PLAYBACK_STREAM stream
  STAT -> blocks blockBytes blocksEver blockBytesEver sampleBytes
  GET_PLAYBACK_LATENCY stream sent -> TIMES underrunFor playingFor
  CREATE_UPLOAD_STREAM name sampleSpec channelMap length props -> stream length
  DELETE_UPLOAD_STREAM stream
  FINISH_UPLOAD_STREAM stream
  PLAY_SAMPLE sink sinkName volume name props -> sinkInput
  REMOVE_SAMPLE name
  GET_SERVER_INFO -> SERVER
  GET_SINK_INFO -> SINK
  GET_SINK_INFO_LIST -> sinks+SINK
  GET_SOURCE_INFO -> SOURCE
  GET_SOURCE_INFO_LIST -> sources+SOURCE
  GET_MODULE_INFO -> MODULE
  GET_MODULE_INFO_LIST -> modules+MODULE
  GET_CLIENT_INFO index -> CLIENT
  GET_CLIENT_INFO_LIST -> clients+CLIENT
  GET_SINK_INPUT_INFO -> SINK_INPUT
  GET_SINK_INPUT_INFO_LIST -> sinkInputs+SINK_INPUT
  GET_SOURCE_OUTPUT_INFO index -> SOURCE_OUTPUT
  GET_SOURCE_OUTPUT_INFO_LIST -> sourceOutputs+SOURCE_OUTPUT
  GET_SAMPLE_INFO OBJECT -> SAMPLE
  GET_SAMPLE_INFO_LIST -> samples+SAMPLE
  SUBSCRIBE
  SET_SINK_VOLUME
  SET_SINK_INPUT_VOLUME
  SET_SOURCE_VOLUME
  SET_SINK_MUTE
  SET_SOURCE_MUTE
  CORK_PLAYBACK_STREAM stream corked
  FLUSH_PLAYBACK_STREAM stream
  TRIGGER_PLAYBACK_STREAM stream
  SET_DEFAULT_SINK
  SET_DEFAULT_SOURCE
  SET_PLAYBACK_STREAM_NAME
  SET_RECORD_STREAM_NAME stream name
  KILL_CLIENT index
  KILL_SINK_INPUT index
  KILL_SOURCE_OUTPUT index
  LOAD_MODULE -> index
  UNLOAD_MODULE
  ADD_AUTOLOAD
  REMOVE_AUTOLOAD
  GET_AUTOLOAD_INFO
  GET_AUTOLOAD_INFO_LIST
  GET_RECORD_LATENCY stream sent -> TIMES
  CORK_RECORD_STREAM stream corked
  FLUSH_RECORD_STREAM stream
  PREBUF_PLAYBACK_STREAM stream
  REQUEST stream bytes
  OVERFLOW stream
  UNDERFLOW stream at
  PLAYBACK_STREAM_KILLED stream
  RECORD_STREAM_KILLED stream
  SUBSCRIBE_EVENT event:event index
  MOVE_SINK_INPUT
  MOVE_SOURCE_OUTPUT index source sourceName
  SET_SINK_INPUT_MUTE
  SUSPEND_SINK OBJECT suspended
  SUSPEND_SOURCE OBJECT suspended
  SET_PLAYBACK_STREAM_BUFFER_ATTR stream PLAYBACK_BUFFER adjustLatency earlyRequests -> PLAYBACK_BUFFER latency
  SET_RECORD_STREAM_BUFFER_ATTR stream RECORD_BUFFER adjustLatency earlyRequests -> RECORD_BUFFER latency
  UPDATE_PLAYBACK_STREAM_SAMPLE_RATE stream rate
  UPDATE_RECORD_STREAM_SAMPLE_RATE stream rate
  PLAYBACK_STREAM_SUSPENDED stream suspended
  RECORD_STREAM_SUSPENDED stream suspended
  PLAYBACK_STREAM_MOVED stream sink sinkName suspended PLAYBACK_BUFFER latency
  RECORD_STREAM_MOVED stream source sourceName suspended RECORD_BUFFER latency
  UPDATE_RECORD_STREAM_PROPLIST stream mode:updateMode props
  UPDATE_PLAYBACK_STREAM_PROPLIST stream mode:updateMode props
  UPDATE_CLIENT_PROPLIST mode:updateMode props
  REMOVE_RECORD_STREAM_PROPLIST stream keys+
  REMOVE_PLAYBACK_STREAM_PROPLIST stream keys+
  REMOVE_CLIENT_PROPLIST keys+
  STARTED stream
  EXTENSION module moduleName
  GET_CARD_INFO -> CARD
  GET_CARD_INFO_LIST -> cards+CARD
  SET_CARD_PROFILE
  CLIENT_EVENT name props
  PLAYBACK_STREAM_EVENT stream name props
  RECORD_STREAM_EVENT stream name props
  PLAYBACK_BUFFER_ATTR_CHANGED stream PLAYBACK_BUFFER latency
  RECORD_BUFFER_ATTR_CHANGED stream RECORD_BUFFER latency
  SET_SINK_PORT
  SET_SOURCE_PORT
  SET_SOURCE_OUTPUT_VOLUME index volume
  SET_SOURCE_OUTPUT_MUTE index muted
  SET_PORT_LATENCY_OFFSET OBJECT port offset
  ENABLE_SRBCHANNEL
  DISABLE_SRBCHANNEL
  REGISTER_MEMFD_SHMID id
  SEND_OBJECT_MESSAGE path message parameters -> response
`;

/** The `details` for the tables in COMMANDS. A field has the same details in each command that has it. */
const ARGUMENT_DETAILS = 'version:protocolVersion mask:facilities formats*';

/** A command's index in this list is its number. */
export const MESSAGES = LINES.trim()
  .split('\n')
  .map((line) => {
    const [command = '', reply = ''] = line.split('->');
    const [name = ''] = command.trim().split(' ', 1);
    // The fields of a command are either in COMMANDS or in its line, so `tableFields` or `lineFields` is
    // empty.
    const args = Object.hasOwn(COMMANDS, name) ? COMMANDS[name as CommandName].args : {};
    const tableFields = fieldsOfTable(args, ARGUMENT_DETAILS);
    const lineFields = parseFields(command.replace(name, ''));
    return { name, fields: [...tableFields, ...lineFields], reply: parseFields(reply) };
  });
