// Fades an output to silence, and puts its volume back when nothing plays there any more. If somebody else
// sets the volume meanwhile, that volume stays, and the fade is over.

import { type Clock, Timers } from '../../host/clock.js';
import type { Turns } from '../../host/turns.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { fractionOf, loudestOf } from '../../protocol/pulse/volume.js';
import type { SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';
import { hidesVolume } from './wake.js';

/** The pause between two steps of `fadeOut`. Each of them lowers the volume a little. */
const STEP_MS = 250;
/**
 * The pause before the first check whether the volume may be put back. Each further pause is twice as long
 * as the pause before it, but at most `SILENCE_PAUSE_MAX_MS` or `MISSING_PAUSE_MAX_MS`.
 */
const FIRST_PAUSE_MS = 500;
/**
 * The largest pause of `putBackWhenSilent` while the output is there. It is long, because the output may
 * become silent only after hours: a stream that belongs to no player cannot be paused, and plays on at
 * volume 0.
 */
const SILENCE_PAUSE_MAX_MS = 30_000;
/**
 * The largest pause of `putBackWhenThere`, and of `putBackWhenSilent` while the output is missing. It is
 * short, because music may play at the lowered volume when the output comes back.
 */
const MISSING_PAUSE_MAX_MS = 1_000;
/**
 * A mixer may round the requested volume. The rounded volume differs from the requested one by at most this
 * much (1 is 100 %). A larger difference means that somebody else has set the volume.
 */
const MIXER_DEVIATION_MAX = 0.1;
/**
 * The largest such difference if the output is read only some time after the step (`Fade.#unreadVolume`). It
 * is smaller, because somebody else may have set the volume in that time.
 */
const LATE_DEVIATION_MAX = 0.03;

export interface FadeContext {
  readonly state: SoundState;
  readonly clock: Clock;
  /**
   * All fades share it, so that only one step runs at a time. Otherwise a step would mistake the change of
   * another step for a change by somebody else.
   */
  readonly turns: Turns;
  readonly run: (command: SoundCommand) => Promise<Answer>;
}

/** An output whose volume a fade has not put back yet. In all volumes, 1 means 100 %. */
export interface LoweredOutput {
  /** The name of its sink. */
  readonly output: string;
  /** The volume before the fade. It may be above the volume limit. */
  readonly before: number;
  /** The volume that the fade has read last. */
  readonly last: number;
  /** The requested volume of a step after which the output has not been read (`Fade.#unreadVolume`). */
  readonly unread?: number | undefined;
}

/** A fade of the default output; undefined if there is no default output, or nothing plays to it. */
export function fadeOfDefault(context: FadeContext): Fade | undefined {
  const sink = context.state.defaultSink()?.info;
  if (sink === undefined || !isPlayedTo(context.state, sink)) return undefined;
  const volume = volumeOf(sink);
  return new Fade(context, { output: sink.name, before: volume, last: volume });
}

/** A fade that puts back the volume of an output. An earlier thread or process has lowered this volume. */
export function recalledFade(context: FadeContext, lowered: LoweredOutput): Fade {
  // The first reading may differ a little from `last`, because the server may now round volumes in another
  // way. `Fade` allows a difference (`LATE_DEVIATION_MAX`) only for an unread volume. So `last` becomes the
  // unread volume if `lowered` has none.
  return new Fade(context, { ...lowered, unread: lowered.unread ?? lowered.last });
}

function isPlayedTo({ sinkInputs }: SoundState, { index }: SinkInfo): boolean {
  return [...sinkInputs.values()].some(({ info }) => info.sink === index && !info.corked);
}

const volumeOf = ({ volume }: SinkInfo): number => fractionOf(loudestOf(volume));

export class Fade {
  readonly #context: FadeContext;
  readonly #timers: Timers<'wait'>;
  /** The sink is found by its name, because its index may change with a reconnection. */
  readonly sinkName: string;
  /** `LoweredOutput.before`. */
  readonly #volumeBefore: number;
  /**
   * `LoweredOutput.last`. It may differ from the requested volume, because mixers round volumes. Until the
   * next step, the fade expects this volume in each reading.
   */
  #expectedVolume: number;
  /**
   * The requested volume of a step after which the output has not been read; undefined if there is no such
   * step. If the connection ended during the step, the sound server may have set this volume all the same.
   * Later steps do not replace this value: while there is no connection, they are not sent, so the server
   * cannot have set their volumes.
   */
  #unreadVolume: number | undefined;
  /** True after the volume has been put back, after `end`, and after somebody else has set the volume. */
  isOver = false;
  #isFadingOut = false;

  constructor(context: FadeContext, { output, before, last, unread }: LoweredOutput) {
    this.#context = context;
    this.#timers = new Timers(context.clock);
    this.sinkName = output;
    this.#volumeBefore = before;
    this.#expectedVolume = last;
    this.#unreadVolume = unread;
  }

  /** The next thread or process passes this value to `recalledFade`. */
  get lowered(): LoweredOutput {
    return {
      output: this.sinkName,
      before: this.#volumeBefore,
      last: this.#expectedVolume,
      unread: this.#unreadVolume,
    };
  }

  /**
   * Lowers the volume to 0 in `ms` milliseconds, and resolves then. `ms` must be more than 0. Resolves
   * earlier if somebody else sets the volume, or if `putBack` is called. A step that fails is not repeated.
   */
  async fadeOut(ms: number): Promise<void> {
    const { clock } = this.#context;
    const sink = this.#findSink();
    const volumeAtStart = sink === undefined ? this.#volumeBefore : this.#limited(sink, this.#volumeBefore);
    const beginMs = clock.monotonic();
    let shareLeft = 1;
    this.#isFadingOut = true;
    while (shareLeft > 0 && this.#isFadingOut && !this.isOver) {
      await this.#wait(Math.min(STEP_MS, ms));
      shareLeft = Math.max(0, 1 - (clock.monotonic() - beginMs) / ms);
      const volume = shareLeft * volumeAtStart;
      await this.#context.turns.run(async () => {
        // `putBack` may have been called while this step waited for its turn.
        if (this.#isFadingOut) await this.#step(volume);
      });
    }
  }

  /**
   * Sets the volume that the output had before the fade, or the volume limit if the limit is lower. A volume
   * that somebody else has set stays. In both cases the fade is over. The fade is not over if the output is
   * missing, or if the command fails.
   */
  putBack(): Promise<void> {
    this.#isFadingOut = false;
    return this.#context.turns.run(async () => {
      const isSet = await this.#step(this.#volumeBefore);
      if (isSet) this.isOver = true;
    });
  }

  /** Puts the volume back now, unless the output is missing, or something plays to it. */
  async putBackIfSilent(): Promise<void> {
    const sink = this.#findSink();
    if (sink !== undefined && !isPlayedTo(this.#context.state, sink)) await this.putBack();
  }

  /**
   * Puts the volume back when nothing plays to the output any more. Resolves earlier if somebody else sets
   * the volume.
   */
  putBackWhenSilent(): Promise<void> {
    return this.#putBackWhen((sink) => !isPlayedTo(this.#context.state, sink), SILENCE_PAUSE_MAX_MS);
  }

  /** Puts the volume back when the output is there. Resolves earlier if somebody else sets the volume. */
  putBackWhenThere(): Promise<void> {
    return this.#putBackWhen(() => true, MISSING_PAUSE_MAX_MS);
  }

  /**
   * While the output is missing, `mayPutBack` is not called, and the volume is not put back. `pauseMaxMs` is
   * the largest pause while the output is there.
   */
  async #putBackWhen(mayPutBack: (sink: SinkInfo) => boolean, pauseMaxMs: number): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!this.isOver) {
      await this.#wait(pauseMs);
      const sink = this.#findSink();
      const largestPauseMs = sink === undefined ? MISSING_PAUSE_MAX_MS : pauseMaxMs;
      pauseMs = Math.min(2 * pauseMs, largestPauseMs);
      if (sink !== undefined && mayPutBack(sink)) await this.putBack();
      else this.#endIfChanged(sink);
    }
  }

  /**
   * Gives the fade up, and leaves the volume as it is. A call of `fadeOut`, `putBackWhenSilent` or
   * `putBackWhenThere` that still waits for its timer never resolves.
   */
  end(): void {
    this.isOver = true;
    this.#timers.cancelAll();
  }

  /** Resolves with true if the sound server has set the volume, or the volume limit if the limit is lower. */
  async #step(desired: number): Promise<boolean> {
    const sink = this.#findSink();
    this.#endIfChanged(sink);
    if (this.isOver || sink === undefined) return false;
    const volume = this.#limited(sink, desired);
    // During the step, readings have the old or the new volume, but a mixer may round the new one. A volume
    // below `lowest` or above `highest` comes from somebody else.
    const lowest = Math.min(volume, this.#expectedVolume) - MIXER_DEVIATION_MAX;
    const highest = Math.max(volume, this.#expectedVolume) + MIXER_DEVIATION_MAX;
    let foreignVolume: number | undefined;
    const { state } = this.#context;
    state.onSinkRead = (info) => {
      // A sink that hides its volume may report a wrong one.
      if (hidesVolume(state, info)) return;
      const readVolume = volumeOf(info);
      const isForeign = readVolume < lowest || readVolume > highest;
      if (info.name === this.sinkName && isForeign) foreignVolume = readVolume;
    };
    this.#unreadVolume ??= volume;
    const isSet = await this.#set(sink, volume);
    state.onSinkRead = undefined;
    const sinkAfterStep = this.#findSink();
    if (sinkAfterStep === undefined) return false;
    // Each reading makes a new object. If the object is still the old one, the output has not been read.
    const hasReading = sinkAfterStep !== sink;
    if (isSet && hasReading) this.#takeReading(sinkAfterStep, volume);
    else this.#endIfChanged(sinkAfterStep);
    if (foreignVolume === undefined) return isSet;
    // Somebody else has set a volume during the step. This volume is set again if the step has replaced it.
    this.isOver = true;
    if (volumeOf(sinkAfterStep) !== foreignVolume) await this.#set(sinkAfterStep, foreignVolume);
    return false;
  }

  #takeReading(sink: SinkInfo, requestedVolume: number): void {
    this.#expectedVolume = volumeOf(sink);
    this.#unreadVolume = undefined;
    // A large difference means that somebody else has set the volume between the step and its reading.
    if (Math.abs(this.#expectedVolume - requestedVolume) > MIXER_DEVIATION_MAX) this.isOver = true;
  }

  /**
   * Returns the volume that the command sets: `volume`, or the volume limit if the limit is lower. A step
   * needs this volume to recognize a change by somebody else.
   */
  #limited(sink: SinkInfo, volume: number): number {
    return Math.min(volume, this.#context.state.limits.ofSink(sink) ?? Number.POSITIVE_INFINITY);
  }

  async #set({ index }: SinkInfo, volume: number): Promise<boolean> {
    const answer = await this.#context.run({ do: 'fade', output: String(index), volume });
    return answer.ok;
  }

  /**
   * The fade is over if somebody else has set the volume. A sink that hides its volume is not checked here,
   * because it may report a wrong one. The next step wakes the sink, and `#step` checks the volume then.
   */
  #endIfChanged(sink: SinkInfo | undefined): void {
    if (sink === undefined || hidesVolume(this.#context.state, sink)) return;
    const readVolume = volumeOf(sink);
    if (readVolume === this.#expectedVolume) return;
    const unreadVolume = this.#unreadVolume;
    const isOfUnreadStep =
      unreadVolume !== undefined && Math.abs(readVolume - unreadVolume) <= LATE_DEVIATION_MAX;
    if (!isOfUnreadStep) {
      this.isOver = true;
      return;
    }
    this.#expectedVolume = readVolume;
    this.#unreadVolume = undefined;
  }

  #findSink(): SinkInfo | undefined {
    const sinks = [...this.#context.state.sinks.values()];
    return sinks.find(({ info }) => info.name === this.sinkName)?.info;
  }

  /** Ends an earlier wait. The promise of that earlier wait never resolves. */
  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#timers.set('wait', ms, resolve));
  }
}
