// Wakes an output that keeps its volume to itself. A virtual output of PipeWire 1.4 that has never been awake accepts a volume or a
// mute and reports it nowhere: no event, and every reading has the old value. Capturing its monitor for a moment is enough to
// have it in force and reported, from then on at once (measured). What a command means is not decided here.

import type { RequestArgs } from '../../protocol/pulse/commands.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { SessionEvents } from '../../protocol/pulse/session.js';
import { RAW_NORM } from '../../protocol/pulse/volume.js';
import type { Link } from '../dial.js';
import type { Setting } from './commands.js';
import type { SoundState } from './state.js';
import { kindOf } from './view.js';

/** One more connection to the same server. */
export type OpenLink = (events: SessionEvents) => Link;

/** Gives the sink as long as it says nothing of what was set. */
export type Unsaid = () => SinkInfo | undefined;

const NONE: Unsaid = () => undefined;
const NOTHING = (): void => undefined;
/** `SinkInfo.state` of a sink that is awake. */
const RUNNING = 0;
/** PA_SAMPLE_FLOAT32LE, of 4 bytes, and PA_CHANNEL_POSITION_MONO. */
const FLOAT32 = 5;
const FLOAT32_BYTES = 4;
const MONO = 0;
const PEAKS_PER_SECOND = 25;

/**
 * To be asked for before the setting is sent. Unsaid is only what has not changed at all: of what hardware rounds,
 * or what others change as well, no more is to be known.
 */
export function unsaidBy(state: SoundState, { command, args }: Setting): Unsaid {
  if (command === 'SET_SINK_VOLUME') return unchanged(state, args.index, 'volume', args.volume);
  if (command === 'SET_SINK_MUTE') return unchanged(state, args.index, 'muted', args.muted);
  return NONE;
}

function unchanged(state: SoundState, index: number, field: 'volume' | 'muted', wanted: unknown): Unsaid {
  const sink = (): SinkInfo | undefined => state.sinks.get(index)?.info;
  const before = String(sink()?.[field]);
  if (state.server === undefined || kindOf(state.server) !== 'pipewire' || before === String(wanted))
    return NONE;
  return () => {
    const now = sink();
    return now !== undefined && String(now[field]) === before ? now : undefined;
  };
}

/** As little as a stream can carry: one number, 25 times a second. Nobody listens to it. */
function capture(source: number): RequestArgs<'CREATE_RECORD_STREAM'> {
  return {
    sampleSpec: { format: FLOAT32, channels: 1, rate: PEAKS_PER_SECOND },
    channelMap: [MONO],
    source,
    maxLength: undefined,
    corked: false,
    fragmentLength: FLOAT32_BYTES,
    noRemap: false,
    noRemix: false,
    fixFormat: false,
    fixRate: false,
    fixChannels: false,
    noMove: true,
    variableRate: false,
    peakDetect: true,
    adjustLatency: true,
    props: { 'media.name': 'Wake up' },
    directOnInput: undefined,
    earlyRequests: false,
    noInhibitAutoSuspend: false,
    failOnSuspend: false,
    formats: [],
    volume: [RAW_NORM],
    muted: false,
    volumeSet: false,
    mutedSet: false,
    relativeVolume: false,
    passthrough: false,
  };
}

/**
 * One at a time. The capture has a connection of its own and ends with it: whatever becomes of the capture, nothing of it is left,
 * and it is no concern of the connection that the records come from.
 */
export class Waker {
  readonly #open: OpenLink;
  #look = NOTHING;
  #stop = NOTHING;
  /** The sink that last had its time and said nothing: each command on it would take as long, so it is let sleep. */
  #inVain: number | undefined;

  constructor(open: OpenLink) {
    this.#open = open;
  }

  /** `sink`: as it is before. Resolves when nothing is unsaid any more, when the capture has failed, or after `limitMs`. */
  wake(sink: SinkInfo, unsaid: Unsaid, limitMs: number): Promise<void> {
    const { index, monitorSource, state } = sink;
    if (monitorSource === undefined || state === RUNNING || index === this.#inVain) return Promise.resolve();
    return new Promise((resolve) => {
      const link = this.#open({
        onReady: () =>
          link.request('CREATE_RECORD_STREAM', capture(monitorSource), (result) => {
            if (!result.ok) this.#stop();
          }),
        onEvent: () => undefined,
        onClosed: () => {
          clearTimeout(timer);
          this.#look = NOTHING;
          this.#stop = NOTHING;
          resolve();
        },
      });
      const timer = setTimeout(() => {
        this.#inVain = index;
        this.#stop();
      }, limitMs);
      this.#stop = () => link.close({ kind: 'stopped' });
      this.#look = () => {
        if (unsaid() === undefined) this.#stop();
      };
    });
  }

  /** Something has been read. */
  look(): void {
    this.#look();
  }

  stop(): void {
    this.#stop();
  }
}
