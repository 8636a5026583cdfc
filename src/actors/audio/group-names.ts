// How the sinks of groups are recognized, and the stand-ins by which they are made (group-modules.ts). Pure.

import type { SinkInfo, SinkInputInfo } from '../../protocol/pulse/records.js';

/** A group's output is called this, followed by the group's own name. */
export const GROUP_PREFIX = 'tonearm.';
/** The property that marks the sink of a group, and has the group's name. */
export const GROUP_MARK = 'tonearm.group';
/** The property of a sink that stands in for a missing output, only while a group is being made. */
export const STAND_IN_MARK = 'tonearm.stand_in';

export function isGroup({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[GROUP_MARK] !== undefined;
}

export function isStandIn({ props }: Pick<SinkInfo, 'props'>): boolean {
  return props[STAND_IN_MARK] !== undefined;
}

/** True for a stream by which a group plays: it belongs to the group's module, and to no client. */
export function playsForGroup(
  sinks: ReadonlyMap<number, { readonly info: SinkInfo }>,
  { client, ownerModule }: SinkInputInfo,
): boolean {
  if (client !== undefined || ownerModule === undefined) return false;
  for (const { info } of sinks.values()) if (info.ownerModule === ownerModule && isGroup(info)) return true;
  return false;
}
