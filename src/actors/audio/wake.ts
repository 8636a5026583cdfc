// Wakes virtual outputs and inputs of PipeWire 1.4 before their first command is planned. A virtual device
// belongs to no card. It wakes when its sound is captured for a moment.

import type { Clock } from '../../host/clock.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link, LinkEvents } from '../dial.js';
import { peakStream } from './levels.js';
import type { SoundState } from './state.js';

/** Opens a connection to the sound server, in addition to the main connection. */
export type OpenLink = (events: LinkEvents) => Link;

type DeviceKind = 'sink' | 'source';

interface WakingCapture {
  readonly kind: DeviceKind;
  readonly index: number;
  readonly link: Link;
}

/** PA_CHANNEL_POSITION_MONO. */
const MONO = 0;

/**
 * True if the volume and mute of the sink, as read, may be wrong because the sink has never been awake. False
 * after the sink has failed to wake.
 *
 * PipeWire 1.4 does not report the true volume and mute of a virtual sink that has never been awake. It
 * reports 100 %, whatever WirePlumber has restored or a command has set. So a step would start from the wrong
 * volume. The first reading in which the sink is idle or running has the true volume. All later readings
 * have it, too (docs/development/what-we-learnt.md, "PulseAudio and PipeWire").
 *
 * The sink of a card always reports its true volume and mute. The flag PA_SINK_HARDWARE does not distinguish
 * such a sink from a virtual sink, because PipeWire 1.4.2 gives this flag to its null sinks, too.
 */
export function hidesVolume(state: SoundState, sink: SinkInfo): boolean {
  return sink.card === undefined && state.hasNotBeenAwake(sink.index) && state.kind === 'pipewire';
}

/**
 * Each capture has a connection of its own. The capture ends when this connection is closed, so no stream
 * is left over. No failure of a capture affects the main connection.
 */
export class Waker {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #wakeMaxMs: number;
  readonly #onCaptureEnded: () => void;
  /** By the kind and index of the device. */
  readonly #captures = new Map<string, WakingCapture>();
  /** Has one entry for each device that is being woken. Its values are of no use outside of this class. */
  readonly devicesBeingWoken: ReadonlyMap<string, unknown> = this.#captures;

  /** `onCaptureEnded` is called at the end of each capture, at most `wakeMaxMs` after its beginning. */
  constructor(
    open: OpenLink,
    state: SoundState,
    clock: Pick<Clock, 'after'>,
    wakeMaxMs: number,
    onCaptureEnded: () => void,
  ) {
    this.#open = open;
    this.#state = state;
    this.#clock = clock;
    this.#wakeMaxMs = wakeMaxMs;
    this.#onCaptureEnded = onCaptureEnded;
  }

  /** Returns true if a command must wait, because the device is being woken now. */
  wakeIfAsleep(kind: DeviceKind, index: number): boolean {
    const key = `${kind} ${index}`;
    if (this.#captures.has(key)) return true;
    const source = this.#sourceToCapture(kind, index);
    if (source === undefined) return false;
    this.#wake(key, kind, index, source);
    return true;
  }

  /** Ends the captures of devices that are awake or gone. To be called when a record has been read. */
  onRead(): void {
    for (const { kind, index, link } of this.#captures.values())
      if (this.#sourceToCapture(kind, index) === undefined) link.close({ kind: 'stopped' });
  }

  stop(): void {
    for (const { link } of this.#captures.values()) link.close({ kind: 'stopped' });
  }

  /**
   * The index of the source to capture: the monitor of a sink, or the source itself. Undefined if the device
   * need not or cannot be woken.
   */
  #sourceToCapture(kind: DeviceKind, index: number): number | undefined {
    const { kind: serverKind, sinks, sources } = this.#state;
    if (kind === 'source') {
      // No check for a card is needed here, because `hasNotBeenAwake` is false for sources of cards.
      const mustWake = serverKind === 'pipewire' && sources.hasNotBeenAwake(index);
      return mustWake ? index : undefined;
    }
    const sink = sinks.get(index)?.info;
    if (sink === undefined || !hidesVolume(this.#state, sink)) return undefined;
    return sink.monitorSource;
  }

  #wake(key: string, kind: DeviceKind, index: number, source: number): void {
    const markFailed = (): void => {
      if (kind === 'sink') this.#state.giveUpWaking(index);
      else this.#state.sources.giveUpWaking(index);
    };
    // `giveUp` and `onClosed` use constants that are declared below them. This is safe, because both are
    // called only after `#wake` has returned (dial.ts).
    const giveUp = (): void => {
      markFailed();
      link.close({ kind: 'stopped' });
    };
    const letsDeviceSleep = false;
    const stream = peakStream(source, [MONO], 'Wake up', letsDeviceSleep);
    const link = this.#open({
      onReady: () =>
        link.request('CREATE_RECORD_STREAM', stream, (result) => {
          // After any other error the link ends by itself, or the timer below ends it.
          if (!result.ok && result.error.kind === 'server') giveUp();
        }),
      onEvent: () => undefined,
      onClosed: (reason) => {
        cancelGiveUp();
        // The reason is `stopped` if this file has closed the link. This is no failure, except in `giveUp`,
        // which has called `markFailed` already.
        if (reason.kind !== 'stopped') markFailed();
        this.#captures.delete(key);
        this.#onCaptureEnded();
      },
    });
    const cancelGiveUp = this.#clock.after(this.#wakeMaxMs, giveUp);
    this.#captures.set(key, { kind, index, link });
  }
}
