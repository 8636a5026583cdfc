// Defines the names and properties by which the daemon recognizes its own sinks and streams in the sound
// server. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';

/** The name of a group's sink is this prefix and the group's own name. */
export const GROUP_PREFIX = 'tonearm.';
/** The property that marks the sink of a group. Its value is the group's name. */
export const GROUP_MARK = 'tonearm.group';
/** The property that marks a stand-in, which has the name of a missing output while a group is made. */
export const STAND_IN_MARK = 'tonearm.stand_in';
/**
 * The property that marks the stream by which a loopback plays an input at an output. Its value is the
 * input's name.
 */
export const LISTEN_MARK = 'tonearm.listen';
/**
 * Sinks and streams of PipeWire that belong together, such as those of a filter, have the same value of this
 * property.
 */
const LINK_GROUP_PROPERTY = 'node.link-group';

export function isGroup({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[GROUP_MARK] !== undefined;
}

export function isStandIn({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[STAND_IN_MARK] !== undefined;
}

/** True for a stream of the server itself, such as that of a filter or a loopback. */
function isPlayedByModule({ client, ownerModule }: Pick<SinkInputInfo, 'client' | 'ownerModule'>): boolean {
  return client === undefined && ownerModule !== undefined;
}

/**
 * True if the sink is a group or a filter, and plays to another sink by this stream. The stream and the
 * sink usually belong to the same module of the server. PipeWire names no module for a filter that a program
 * has made, but the filter's stream and sink have the same link group.
 */
export function playsForSink(stream: SinkInputInfo, sink: SinkInfo): boolean {
  if (isPlayedByModule(stream) && stream.ownerModule === sink.ownerModule) return true;
  const linkGroup = stream.props[LINK_GROUP_PROPERTY];
  return linkGroup !== undefined && linkGroup === sink.props[LINK_GROUP_PROPERTY];
}

/** True for a stream by which a group plays at one of its outputs. */
export function playsForGroup(
  sinks: ReadonlyMap<number, { readonly info: SinkInfo }>,
  stream: SinkInputInfo,
): boolean {
  if (!isPlayedByModule(stream)) return false;
  for (const { info } of sinks.values())
    if (info.ownerModule === stream.ownerModule && isGroup(info)) return true;
  return false;
}

/**
 * The name of the input that is heard through the stream. Undefined if the stream has no `LISTEN_MARK`, or is
 * not a module's. Clients may set any property, so the mark of a client's stream does not count.
 */
export function listenInputOf(stream: SinkInputInfo): string | undefined {
  return isPlayedByModule(stream) ? stream.props[LISTEN_MARK] : undefined;
}
