// Makes records of the sound server for tests that connect to no server. The records are decoded from bytes.
// The bytes of sources come from test/protocol/pulse/bytes.ts, and all other bytes from scripted-server.ts.

import type { ServerInfo, SinkInfo, SinkInputInfo, SourceInfo } from '../../../src/protocol/pulse/records.js';
import { type SourceBytes, source } from '../../protocol/pulse/bytes.js';
import { decode } from '../../protocol/pulse/decoded.js';
import { bytesOf } from './scripted-server.js';

export const serverInfo = (fields: Partial<ServerInfo> = {}): ServerInfo =>
  Object.assign(decode('GET_SERVER_INFO', bytesOf.server()), fields);

/** The sink is idle (`state: 1`), unless `fields` has another state. */
export const sinkInfo = (index: number, name: string, fields: Partial<SinkInfo> = {}): SinkInfo =>
  Object.assign(decode('GET_SINK_INFO', bytesOf.sink(index, name, { state: 1 })), fields);

export const sinkInputInfo = (
  index: number,
  name: string,
  fields: Partial<SinkInputInfo> = {},
): SinkInputInfo => Object.assign(decode('GET_SINK_INPUT_INFO', bytesOf.sinkInput(index, name)), fields);

/** `fields` changes the bytes, and not the decoded record, unlike in the functions above. */
export const sourceInfo = (index: number, name: string, fields: SourceBytes = {}): SourceInfo =>
  decode('GET_SOURCE_INFO', source({ index, name, ...fields }));
