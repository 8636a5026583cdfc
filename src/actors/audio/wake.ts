// Wakes a virtual output of PipeWire 1.4 by a short capture of its monitor, before the first command on it is planned.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';

/** Opens one more connection to the same server. */
export type OpenLink = (events: LinkEvents) => Link;

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * True if the output hides its volume and mute. A virtual one of PipeWire 1.4 that was never awake is shown at 100 %, whatever WirePlumber
 * restored, and reports no accepted volume or mute, so a step would start from the wrong volume. Its first reading as idle or running has
 * the true volume; later changes are reported at once, also asleep (measured: 12 of 12). An output of a card always reports them, asleep
 * or not (the flag PA_SINK_HARDWARE does not help: PipeWire 1.4.2 gives it to its null sinks, too).
 */
export function keepsBack(state: SoundState, sink: SinkInfo): boolean {
  const virtual = sink.card === undefined;
  return virtual && state.mayWake(sink.index) && state.kind === 'pipewire';
}

/**
 * Each capture has a connection of its own and ends with it: then no stream can be left over, and a failure does not affect the main
 * connection.
 */
export class Waker {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #limitMs: number;
  readonly #ended: () => void;
  readonly #captures = new Map<number, Link>();
  /** The sinks that are being woken. */
  readonly waking: ReadonlyMap<number, unknown> = this.#captures;

  /** `ended` is called each time a sink has woken or will not wake; after `limitMs` at the latest. */
  constructor(open: OpenLink, state: SoundState, limitMs: number, ended: () => void) {
    this.#open = open;
    this.#state = state;
    this.#limitMs = limitMs;
    this.#ended = ended;
  }

  /** True if a command must wait for the sink; starts waking it if needed. */
  isWaking(index: number): boolean {
    if (!this.#captures.has(index) && this.#isAsleep(index)) this.#wake(index);
    return this.#captures.has(index);
  }

  /** To be called when something has been read. */
  onRead(): void {
    for (const [index, link] of this.#captures) if (!this.#isAsleep(index)) link.close({ kind: 'stopped' });
  }

  stop(): void {
    for (const link of this.#captures.values()) link.close({ kind: 'stopped' });
  }

  #isAsleep(index: number): boolean {
    const sink = this.#state.sinks.get(index)?.info;
    return sink?.monitorSource !== undefined && keepsBack(this.#state, sink);
  }

  #wake(index: number): void {
    const source = this.#state.sinks.get(index)?.info.monitorSource;
    if (source === undefined) return;
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
        clearTimeout(timer);
        this.#captures.delete(index);
        this.#ended();
      },
    });
    const timer = setTimeout(giveUp, this.#limitMs);
    this.#captures.set(index, link);
  }
}
