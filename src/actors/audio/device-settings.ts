// Plans the settings that outputs and inputs have alike and nothing else has: the port, and which is the
// default. Pure.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { KnownRecord } from './known-records.js';
import type { ReadRequest } from './refetch.js';
import { faultOf, type SettingPlan, setPlan } from './setting-plan.js';
import type { KnownSource } from './sources.js';
import type { SoundState } from './state.js';

/** A sink or source. */
export type Device =
  | { readonly kind: 'sink'; readonly record: KnownRecord<SinkInfo> }
  | { readonly kind: 'source'; readonly record: KnownSource };

/** The name of each kind for people. */
export const NOUNS = { sink: 'output', source: 'input' } as const;

/** The requests, and a device at the beginning of a sentence. */
const DEVICES = {
  sink: { named: 'Output', port: 'SET_SINK_PORT', default: 'SET_DEFAULT_SINK' },
  source: { named: 'Input', port: 'SET_SOURCE_PORT', default: 'SET_DEFAULT_SOURCE' },
} as const;

export function planPort({ kind, record }: Device, port: string): SettingPlan {
  const { index, ports } = record.info;
  const noun = NOUNS[kind];
  const basis: ReadRequest = { of: kind, index };
  if (ports.length === 0) return faultOf(basis, 'no-ports', `The ${noun} has no ports to switch between`);
  if (!ports.some(({ name }) => name === port))
    return faultOf(basis, 'no-such-port', `The ${noun} has no port ${JSON.stringify(port)}`);
  return setPlan({ command: DEVICES[kind].port, args: { index, port } }, kind, index);
}

/** PulseAudio takes the name alone, and PipeWire then takes the first one of that name. */
export function planDefault({ sinks, sources }: SoundState, { kind, record }: Device): SettingPlan {
  const { index, name } = record.info;
  const { named, default: command } = DEVICES[kind];
  const all = kind === 'sink' ? [...sinks.values()] : sources.all;
  const other = all.find(({ info }) => info.name === name && info.index !== index);
  if (other === undefined) return setPlan({ command, args: { name } }, 'server');
  const detail = `${named} ${other.info.index} is called ${JSON.stringify(name)}, too, and the sound server knows the default only by name`;
  return faultOf({ of: kind, index: other.info.index }, 'same-name', detail);
}
