// Decides when peak meters are open, and when the measured levels are sent. A level event (`audio.level`) has
// the levels of all devices. levels.ts decides which devices are measured, and what a level event contains.

import { type Clock, Timers } from '../../host/clock.js';
import type { Link } from '../dial.js';
import { Captures } from './captures.js';
import {
  areSamePeaks,
  currentLevels,
  hasAwakeInput,
  type Levels,
  levelText,
  louderPeaks,
  type MeteredDevice,
  meteredDevices,
  peakStream,
  peaksOf,
} from './levels.js';
import type { SoundState } from './state.js';
import type { OpenLink } from './wake.js';

/**
 * At most this many devices have a meter at a time: first outputs, then inputs. Further devices have no
 * level.
 */
const METERS_MAX_DEVICES = 32;
/**
 * The pause after a level event, by the event's place in its series. A series begins with the first level
 * event after a time without changes:
 * - `first`: The first event often mixes old and new sound, so the second event comes soon.
 * - `second`: Two events in 200 ms are as many as docs/events.md, "Levels", allows: 10 in a second.
 * - `later`: With this pause, at most 8 events are sent in a second. So clients get at most 10 in a second,
 *   even if the network delivers delayed events together. The meters of two outputs take about 1 % of a core
 *   (bench/FIGURES.md).
 */
const PAUSES_MS = { first: 50, second: 150, later: 120 } as const;
/** This pause follows if the second event of a series is not sent, because no level has changed. */
const UNCHANGED_SECOND_MS = 50;
/** The pause before a meter or a connection is tried again, after the server ended or refused it. */
const RETRY_MS = 2_000;

/**
 * A stream that records an output's monitor, or an input. Outputs without a playing stream, and inputs that
 * no other program captures, get no meter. A meter would wake them, or keep them awake.
 */
interface Meter {
  readonly device: MeteredDevice;
  /** The index of the stream; absent until the stream has been created, and after a failure. */
  stream?: number;
  /**
   * True if `#onFragment` has stored peaks since `#sendNow` last ran. After `#sendNow` all peaks count as
   * sent, even if `#sendNow` has published nothing because no level has changed.
   */
  hasUnsentPeaks: boolean;
  /** A failed meter stays in `#meters`, so that it is not started again before the end of `RETRY_MS`. */
  hasFailed: boolean;
}

/**
 * The streams of the meters have a connection of their own, and end with it. So no stream is left over, and
 * no failure affects the main connection.
 */
export class Meters {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #publish: (text: string) => void;
  readonly #captures = new Captures(() => this.update());
  readonly #meters = new Set<Meter>();
  /** True while somebody watches the levels. */
  isWatched = false;
  #link: Link | undefined;
  #isReady = false;
  /**
   * True while a stream is being created. Streams are created one by one, because PipeWire leaves some
   * requests unanswered if many come at a time.
   */
  #isCreating = false;
  /** The last known levels. Outputs at which nothing plays have 0. */
  #levels: Levels = noLevels();
  #sentText: string | undefined;
  #sendImmediate: NodeJS.Immediate | undefined;
  readonly #timers: Timers<'pause' | 'retry'>;
  /**
   * The place of the next level event in its series. An event is not sent if no level has changed. Then the
   * series goes on if the event is the second one, and ends if it is a later one.
   */
  #nextPlace: keyof typeof PAUSES_MS = 'first';

  constructor(open: OpenLink, state: SoundState, clock: Clock, publish: (text: string) => void) {
    this.#open = open;
    this.#state = state;
    this.#timers = new Timers(clock);
    this.#publish = publish;
  }

  /**
   * To be called only after everything has been read. After a call with true, the next level event is sent
   * even if no level has changed, because the watcher may be new. Without watchers there is no connection,
   * stream or timer.
   */
  setWatched(isWatched: boolean): void {
    this.isWatched = isWatched;
    this.#sentText = undefined;
    if (isWatched) {
      this.update();
      return;
    }
    clearImmediate(this.#sendImmediate);
    this.#sendImmediate = undefined;
    this.#timers.cancelAll();
    this.#nextPlace = 'first';
    this.#closeLink();
    this.#levels = noLevels();
  }

  /**
   * To be called when the main connection has ended. Watchers get a level event without outputs and inputs.
   */
  stop(): void {
    if (!this.isWatched) return;
    this.setWatched(false);
    this.#publish(levelText(noLevels()));
  }

  /** To be called when something has been read while somebody watches. */
  update(): void {
    const devices = this.#devicesToMeter();
    const desired = devices.slice(0, METERS_MAX_DEVICES);
    const leftOut = devices.slice(METERS_MAX_DEVICES);
    this.#forgetLevels(leftOut);
    // An awake input needs the link even without a meter, because the link reports when another program
    // captures the input.
    if (desired.length === 0 && !hasAwakeInput(this.#state)) this.#closeLink();
    else if (this.#link === undefined) this.#openLink();
    else if (this.#isReady) {
      // Only the first call of `begin` with a link has an effect.
      if (this.#state.sources.all.length > 0) this.#captures.begin(this.#link);
      this.#startAndStopMeters(this.#link, desired);
    }
    this.#send();
  }

  #devicesToMeter(): readonly MeteredDevice[] {
    return meteredDevices(this.#state, this.#captures.capturedSources);
  }

  /**
   * Stops the meters that are not desired, and starts one that is missing. After the server's answer,
   * `update` starts the next missing one.
   */
  #startAndStopMeters(link: Link, desired: readonly MeteredDevice[]): void {
    for (const meter of this.#meters) {
      if (desired.some((device) => isSameDevice(device, meter.device))) continue;
      this.#meters.delete(meter);
      this.#stopMeter(link, meter);
    }
    const metered = [...this.#meters].map(({ device }) => device);
    const missing = desired.find((device) => !metered.some((other) => isSameDevice(device, other)));
    if (missing !== undefined && !this.#isCreating) this.#startMeter(link, missing);
  }

  #openLink(): void {
    if (this.#timers.has('retry')) return;
    // `#open` calls none of these functions before it returns, so `link` is set when they run.
    const link = this.#open({
      onReady: () => {
        this.#isReady = true;
        this.update();
      },
      onEvent: (event) => this.#captures.onEvent(event),
      onData: (stream, fragment) => this.#onFragment(this.#meterOf(stream), fragment),
      onStreamKilled: (stream) => this.#onMeterFailed(this.#meterOf(stream)),
      onClosed: () => {
        if (this.#link !== link) return;
        this.#forgetLink();
        this.#retryLater();
        this.#forgetLevels(this.#devicesToMeter());
        this.#send();
      },
    });
    this.#link = link;
  }

  #closeLink(): void {
    const link = this.#link;
    this.#forgetLink();
    link?.close({ kind: 'stopped' });
  }

  #forgetLink(): void {
    this.#link = undefined;
    this.#isReady = false;
    this.#isCreating = false;
    this.#captures.end();
    this.#meters.clear();
  }

  #startMeter(link: Link, device: MeteredDevice): void {
    const meter: Meter = { device, hasUnsentPeaks: false, hasFailed: false };
    this.#meters.add(meter);
    this.#isCreating = true;
    const letsDeviceSleep = true;
    const stream = peakStream(device.source, device.channelMap, 'Peak meter', letsDeviceSleep);
    link.request('CREATE_RECORD_STREAM', stream, (result) => {
      if (this.#link !== link) return;
      this.#isCreating = false;
      if (result.ok) meter.stream = result.value.stream;
      else if (result.error.kind === 'server') this.#onMeterFailed(meter);
      else {
        // Without a reply it is unknown which streams exist.
        link.close({ kind: 'stopped' });
        return;
      }
      // The meter may have been stopped before its stream was created.
      if (!this.#meters.has(meter)) this.#stopMeter(link, meter);
      this.update();
    });
  }

  #stopMeter(link: Link, { stream }: Meter): void {
    if (stream === undefined) return;
    link.request('DELETE_RECORD_STREAM', { stream }, (result) => {
      // An error of the server means that the stream has ended already.
      if (!result.ok && result.error.kind !== 'server') link.close({ kind: 'stopped' });
    });
  }

  /** Leaves these devices out of the next level event. */
  #forgetLevels(devices: readonly MeteredDevice[]): void {
    for (const { list, index } of devices) this.#levels[list].delete(index);
  }

  #meterOf(stream: number): Meter | undefined {
    return [...this.#meters].find((meter) => meter.stream === stream);
  }

  #onMeterFailed(meter: Meter | undefined): void {
    if (meter === undefined) return;
    meter.hasFailed = true;
    delete meter.stream;
    this.#forgetLevels([meter.device]);
    this.#retryLater();
    this.#send();
  }

  #retryLater(): void {
    if (this.#timers.has('retry')) return;
    this.#timers.set('retry', RETRY_MS, () => {
      for (const meter of this.#meters) if (meter.hasFailed) this.#meters.delete(meter);
      this.update();
    });
  }

  #onFragment(meter: Meter | undefined, fragment: Uint8Array): void {
    if (meter === undefined) return;
    const { list, index, channelMap } = meter.device;
    const oldPeaks = this.#levels[list].get(index);
    const newPeaks = peaksOf(fragment, channelMap.length);
    const isUnchanged = oldPeaks !== undefined && areSamePeaks(oldPeaks, newPeaks);
    // Between two series the link is not paused. Each meter then gets 20 fragments a second, mostly equal.
    if (this.#nextPlace === 'first' && isUnchanged) return;
    // The next level event has the highest sample since the last event (docs/events.md, "Levels"). So older
    // peaks count, too, if they have not been sent yet.
    const unsentPeaks = meter.hasUnsentPeaks ? oldPeaks : undefined;
    const peaks = unsentPeaks === undefined ? newPeaks : louderPeaks(unsentPeaks, newPeaks);
    this.#levels[list].set(index, peaks);
    meter.hasUnsentPeaks = true;
    this.#send();
  }

  /** Sends the levels after all received data has been read, but not before the end of a pause. */
  #send(): void {
    if (this.#timers.has('pause')) return;
    this.#sendImmediate ??= setImmediate(() => {
      this.#sendImmediate = undefined;
      this.#sendNow();
    });
  }

  #sendNow(): void {
    for (const meter of this.#meters) meter.hasUnsentPeaks = false;
    this.#levels = currentLevels(this.#state, this.#captures.capturedSources, this.#levels);
    const text = levelText(this.#levels);
    const place = this.#nextPlace;
    if (text !== this.#sentText) {
      this.#sentText = text;
      this.#publish(text);
      this.#nextPlace = place === 'first' ? 'second' : 'later';
      this.#startPause(PAUSES_MS[place]);
    } else if (place === 'second') {
      // This pause completes the 100 ms after the first event.
      this.#nextPlace = 'later';
      this.#startPause(UNCHANGED_SECOND_MS);
    } else this.#nextPlace = 'first';
  }

  /** Nothing is read from the link during a pause. Afterwards one wake-up reads all fragments. */
  #startPause(ms: number): void {
    this.#link?.pause();
    this.#timers.set('pause', ms, () => {
      this.#link?.resume();
      this.#send();
    });
  }
}

function noLevels(): Levels {
  return { outputs: new Map(), inputs: new Map() };
}

/** True if one meter fits both: the source and the number of channels are the same. */
function isSameDevice(one: MeteredDevice, other: MeteredDevice): boolean {
  const isSameSource = one.list === other.list && one.index === other.index && one.source === other.source;
  return isSameSource && one.channelMap.length === other.channelMap.length;
}
