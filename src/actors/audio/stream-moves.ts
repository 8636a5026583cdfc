// Decides which streams are moved together with the default output (docs/http-api.md, "Routes"). Pure.

import { hasVolume } from './passthrough.js';
import type { Setting } from './setting-plan.js';
import type { KnownInput, SoundState } from './state.js';

type StreamMove = Extract<Setting, { readonly command: 'MOVE_SINK_INPUT' }>;

/** The moves of all streams that play elsewhere; none for an output that is not known. */
export function streamMoves(state: SoundState, output: string): readonly StreamMove[] {
  const target = state.findSink(output)?.info;
  if (target === undefined) return [];
  const isLimited = (state.limits.of(target) ?? 1) < 1;
  return (
    [...state.inputs.values()]
      .filter(({ info }) => info.sink !== target.index)
      .filter((input) => !playsForSink(state, input))
      // Passthrough would set the output to 100 %.
      .filter(({ info }) => !isLimited || hasVolume(info))
      .map(({ info: { index } }) => ({ command: 'MOVE_SINK_INPUT', args: { index, sink: target.index } }))
  );
}

/**
 * True for the stream by which another sink plays, that of a group or a filter: the streams that play to that
 * sink are moved instead.
 */
function playsForSink({ sinks }: SoundState, { info: { client, ownerModule } }: KnownInput): boolean {
  if (client !== undefined || ownerModule === undefined) return false;
  return [...sinks.values()].some(({ info }) => info.ownerModule === ownerModule);
}
