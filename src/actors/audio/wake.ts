// Wakes an output that keeps its volume to itself, before the first command on it is planned. A virtual output of PipeWire 1.4
// that has never been awake is shown at 100 %, whatever WirePlumber has restored, and accepts a volume or a mute that it reports
// nowhere: a step would be counted from the wrong volume. Capturing its monitor for a moment is enough: with the first reading that
// is idle or running comes the true volume, and from then on changes are reported at once, also asleep (measured, 12 of 12 times).

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';
import { kindOfServer } from './view.js';

/** One more connection to the same server. */
export type OpenLink = (events: LinkEvents) => Link;

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * Whether the output keeps its volume and mute to itself. What belongs to a card has them there, asleep or not (the flag
 * PA_SINK_HARDWARE says nothing: PipeWire 1.4.2 gives it to its null sinks, too).
 */
export function keepsBack(state: SoundState, sink: SinkInfo): boolean {
  const { server } = state;
  const virtual = sink.card === undefined;
  return virtual && state.mayWake(sink.index) && server !== undefined && kindOfServer(server) === 'pipewire';
}

/**
 * Each capture has a connection of its own and ends with it: whatever becomes of the capture, nothing of it is left, and it is no
 * concern of the connection that the records come from.
 */
export class Waker {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #limitMs: number;
  readonly #ended: () => void;
  /** By the sink that is captured. */
  readonly #captures = new Map<number, Link>();

  /** `ended` is called each time when a sink keeps nothing back any more, or will not wake: after `limitMs` at the latest. */
  constructor(open: OpenLink, state: SoundState, limitMs: number, ended: () => void) {
    this.#open = open;
    this.#state = state;
    this.#limitMs = limitMs;
    this.#ended = ended;
  }

  /** Whether the sink has to be waited for; if so, it is being woken. */
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
