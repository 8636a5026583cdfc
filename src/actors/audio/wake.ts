// Wakes a virtual output of PipeWire 1.4 by a short capture of its monitor, before the first command on it is
// planned.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';

/** Opens one more connection to the same server. */
export type OpenLink = (events: LinkEvents) => Link;

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * True if the output hides its volume and mute. A virtual one of PipeWire 1.4 that was never awake is shown
 * at 100 %, whatever WirePlumber restored, and reports no accepted volume or mute, so a step would start from
 * the wrong volume. Its first reading as idle or running has the true volume; later changes are reported at
 * once, also asleep (measured: 12 of 12). An output of a card always reports them, asleep or not (the flag
 * PA_SINK_HARDWARE does not help: PipeWire 1.4.2 gives it to its null sinks, too).
 */
export function keepsBack(state: SoundState, sink: SinkInfo): boolean {
  return sink.card === undefined && state.mayWake(sink.index) && state.kind === 'pipewire';
}

/**
 * Each capture has a connection of its own, and ends with it: none is left over, and a failure does not
 * affect the main connection. `ended` is called each time a sink has woken or will not wake; after `limitMs`
 * at the latest.
 */
export function waker(open: OpenLink, state: SoundState, limitMs: number, ended: () => void) {
  /** By the sinks that are being woken. */
  const captures = new Map<number, Link>();
  /** The monitor of a sink that is asleep. */
  const monitorOf = (index: number): number | undefined => {
    const sink = state.sinks.get(index)?.info;
    return sink !== undefined && keepsBack(state, sink) ? sink.monitorSource : undefined;
  };
  const wake = (index: number, source: number): void => {
    const giveUp = (): void => {
      state.letSleep(index);
      link.close({ kind: 'stopped' });
    };
    const link = open({
      onReady: () =>
        link.request('CREATE_RECORD_STREAM', peakStream(source, [MONO], 'Wake up', false), (result) => {
          if (!result.ok && result.error.kind === 'server') giveUp();
        }),
      onEvent: () => undefined,
      onClosed: () => {
        clearTimeout(timer);
        captures.delete(index);
        ended();
      },
    });
    const timer = setTimeout(giveUp, limitMs);
    captures.set(index, link);
  };
  /** True if a command must wait for the sink; starts waking it if needed. */
  const isWaking = (index: number): boolean => {
    const source = captures.has(index) ? undefined : monitorOf(index);
    if (source !== undefined) wake(index, source);
    return captures.has(index);
  };
  /** To be called when something has been read. */
  const onRead = (): void => {
    for (const [index, link] of captures) if (monitorOf(index) === undefined) link.close({ kind: 'stopped' });
  };
  const stop = (): void => {
    for (const link of captures.values()) link.close({ kind: 'stopped' });
  };
  const waking: ReadonlyMap<number, unknown> = captures;
  return { waking, isWaking, onRead, stop };
}

export type Waker = ReturnType<typeof waker>;
