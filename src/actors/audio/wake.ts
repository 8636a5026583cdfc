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

const DO_NOTHING = (): void => undefined;
/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * Whether the output keeps its volume and mute to itself. What belongs to a card has them there, asleep or not (the flag
 * PA_SINK_HARDWARE says nothing: PipeWire 1.4.2 gives it to its null sinks, too).
 */
export function keepsBack(state: SoundState, sink: SinkInfo): boolean {
  const { server } = state;
  const virtual = sink.card === undefined;
  return (
    virtual && state.neverAwake(sink.index) && server !== undefined && kindOfServer(server) === 'pipewire'
  );
}

/**
 * One at a time. The capture has a connection of its own and ends with it: whatever becomes of the capture, nothing of it is left,
 * and it is no concern of the connection that the records come from.
 */
export class Waker {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  #check = DO_NOTHING;
  #stop = DO_NOTHING;
  /** The sink that last had its time and did not wake: each command on it would take as long, so it is let sleep. */
  #sleepsOn: number | undefined;

  constructor(open: OpenLink, state: SoundState) {
    this.#open = open;
    this.#state = state;
  }

  /** Resolves when the sink keeps nothing back (any more), when the capture has failed, or after `limitMs`. */
  wake(index: number, limitMs: number): Promise<void> {
    const asleep = (): SinkInfo | undefined => {
      const sink = this.#state.sinks.get(index)?.info;
      return sink !== undefined && keepsBack(this.#state, sink) ? sink : undefined;
    };
    const source = asleep()?.monitorSource;
    if (source === undefined || index === this.#sleepsOn) return Promise.resolve();
    return new Promise((resolve) => {
      const link = this.#open({
        onReady: () =>
          link.request('CREATE_RECORD_STREAM', peakStream(source, [MONO], 'Wake up', false), (result) => {
            if (!result.ok) this.#stop();
          }),
        onEvent: () => undefined,
        onClosed: () => {
          clearTimeout(timer);
          this.#check = DO_NOTHING;
          this.#stop = DO_NOTHING;
          resolve();
        },
      });
      const timer = setTimeout(() => {
        this.#sleepsOn = index;
        this.#stop();
      }, limitMs);
      this.#stop = () => link.close({ kind: 'stopped' });
      this.#check = () => {
        if (asleep() === undefined) this.#stop();
      };
    });
  }

  /** To be called when something has been read. */
  onRead(): void {
    this.#check();
  }

  stop(): void {
    this.#stop();
  }
}
