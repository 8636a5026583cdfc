// Sound server records for tests of the pure parts: each is complete and plausible, and a test sets a few fields.

import type { ServerInfo, SinkInfo, SinkInputInfo } from '../../../src/protocol/pulse/records.js';

const STEREO = { format: 3, channels: 2, rate: 44_100 };
/** Front left, front right. */
const STEREO_MAP = [1, 2];

export function serverInfo(fields: Partial<ServerInfo> = {}): ServerInfo {
  return {
    packageName: 'pulseaudio',
    packageVersion: '16.1',
    user: 'pi',
    host: 'node',
    sampleSpec: STEREO,
    defaultSink: 'living',
    defaultSource: 'living.monitor',
    cookie: 1,
    channelMap: STEREO_MAP,
    ...fields,
  };
}

export function sinkInfo(index: number, name: string, fields: Partial<SinkInfo> = {}): SinkInfo {
  return {
    index,
    name,
    description: `The ${name}`,
    sampleSpec: STEREO,
    channelMap: STEREO_MAP,
    ownerModule: 1,
    volume: [0x10000, 0x10000],
    muted: false,
    monitorSource: 0,
    monitorSourceName: `${name}.monitor`,
    latency: 0,
    driver: 'module-null-sink.c',
    flags: 0x20,
    props: {},
    configuredLatency: 0,
    baseVolume: 0x10000,
    state: 1,
    volumeSteps: 65_537,
    card: undefined,
    ports: [],
    activePort: undefined,
    formats: [],
    ...fields,
  };
}

export function inputInfo(
  index: number,
  name: string | undefined,
  fields: Partial<SinkInputInfo> = {},
): SinkInputInfo {
  return {
    index,
    name,
    ownerModule: undefined,
    client: 3,
    sink: 0,
    sampleSpec: STEREO,
    channelMap: STEREO_MAP,
    volume: [0x10000, 0x10000],
    bufferLatency: 0,
    sinkLatency: 0,
    resampleMethod: undefined,
    driver: 'protocol-native.c',
    muted: false,
    props: {},
    corked: false,
    hasVolume: true,
    volumeWritable: true,
    format: { encoding: 1, props: {} },
    ...fields,
  };
}
