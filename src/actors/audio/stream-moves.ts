// Decides which streams are moved to an output that becomes the default (docs/http-api.md, "The default
// output"). Pure.

import { playsForSink } from './marks.js';
import { hasVolume } from './passthrough.js';
import type { Setting } from './setting-plan.js';
import type { SoundState } from './state.js';

type StreamMove = Extract<Setting, { readonly command: 'MOVE_SINK_INPUT' }>;

/** Empty if there is no such output. */
export function streamMoves(state: SoundState, output: string): readonly StreamMove[] {
  const target = state.findSink(output)?.info;
  if (target === undefined) return [];
  const limit = state.limits.ofSink(target);
  const isLimited = limit !== undefined && limit < 1;
  const sinks = [...state.sinks.values()];
  return (
    [...state.sinkInputs.values()]
      .filter(({ info }) => info.sink !== target.index)
      // A group or a filter plays to other outputs by streams of its own. These streams stay. The streams
      // that play to the group or filter are moved instead.
      .filter(({ info }) => !sinks.some((sink) => playsForSink(info, sink.info)))
      // A stream without a volume is a passthrough stream. It would set the output to 100 %, so it is not
      // moved to an output with a lower limit.
      .filter(({ info }) => !isLimited || hasVolume(info))
      .map(({ info }) => ({ command: 'MOVE_SINK_INPUT', args: { index: info.index, sink: target.index } }))
  );
}
