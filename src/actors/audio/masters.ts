// Filters: to which sink a filter plays, whose volume limit it therefore has, and which sinks share a volume.
// Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';

/** The property of a filter that names the sink above which it was made. */
const MASTER = 'device.master_device';

/** PA_SINK_FLAT_VOLUME: the sink's volume is that of its loudest stream. */
const SINK_FLAT_VOLUME = 0x40;

/** Filters above filters that are followed: a server may name a ring of them. */
const CHAIN_MAX_SINKS = 16;

/** A sound server's state has these records, by index. */
export interface SoundRecords {
  readonly sinks: ReadonlyMap<number, { readonly info: SinkInfo }>;
  readonly inputs: ReadonlyMap<number, { readonly info: SinkInputInfo }>;
}

export function isFilter({ props }: SinkInfo): boolean {
  return props[MASTER] !== undefined;
}

/** The stream by which a filter plays belongs to its module, and to no client. */
function masterOf({ sinks, inputs }: SoundRecords, filter: SinkInfo): SinkInfo | undefined {
  if (!isFilter(filter)) return undefined;
  // The stream decides, and the property only where there is none: after the stream has been moved,
  // PulseAudio's property still names the old sink (docs/development/what-we-learnt.md, "PulseAudio and
  // PipeWire").
  for (const { info } of inputs.values()) {
    const isOwn = info.client === undefined && info.ownerModule !== undefined;
    if (!isOwn || info.ownerModule !== filter.ownerModule) continue;
    const master = sinks.get(info.sink ?? -1)?.info;
    if (master !== undefined) return master;
  }
  for (const { info } of sinks.values()) if (info.name === filter.props[MASTER]) return info;
  return undefined;
}

/** The sink, its master, that one's master, and so on. */
export function mastersFrom(records: SoundRecords, sink: SinkInfo): readonly SinkInfo[] {
  const chain = [sink];
  let next = masterOf(records, sink);
  while (next !== undefined && !chain.includes(next) && chain.length < CHAIN_MAX_SINKS) {
    chain.push(next);
    next = masterOf(records, next);
  }
  return chain;
}

/** The sink that stands below all filters: a card's, or a virtual one. */
export function rootOf(records: SoundRecords, sink: SinkInfo): SinkInfo {
  return mastersFrom(records, sink).at(-1) ?? sink;
}

/** True if a client's volume can raise the sink, or a master of it. */
export function isFlat(records: SoundRecords, sink: SinkInfo): boolean {
  return mastersFrom(records, sink).some(({ flags }) => (flags & SINK_FLAT_VOLUME) !== 0);
}
