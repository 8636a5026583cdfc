// Plans how the port of an output or input is set, and how an output or input becomes the default. Pure.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { KnownRecord } from './known-records.js';
import { howPlayed, passthroughOn } from './passthrough.js';
import type { ReadRequest } from './refetch.js';
import { type PlanRefusal, refuseBecauseOf, type SettingPlan, setPlan } from './setting-plan.js';
import type { KnownSource } from './sources.js';
import type { SoundState } from './state.js';

/** A sink or source. */
export type SoundDevice =
  | { readonly kind: 'sink'; readonly record: KnownRecord<SinkInfo> }
  | { readonly kind: 'source'; readonly record: KnownSource };

/** The word of the interface for each kind. */
export const NOUNS = { sink: 'output', source: 'input' } as const;

const REQUESTS = {
  sink: { port: 'SET_SINK_PORT', default: 'SET_DEFAULT_SINK' },
  source: { port: 'SET_SOURCE_PORT', default: 'SET_DEFAULT_SOURCE' },
} as const;

/** A refusal names the device as its reason. Then executor.ts reads the device again, and plans anew. */
export function planPort({ kind, record }: SoundDevice, port: string): SettingPlan {
  const { index, ports } = record.info;
  const noun = NOUNS[kind];
  const deviceToReadAgain: ReadRequest = { kind, index };
  if (ports.length === 0)
    return refuseBecauseOf(deviceToReadAgain, 'no-ports', `The ${noun} has no ports to switch between`);
  const hasPort = ports.some(({ name }) => name === port);
  const quoted = JSON.stringify(port);
  if (!hasPort)
    return refuseBecauseOf(deviceToReadAgain, 'no-such-port', `The ${noun} has no port ${quoted}`);
  return setPlan({ command: REQUESTS[kind].port, args: { index, port } }, kind, index);
}

/** Refuses a device if another one has the same name, because the request contains only the name. */
export function planDefault(state: SoundState, device: SoundDevice): SettingPlan {
  const { sinks, sources } = state;
  const { kind, record } = device;
  const { index, name } = record.info;
  const devices = kind === 'sink' ? [...sinks.values()] : sources.all;
  const deviceWithSameName = devices.find(({ info }) => info.name === name && info.index !== index);
  if (deviceWithSameName !== undefined) {
    const subject = kind === 'sink' ? 'Output' : 'Input';
    const detail = `${subject} ${deviceWithSameName.info.index} is called ${JSON.stringify(name)}, too, and the sound server knows the default only by name`;
    return refuseBecauseOf({ kind, index: deviceWithSameName.info.index }, 'same-name', detail);
  }
  const refusal = kind === 'sink' ? limitRefusal(state, record) : undefined;
  return refusal ?? setPlan({ command: REQUESTS[kind].default, args: { name } }, 'server');
}

/**
 * The sound server moves the streams of the present default to the new one. It may leave some streams where
 * they are, but does not report which ones. A passthrough stream sets its sink to 100 %. So a sink with a
 * lower limit does not become the default while such a stream plays to the present default.
 */
function limitRefusal(state: SoundState, { info }: KnownRecord<SinkInfo>): PlanRefusal | undefined {
  const isLimited = (state.limits.ofSink(info) ?? 1) < 1;
  if (!isLimited) return undefined;
  const presentDefault = state.defaultSink()?.info;
  if (presentDefault === undefined || presentDefault.index === info.index) return undefined;
  const stream = passthroughOn(state.sinkInputs, presentDefault.index);
  if (stream === undefined) return undefined;
  const detail = `${JSON.stringify(stream.name)} may follow to the output; it is played ${howPlayed(stream.info)}, which sets the output to 100 %, above its volume_limit`;
  return refuseBecauseOf({ kind: 'sink-input', index: stream.info.index }, 'no-volume', detail);
}
