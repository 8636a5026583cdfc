// Peak meters while somebody watches: one record stream on the monitor of each output that is playing. Other
// outputs get none, because PipeWire would wake them. Levels are computed in levels.ts.

import { type Clock, Timers } from '../../host/clock.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link } from '../dial.js';
import {
  isSame,
  levelsNow,
  levelText,
  loudestPeaks,
  type Peaks,
  peakStream,
  peaksOf,
  playingSinks,
} from './levels.js';
import type { SoundState } from './state.js';
import type { OpenLink } from './wake.js';

/** Outputs measured at a time, the first by index; further playing ones have no level. */
const METERS_MAX_OUTPUTS = 32;
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
  readonly sink: number;
  readonly source: number;
  readonly channels: number;
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
  readonly #meters = new Map<number, Meter>();
  isWatched = false;
  #link: Link | undefined;
  #isReady = false;
  /** True while a stream is being created. One at a time: of many, PipeWire leaves some unanswered. */
  #isCreating = false;
  /** Levels as far as known, also of outputs that are not measured. */
  #levels: Map<number, Peaks> = new Map();
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
    this.#levels.clear();
  }

  /** The sound server is lost: watchers get a level without outputs. */
  stop(): void {
    if (!this.isWatched) return;
    this.watch(false);
    this.#publish(levelText(new Map()));
  }

  /**
   * Opens the meters that are missing, closes those of outputs that no longer play, and sends the level. To
   * be called when something has been read while somebody watches.
   */
  follow(): void {
    const playing = playingSinks(this.#state);
    const desired = playing.slice(0, METERS_MAX_OUTPUTS);
    this.#loseLevels(playing.slice(METERS_MAX_OUTPUTS));
    if (desired.length === 0) this.#closeLink();
    else if (this.#link === undefined) this.#openLink();
    else if (this.#isReady) this.#fit(this.#link, desired);
    this.#send();
  }

  #fit(link: Link, desired: readonly SinkInfo[]): void {
    for (const meter of this.#meters.values()) {
      const { sink, source, channels } = meter;
      const found = desired.find(({ index }) => index === sink);
      if (found?.monitorSource === source && found.channelMap.length === channels) continue;
      this.#meters.delete(meter.sink);
      this.#end(link, meter);
    }
    const missing = desired.find(({ index }) => !this.#meters.has(index));
    if (missing?.monitorSource === undefined || this.#isCreating) return;
    this.#begin(link, missing, missing.monitorSource);
  }

  #openLink(): void {
    if (this.#timers.has('retry')) return;
    const link = this.#open({
      onReady: () => {
        this.#isReady = true;
        this.follow();
      },
      onEvent: () => undefined,
      onData: (stream, fragment) => this.#take(this.#meterOf(stream), fragment),
      onStreamKilled: (stream) => this.#failed(this.#meterOf(stream)),
      onClosed: () => {
        if (this.#link !== link) return;
        this.#forgetLink();
        this.#retryLater();
        this.#loseLevels(playingSinks(this.#state));
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
    this.#meters.clear();
  }

  #begin(link: Link, { index, channelMap }: SinkInfo, source: number): void {
    const channels = channelMap.length;
    const meter: Meter = { sink: index, source, channels, isUnsent: false, hasFailed: false };
    this.#meters.set(index, meter);
    this.#isCreating = true;
    const stream = peakStream(source, channelMap, 'Peak meter', true);
    link.request('CREATE_RECORD_STREAM', stream, (result) => {
      if (this.#link !== link) return;
      this.#isCreating = false;
      if (result.ok) meter.stream = result.value.stream;
      else if (result.error.kind === 'server') this.#failed(meter);
      // Without a reply it is unknown which streams exist.
      else return link.close({ kind: 'stopped' });
      if (this.#meters.get(index) !== meter) this.#end(link, meter);
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
  #loseLevels(sinks: readonly SinkInfo[]): void {
    for (const { index } of sinks) this.#levels.delete(index);
  }

  #meterOf(stream: number): Meter | undefined {
    return [...this.#meters.values()].find((meter) => meter.stream === stream);
  }

  #failed(meter: Meter | undefined): void {
    if (meter === undefined) return;
    meter.hasFailed = true;
    delete meter.stream;
    this.#levels.delete(meter.sink);
    this.#retryLater();
    this.#send();
  }

  #retryLater(): void {
    if (this.#timers.has('retry')) return;
    this.#timers.set('retry', RETRY_MS, () => {
      for (const meter of this.#meters.values()) if (meter.hasFailed) this.#meters.delete(meter.sink);
      this.follow();
    });
  }

  #take(meter: Meter | undefined, fragment: Uint8Array): void {
    if (meter === undefined) return;
    const before = this.#levels.get(meter.sink);
    const newest = peaksOf(fragment, meter.channels);
    // At rest the link is not paused: unchanged fragments, 40 times a second, stop here.
    if (this.#pace === 'rest' && before !== undefined && isSame(before, newest)) return;
    this.#levels.set(
      meter.sink,
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
    for (const meter of this.#meters.values()) meter.isUnsent = false;
    this.#levels = levelsNow(this.#state, this.#levels);
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
