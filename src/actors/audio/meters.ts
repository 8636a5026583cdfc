// Peak meters while somebody watches: one record stream for each output that plays, on its monitor, and for
// each input that others capture. All others get none, because it would wake them, or keep them running.
// Levels are computed in levels.ts.

import { type Clock, Timers } from '../../host/clock.js';
import type { Link } from '../dial.js';
import { Captures } from './captures.js';
import {
  hasAwakeInput,
  isSame,
  type Levels,
  levelsNow,
  levelText,
  loudestPeaks,
  type Metered,
  meteredDevices,
  peakStream,
  peaksOf,
} from './levels.js';
import type { SoundState } from './state.js';
import type { OpenLink } from './wake.js';

/** Devices measured at a time, outputs first, by index; further ones have no level. */
const METERS_MAX_DEVICES = 32;
/**
 * At most 10 levels a second, also where the network delivers delayed ones together (docs/events.md,
 * "Levels"); with 8 a second, two outputs take less than 1 % of a core. The first level after a rest often
 * mixes old and new sound. So the second one comes sooner, and the third one later.
 */
const PAUSES_MS = { rest: 50, first: 150, busy: 120 } as const;
/** The remaining part of the first pause, when nothing has followed. */
const REST_OF_FIRST_MS = 50;
/** Pause before a meter or the meters' connection is tried again after the server ended or refused it. */
const RETRY_MS = 2_000;

interface Meter {
  readonly of: Metered;
  /** The index of its record stream, once created. */
  stream?: number;
  /** True if its level includes a fragment that came after the last sent level. */
  isUnsent: boolean;
  hasFailed: boolean;
}

/**
 * All streams share a connection of their own: none is left over, and no failure affects the main one, at
 * whose end `stop` is called.
 */
export class Meters {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #publish: (level: string) => void;
  readonly #captures = new Captures(() => this.follow());
  readonly #meters = new Set<Meter>();
  isWatched = false;
  #link: Link | undefined;
  #isReady = false;
  /** True while a stream is being created. One at a time: of many, PipeWire leaves some unanswered. */
  #isCreating = false;
  /** Levels as far as known, also of outputs that are not measured. */
  #levels: Levels = noLevels();
  #sent: string | undefined;
  #soon: NodeJS.Immediate | undefined;
  readonly #timers: Timers<'pause' | 'retry'>;
  /** The pace when a level was last sent, or found unchanged. */
  #pace: keyof typeof PAUSES_MS = 'rest';

  constructor(open: OpenLink, state: SoundState, clock: Clock, publish: (level: string) => void) {
    this.#open = open;
    this.#state = state;
    this.#timers = new Timers(clock);
    this.#publish = publish;
  }

  /**
   * To be called once everything has been read. While nobody watches there is no connection, stream or timer.
   */
  watch(watched: boolean): void {
    this.isWatched = watched;
    this.#sent = undefined;
    if (watched) {
      this.follow();
      return;
    }
    clearImmediate(this.#soon);
    this.#soon = undefined;
    this.#timers.cancelAll();
    this.#pace = 'rest';
    this.#closeLink();
    this.#levels = noLevels();
  }

  /** The sound server is lost: watchers get a level without outputs. */
  stop(): void {
    if (!this.isWatched) return;
    this.watch(false);
    this.#publish(levelText(noLevels()));
  }

  /**
   * Opens the meters that are missing, closes those of devices that no longer run, and sends the level. To be
   * called when something has been read while somebody watches.
   */
  follow(): void {
    const running = this.#running();
    const desired = running.slice(0, METERS_MAX_DEVICES);
    this.#loseLevels(running.slice(METERS_MAX_DEVICES));
    if (desired.length === 0 && !hasAwakeInput(this.#state)) this.#closeLink();
    else if (this.#link === undefined) this.#openLink();
    else if (this.#isReady) {
      if (this.#state.sources.all.length > 0) this.#captures.begin(this.#link);
      this.#fit(this.#link, desired);
    }
    this.#send();
  }

  #running(): readonly Metered[] {
    return meteredDevices(this.#state, this.#captures.captured);
  }

  #fit(link: Link, desired: readonly Metered[]): void {
    for (const meter of this.#meters) {
      if (desired.some((device) => isSameDevice(device, meter.of))) continue;
      this.#meters.delete(meter);
      this.#end(link, meter);
    }
    const metered = [...this.#meters];
    const missing = desired.find((device) => !metered.some(({ of }) => isSameDevice(device, of)));
    if (missing !== undefined && !this.#isCreating) this.#begin(link, missing);
  }

  #openLink(): void {
    if (this.#timers.has('retry')) return;
    const link = this.#open({
      onReady: () => {
        this.#isReady = true;
        this.follow();
      },
      onEvent: (event) => this.#captures.onEvent(event),
      onData: (stream, fragment) => this.#take(this.#meterOf(stream), fragment),
      onStreamKilled: (stream) => this.#failed(this.#meterOf(stream)),
      onClosed: () => {
        if (this.#link !== link) return;
        this.#forgetLink();
        this.#retryLater();
        this.#loseLevels(this.#running());
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

  #begin(link: Link, of: Metered): void {
    const meter: Meter = { of, isUnsent: false, hasFailed: false };
    this.#meters.add(meter);
    this.#isCreating = true;
    const stream = peakStream(of.source, of.channelMap, 'Peak meter', true);
    link.request('CREATE_RECORD_STREAM', stream, (result) => {
      if (this.#link !== link) return;
      this.#isCreating = false;
      if (result.ok) meter.stream = result.value.stream;
      else if (result.error.kind === 'server') this.#failed(meter);
      // Without a reply it is unknown which streams exist.
      else return link.close({ kind: 'stopped' });
      if (!this.#meters.has(meter)) this.#end(link, meter);
      this.follow();
    });
  }

  #end(link: Link, { stream }: Meter): void {
    if (stream === undefined) return;
    link.request('DELETE_RECORD_STREAM', { stream }, (result) => {
      // A server's error means that there is no such stream. That is what the request was for.
      if (!result.ok && result.error.kind !== 'server') link.close({ kind: 'stopped' });
    });
  }

  /** Forgets levels that are unknown now; the next sent level leaves them out. */
  #loseLevels(devices: readonly Metered[]): void {
    for (const { list, index } of devices) this.#levels[list].delete(index);
  }

  #meterOf(stream: number): Meter | undefined {
    return [...this.#meters].find((meter) => meter.stream === stream);
  }

  #failed(meter: Meter | undefined): void {
    if (meter === undefined) return;
    meter.hasFailed = true;
    delete meter.stream;
    this.#loseLevels([meter.of]);
    this.#retryLater();
    this.#send();
  }

  #retryLater(): void {
    if (this.#timers.has('retry')) return;
    this.#timers.set('retry', RETRY_MS, () => {
      for (const meter of this.#meters) if (meter.hasFailed) this.#meters.delete(meter);
      this.follow();
    });
  }

  #take(meter: Meter | undefined, fragment: Uint8Array): void {
    if (meter === undefined) return;
    const { list, index, channelMap } = meter.of;
    const before = this.#levels[list].get(index);
    const newest = peaksOf(fragment, channelMap.length);
    // At rest the link is not paused: unchanged fragments, 40 times a second, stop here.
    if (this.#pace === 'rest' && before !== undefined && isSame(before, newest)) return;
    this.#levels[list].set(
      index,
      meter.isUnsent && before !== undefined ? loudestPeaks(before, newest) : newest,
    );
    meter.isUnsent = true;
    this.#send();
  }

  /** Sends after everything received has been read: at once after a rest, else when the pause ends. */
  #send(): void {
    if (this.#timers.has('pause')) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#sendNow();
    });
  }

  /** Sends only a changed level. During the pause nothing is read, which saves three of four wake-ups. */
  #sendNow(): void {
    for (const meter of this.#meters) meter.isUnsent = false;
    this.#levels = levelsNow(this.#state, this.#captures.captured, this.#levels);
    const level = levelText(this.#levels);
    const pace = this.#pace;
    if (level !== this.#sent) {
      this.#sent = level;
      this.#publish(level);
      this.#pace = pace === 'rest' ? 'first' : 'busy';
      this.#wait(PAUSES_MS[pace]);
    } else if (pace === 'first') {
      this.#pace = 'busy';
      this.#wait(REST_OF_FIRST_MS);
    } else this.#pace = 'rest';
  }

  #wait(ms: number): void {
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

/** False for a device that is captured in another way than before. */
function isSameDevice(one: Metered, other: Metered): boolean {
  const isSameSource = one.list === other.list && one.index === other.index && one.source === other.source;
  return isSameSource && one.channelMap.length === other.channelMap.length;
}
