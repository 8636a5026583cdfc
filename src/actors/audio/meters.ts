// Peak meters while somebody listens: a record stream on the monitor of each output that something plays to, and of no other, as
// PipeWire would wake an output for it. What a level is and when it is 0 by knowledge is levels.ts' business.

import type { SinkInfo } from '../../protocol/pulse/records.js';
import type { Link } from '../dial.js';
import {
  heldPeaks,
  isSame,
  levelsNow,
  levelText,
  type Peaks,
  peakStream,
  peaksOf,
  sounding,
} from './levels.js';
import type { SoundState } from './state.js';
import type { OpenLink } from './wake.js';

/** Outputs that are measured at a time, the first by index; of others that sound nothing is said. */
const METERS_MAX_OUTPUTS = 32;
/**
 * docs/events.md, "Levels": at most 10 a second, also where what the way delays comes together; 8 keep two outputs below 1 % of a core.
 * What is told first after a rest is often of half a window, the old and the new mixed: what follows it may come sooner, and that next one
 * later.
 */
const PAUSES_MS = { rest: 50, first: 150, busy: 120 } as const;
/** The rest of the first pause, when nothing has followed. */
const REST_OF_FIRST_MS = 50;
/** A meter, or the connection for them, that the server ended or would not make is tried again after this. */
const RETRY_MS = 2_000;

interface Meter {
  readonly sink: number;
  readonly source: number;
  readonly channels: number;
  /** The number of its record stream, once there is one. */
  stream?: number;
  /** Whether its level is of a fragment that came since a level was last said. */
  isHeld: boolean;
  hasFailed: boolean;
}

/**
 * All streams share one connection of their own, which ends when none is wanted: whatever becomes of a stream, nothing of it is left,
 * and it is no concern of the connection that the records come from. An end of that one has to be told by `stop`.
 */
export class Meters {
  readonly #open: OpenLink;
  readonly #state: SoundState;
  readonly #tell: (level: string) => void;
  /** By sink. */
  readonly #meters = new Map<number, Meter>();
  #isWatched = false;
  #link: Link | undefined;
  #isReady = false;
  /** One at a time: PipeWire leaves some of many unanswered. */
  #isCreating = false;
  /** As far as it is known, also of outputs that are not measured. */
  #levels: Map<number, Peaks> = new Map();
  #told: string | undefined;
  #soon: NodeJS.Immediate | undefined;
  #pause: NodeJS.Timeout | undefined;
  /** How things were when a level was last told, or not. */
  #pace: keyof typeof PAUSES_MS = 'rest';
  #retry: NodeJS.Timeout | undefined;

  /** `tell` takes the data of `audio.level`. */
  constructor(open: OpenLink, state: SoundState, tell: (level: string) => void) {
    this.#open = open;
    this.#state = state;
    this.#tell = tell;
  }

  /** To be called once everything has been read. Without anybody who listens there is no connection, no stream and no timer. */
  watch(watched: boolean): void {
    this.#isWatched = watched;
    this.#told = undefined;
    if (watched) this.#follow();
    else this.#rest();
  }

  #rest(): void {
    clearImmediate(this.#soon);
    clearTimeout(this.#pause);
    clearTimeout(this.#retry);
    this.#soon = undefined;
    this.#pause = undefined;
    this.#pace = 'rest';
    this.#retry = undefined;
    this.#closeLink();
    this.#levels.clear();
  }

  /** To be called when something has been read. */
  onRead(): void {
    if (this.#isWatched) this.#follow();
  }

  /** The sound server is lost: who listens is told that there are no outputs. */
  stop(): void {
    if (!this.#isWatched) return;
    this.watch(false);
    this.#tell(levelText(new Map()));
  }

  /** Opens and closes what is and is not wanted any more, and tells what this changes. */
  #follow(): void {
    const playing = sounding(this.#state);
    const wanted = playing.slice(0, METERS_MAX_OUTPUTS);
    this.#loseLevels(playing.slice(METERS_MAX_OUTPUTS));
    if (wanted.length === 0) this.#closeLink();
    else if (this.#link === undefined) this.#openLink();
    else if (this.#isReady) this.#fit(this.#link, wanted);
    this.#say();
  }

  #fit(link: Link, wanted: readonly SinkInfo[]): void {
    for (const meter of this.#meters.values()) {
      if (wanted.some((sink) => measures(meter, sink))) continue;
      this.#meters.delete(meter.sink);
      this.#end(link, meter);
    }
    const missing = wanted.find(({ index }) => !this.#meters.has(index));
    if (missing?.monitorSource === undefined || this.#isCreating) return;
    this.#begin(link, missing, missing.monitorSource);
  }

  #openLink(): void {
    if (this.#retry !== undefined) return;
    const link = this.#open({
      onReady: () => {
        this.#isReady = true;
        this.#follow();
      },
      onEvent: () => undefined,
      onData: (stream, fragment) => this.#take(this.#meterOf(stream), fragment),
      onStreamKilled: (stream) => this.#failed(this.#meterOf(stream)),
      onClosed: () => {
        if (this.#link !== link) return;
        this.#forgetLink();
        this.#retryLater();
        this.#loseLevels(sounding(this.#state));
        this.#say();
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
    const meter: Meter = {
      sink: index,
      source,
      channels: channelMap.length,
      isHeld: false,
      hasFailed: false,
    };
    this.#meters.set(index, meter);
    this.#isCreating = true;
    const stream = peakStream(source, channelMap, 'Peak meter', true);
    link.request('CREATE_RECORD_STREAM', stream, (result) => {
      if (this.#link !== link) return;
      this.#isCreating = false;
      if (result.ok) meter.stream = result.value.stream;
      else if (result.error.kind === 'server') this.#failed(meter);
      // Without an answer nobody knows what there is.
      else return link.close({ kind: 'stopped' });
      if (this.#meters.get(index) !== meter) this.#end(link, meter);
      this.#follow();
    });
  }

  #end(link: Link, { stream }: Meter): void {
    if (stream === undefined) return;
    link.request('DELETE_RECORD_STREAM', { stream }, (result) => {
      // The server's error says that there is none, which is what is wanted.
      if (!result.ok && result.error.kind !== 'server') link.close({ kind: 'stopped' });
    });
  }

  /** Nobody knows: what is told next does not hold them. */
  #loseLevels(sinks: readonly SinkInfo[]): void {
    for (const { index } of sinks) this.#levels.delete(index);
  }

  #meterOf(stream: number): Meter | undefined {
    for (const meter of this.#meters.values()) if (meter.stream === stream) return meter;
    return undefined;
  }

  #failed(meter: Meter | undefined): void {
    if (meter === undefined) return;
    meter.hasFailed = true;
    delete meter.stream;
    this.#levels.delete(meter.sink);
    this.#retryLater();
    this.#say();
  }

  #retryLater(): void {
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      for (const meter of this.#meters.values()) if (meter.hasFailed) this.#meters.delete(meter.sink);
      this.#follow();
    }, RETRY_MS);
  }

  #take(meter: Meter | undefined, fragment: Uint8Array): void {
    if (meter === undefined) return;
    const before = this.#levels.get(meter.sink);
    const newest = peaksOf(fragment, meter.channels);
    // At rest nothing is paused: what brings nothing new, 40 times a second, goes no further.
    if (this.#pace === 'rest' && before !== undefined && isSame(before, newest)) return;
    this.#levels.set(meter.sink, meter.isHeld && before !== undefined ? heldPeaks(before, newest) : newest);
    meter.isHeld = true;
    this.#say();
  }

  /** When all has been read that has come: at once when nothing was told lately, else as soon as it may be. */
  #say(): void {
    if (this.#pause !== undefined) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#sayNow();
    });
  }

  /** Not again what was told last. Until something may be told again nothing is read, which saves three of four wake-ups. */
  #sayNow(): void {
    for (const meter of this.#meters.values()) meter.isHeld = false;
    this.#levels = levelsNow(this.#state, this.#levels);
    const level = levelText(this.#levels);
    const pace = this.#pace;
    if (level !== this.#told) {
      this.#told = level;
      this.#tell(level);
      this.#pace = pace === 'rest' ? 'first' : 'busy';
      this.#wait(PAUSES_MS[pace]);
    } else if (pace === 'first') {
      this.#pace = 'busy';
      this.#wait(REST_OF_FIRST_MS);
    } else this.#pace = 'rest';
  }

  #wait(ms: number): void {
    this.#link?.pause();
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#link?.resume();
      this.#say();
    }, ms);
  }
}

function measures(
  { sink, source, channels }: Meter,
  { index, monitorSource, channelMap }: SinkInfo,
): boolean {
  return sink === index && source === monitorSource && channels === channelMap.length;
}
