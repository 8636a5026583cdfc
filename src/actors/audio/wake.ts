// Wakes a virtual output of PipeWire 1.4 before its first command is planned, by capturing its monitor for a
// moment; and likewise a virtual input, by capturing the input itself.

import type { Clock } from '../../host/clock.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';

/** Opens one more connection to the same server. */
export type OpenLink = (events: LinkEvents) => Link;

type Device = 'sink' | 'source';

interface Capture {
  readonly of: Device;
  readonly index: number;
  readonly link: Link;
}

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * True if the server does not report the true volume and mute of a sink. PipeWire 1.4 does not report them
 * for a virtual sink that has never been awake. It reports 100 %, whatever WirePlumber has restored and
 * whatever volume and mute a command has set, so a step would start from the wrong volume. The first reading
 * in which the sink is idle or running has the true volume, and later changes are reported at once, also
 * while the sink sleeps (docs/development/what-we-learnt.md, "PulseAudio and PipeWire"). The sink of a card
 * always reports both. The flag PA_SINK_HARDWARE cannot decide this, because PipeWire 1.4.2 gives it to its
 * null sinks, too.
 */
export function hidesVolume(state: SoundState, sink: SinkInfo): boolean {
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
  /** The devices that are being woken, by kind and index. */
  readonly #captures = new Map<string, Capture>();
  readonly waking: ReadonlyMap<string, unknown> = this.#captures;

  /**
   * `onEnded` is called each time the waking of a device has ended, after `limitMs` at the latest, whether
   * the device has woken or not.
   */
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

  /** True if a command must wait for the sink or source; begins to wake it if needed. */
  wakeIfAsleep(of: Device, index: number): boolean {
    const key = `${of} ${index}`;
    if (this.#captures.has(key)) return true;
    const source = this.#sourceToCapture(of, index);
    if (source === undefined) return false;
    this.#wake(key, of, index, source);
    return true;
  }

  /** Ends the captures of devices that are awake. To be called when something has been read. */
  onRead(): void {
    for (const { of, index, link } of this.#captures.values())
      if (this.#sourceToCapture(of, index) === undefined) link.close({ kind: 'stopped' });
  }

  stop(): void {
    for (const { link } of this.#captures.values()) link.close({ kind: 'stopped' });
  }

  /** The monitor of a sink, or the source itself. Undefined for a device that is awake or cannot be woken. */
  #sourceToCapture(of: Device, index: number): number | undefined {
    const { kind, sinks, sources } = this.#state;
    if (of === 'source') return kind === 'pipewire' && sources.mayWake(index) ? index : undefined;
    const sink = sinks.get(index)?.info;
    return sink !== undefined && hidesVolume(this.#state, sink) ? sink.monitorSource : undefined;
  }

  #wake(key: string, of: Device, index: number, source: number): void {
    const giveUp = (): void => {
      if (of === 'sink') this.#state.letSleep(index);
      else this.#state.sources.letSleep(index);
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
        this.#captures.delete(key);
        this.#onEnded();
      },
    });
    const cancel = this.#clock.after(this.#limitMs, giveUp);
    this.#captures.set(key, { of, index, link });
  }
}
