// Makes records of a sound server without a connection. They are decoded from the bytes that the scripted
// server would send. scripted-server.ts makes no sources, so their bytes come from protocol/pulse/bytes.ts.

import type { ServerInfo, SinkInfo, SinkInputInfo, SourceInfo } from '../../../src/protocol/pulse/records.js';
import { type SourceBytes, source } from '../../protocol/pulse/bytes.js';
import { decode } from '../../protocol/pulse/decoded.js';
import { bytesOf } from './scripted-server.js';

export const serverInfo = (fields: Partial<ServerInfo> = {}): ServerInfo =>
  Object.assign(decode('GET_SERVER_INFO', bytesOf.server()), fields);

/** The sink is idle (`state: 1`). */
export const sinkInfo = (index: number, name: string, fields: Partial<SinkInfo> = {}): SinkInfo =>
  Object.assign(decode('GET_SINK_INFO', bytesOf.sink(index, name, { state: 1 })), fields);

export const sinkInputInfo = (
  index: number,
  name: string,
  fields: Partial<SinkInputInfo> = {},
): SinkInputInfo => Object.assign(decode('GET_SINK_INPUT_INFO', bytesOf.input(index, name)), fields);

/** `fields` replace parts of the bytes, and not fields of the decoded record. */
export const sourceInfo = (index: number, name: string, fields: SourceBytes = {}): SourceInfo =>
  decode('GET_SOURCE_INFO', source({ index, name, ...fields }));
