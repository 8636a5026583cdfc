// Finds the master of a filter, which is the sink to which the filter plays. The master's volume limit holds
// for the filter, too. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { playsForSink } from './marks.js';

/** The property that marks a filter. Its value is the name of the master that the filter had at first. */
const MASTER_PROPERTY = 'device.master_device';

/** PA_SINK_FLAT_VOLUME: the sink always has the volume of its loudest stream. */
const SINK_FLAT_VOLUME = 0x40;

/**
 * A chain (`chainFrom`) has at most this many sinks. It contains no sink twice: filters may play in a circle.
 */
const CHAIN_MAX_SINKS = 16;

/** The records by their index. */
export interface SoundRecords {
  readonly sinks: ReadonlyMap<number, { readonly info: SinkInfo }>;
  readonly sinkInputs: ReadonlyMap<number, { readonly info: SinkInputInfo }>;
}

export function isFilter({ props }: SinkInfo): boolean {
  return props[MASTER_PROPERTY] !== undefined;
}

function masterOf({ sinks, sinkInputs }: SoundRecords, filter: SinkInfo): SinkInfo | undefined {
  if (!isFilter(filter)) return undefined;
  // A filter plays by a stream of its own, and the sink of this stream is the master. The property is used
  // only if no such stream has a known sink: PulseAudio's property names the first master even after the
  // stream has been moved (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
  for (const { info: stream } of sinkInputs.values()) {
    if (!playsForSink(stream, filter)) continue;
    const master = stream.sink === undefined ? undefined : sinks.get(stream.sink);
    if (master !== undefined) return master.info;
  }
  for (const { info } of sinks.values()) {
    if (info.name === filter.props[MASTER_PROPERTY]) return info;
  }
  return undefined;
}

/** The sink, its master, the master's master, and so on. */
export function chainFrom(records: SoundRecords, sink: SinkInfo): readonly SinkInfo[] {
  const chain = [sink];
  let master = masterOf(records, sink);
  while (master !== undefined && chain.length < CHAIN_MAX_SINKS) {
    if (chain.includes(master)) break;
    chain.push(master);
    master = masterOf(records, master);
  }
  return chain;
}

/** The last sink of the chain. It is `sink` itself if `sink` has no known master. */
export function rootOf(records: SoundRecords, sink: SinkInfo): SinkInfo {
  return chainFrom(records, sink).at(-1) ?? sink;
}

/** True if the volume of a stream can raise the volume of the sink, or of one of its masters. */
export function hasFlatVolume(records: SoundRecords, sink: SinkInfo): boolean {
  return chainFrom(records, sink).some(({ flags }) => (flags & SINK_FLAT_VOLUME) !== 0);
}
