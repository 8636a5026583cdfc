// Wakes a virtual output of PipeWire 1.4 by capturing its monitor for a moment, before its first command is
// planned.

import type { Clock } from '../../host/clock.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';

/** Opens one more connection to the same server. */
export type OpenLink = (events: LinkEvents) => Link;

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * True if the output hides its volume and mute. PipeWire 1.4 does so for a virtual output that has never been
 * awake: it reports 100 %, whatever WirePlumber restored, and no volume or mute that it accepted, so a step
 * would start from the wrong volume. The first reading as idle or running has the true volume, and later
 * changes are reported at once, also while it sleeps (docs/development/what-we-learnt.md, "PulseAudio and
 * PipeWire"). An output of a card always reports both. The flag PA_SINK_HARDWARE cannot decide this: PipeWire
 * 1.4.2 gives it to its null sinks, too.
 */
export function keepsBack(state: SoundState, sink: SinkInfo): boolean {
  return sink.card === undefined && state.mayWake(sink.index) && state.kind === 'pipewire';
}

/**
 * Each capture has a connection of its own, and ends with it: no stream is left over, and a failure does not
 * affect the main connection.
 */
export class Waker {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #limitMs: number;
  readonly #onEnded: () => void;
  /** By the sinks that are being woken. */
  readonly #captures = new Map<number, Link>();
  readonly waking: ReadonlyMap<number, unknown> = this.#captures;

  /** `onEnded` is called each time a sink has woken or will not wake; after `limitMs` at the latest. */
  constructor(
    open: OpenLink,
    state: SoundState,
    clock: Pick<Clock, 'after'>,
    limitMs: number,
    onEnded: () => void,
  ) {
    this.#open = open;
    this.#state = state;
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onEnded = onEnded;
  }

  /** True if a command must wait for the sink; starts waking it if needed. */
  isWaking(index: number): boolean {
    const source = this.#captures.has(index) ? undefined : this.#monitorOf(index);
    if (source !== undefined) this.#wake(index, source);
    return this.#captures.has(index);
  }

  /** To be called when something has been read. */
  onRead(): void {
    for (const [index, link] of this.#captures)
      if (this.#monitorOf(index) === undefined) link.close({ kind: 'stopped' });
  }

  stop(): void {
    for (const link of this.#captures.values()) link.close({ kind: 'stopped' });
  }

  /** The monitor of a sink that is asleep. */
  #monitorOf(index: number): number | undefined {
    const sink = this.#state.sinks.get(index)?.info;
    return sink !== undefined && keepsBack(this.#state, sink) ? sink.monitorSource : undefined;
  }

  #wake(index: number, source: number): void {
    const giveUp = (): void => {
      this.#state.letSleep(index);
      link.close({ kind: 'stopped' });
    };
    const link = this.#open({
      onReady: () =>
        link.request('CREATE_RECORD_STREAM', peakStream(source, [MONO], 'Wake up', false), (result) => {
          if (!result.ok && result.error.kind === 'server') giveUp();
        }),
      onEvent: () => undefined,
      onClosed: () => {
        cancel();
        this.#captures.delete(index);
        this.#onEnded();
      },
    });
    const cancel = this.#clock.after(this.#limitMs, giveUp);
    this.#captures.set(index, link);
  }
}
