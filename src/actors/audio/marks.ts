// The names and properties by which the daemon recognizes the sinks and streams that it has made in the sound
// server: groups, the stand-ins by which they are made, and the loopbacks by which inputs are heard. Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';

/** The name of a group's sink is this, followed by the group's own name. */
export const GROUP_PREFIX = 'tonearm.';
/** The property that marks the sink of a group, and has the group's name. */
export const GROUP_MARK = 'tonearm.group';
/**
 * The property that marks a stand-in: a sink that has the name of a missing output while a group is made.
 */
export const STAND_IN_MARK = 'tonearm.stand_in';
/** The property that marks the stream by which an input is heard, and has the input's name. */
export const LISTEN_MARK = 'tonearm.listen';

export function isGroup({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[GROUP_MARK] !== undefined;
}

export function isStandIn({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[STAND_IN_MARK] !== undefined;
}

/** True for a stream that a module of the server plays, such as a filter or a loopback, and no client. */
export function isOfModule({ client, ownerModule }: Pick<SinkInputInfo, 'client' | 'ownerModule'>): boolean {
  return client === undefined && ownerModule !== undefined;
}

/** True for a stream by which a group plays at one of its outputs: it belongs to the group's module. */
export function playsForGroup(
  sinks: ReadonlyMap<number, { readonly info: SinkInfo }>,
  stream: SinkInputInfo,
): boolean {
  if (!isOfModule(stream)) return false;
  for (const { info } of sinks.values())
    if (info.ownerModule === stream.ownerModule && isGroup(info)) return true;
  return false;
}

/**
 * The name of the input that is heard through a stream; undefined for other streams. A client may set the
 * same property, so it counts only for a stream of a module.
 */
export function listenInputOf(stream: SinkInputInfo): string | undefined {
  return isOfModule(stream) ? stream.props[LISTEN_MARK] : undefined;
}
