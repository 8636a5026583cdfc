// Sound server records for tests of the pure parts: those of the scripted server as the daemon reads them, and a test sets a few fields.

import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../../src/protocol/pulse/records.js';
import { decode } from '../../protocol/pulse/decoded.js';
import { inputFields, serverFields, sinkFields } from './scripted-server.js';

export const serverInfo = (fields: Partial<ServerInfo> = {}): ServerInfo => ({
  ...decode('GET_SERVER_INFO', serverFields()),
  ...fields,
});

export const sinkInfo = (index: number, name: string, fields: Partial<SinkInfo> = {}): SinkInfo => ({
  ...decode('GET_SINK_INFO', sinkFields(index, name, { state: 1 })),
  ...fields,
});

export const inputInfo = (
  index: number,
  name: string | undefined,
  fields: Partial<SinkInputInfo> = {},
): SinkInputInfo => ({
  ...decode('GET_SINK_INPUT_INFO', inputFields(index, name ?? '')),
  ...{ name, ...fields },
});
