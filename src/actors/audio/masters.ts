// Finds the master of a filter: the sink to which the filter plays. The volume limit of the master holds for
// the filter, too. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';
import { isOfModule } from './marks.js';

/** The property of a filter that has the name of its master, as it was when the filter was made. */
const MASTER = 'device.master_device';

/** PA_SINK_FLAT_VOLUME: the sink's volume is that of its loudest stream. */
const SINK_FLAT_VOLUME = 0x40;

/**
 * At most this many sinks of a chain of filters are followed, because a server may report filters that play
 * in a circle.
 */
const CHAIN_MAX_SINKS = 16;

/** The part of a sound server's state that this file needs: the records by index. */
export interface SoundRecords {
  readonly sinks: ReadonlyMap<number, { readonly info: SinkInfo }>;
  readonly sinkInputs: ReadonlyMap<number, { readonly info: SinkInputInfo }>;
}

export function isFilter({ props }: SinkInfo): boolean {
  return props[MASTER] !== undefined;
}

function masterOf({ sinks, sinkInputs }: SoundRecords, filter: SinkInfo): SinkInfo | undefined {
  if (!isFilter(filter)) return undefined;
  // A filter plays by a stream of its module, and the sink of that stream is the master. The property
  // decides only where there is no such stream: after the stream has been moved, PulseAudio's property still
  // names the old sink (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
  for (const { info: stream } of sinkInputs.values()) {
    if (!isOfModule(stream) || stream.ownerModule !== filter.ownerModule) continue;
    const master = sinks.get(stream.sink ?? -1)?.info;
    if (master !== undefined) return master;
  }
  for (const { info } of sinks.values()) if (info.name === filter.props[MASTER]) return info;
  return undefined;
}

/** The sink, its master, the master of that one, and so on. */
export function mastersFrom(records: SoundRecords, sink: SinkInfo): readonly SinkInfo[] {
  const chain = [sink];
  let next = masterOf(records, sink);
  while (next !== undefined && !chain.includes(next) && chain.length < CHAIN_MAX_SINKS) {
    chain.push(next);
    next = masterOf(records, next);
  }
  return chain;
}

/**
 * The end of the chain: a sink that is no filter, of a card or virtual. This is `sink` itself if it is no
 * filter.
 */
export function rootOf(records: SoundRecords, sink: SinkInfo): SinkInfo {
  return mastersFrom(records, sink).at(-1) ?? sink;
}

/** True if the volume of a stream can raise that of the sink, or of a master of it. */
export function hasFlatVolume(records: SoundRecords, sink: SinkInfo): boolean {
  return mastersFrom(records, sink).some(({ flags }) => (flags & SINK_FLAT_VOLUME) !== 0);
}
