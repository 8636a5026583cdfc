// Fades an output to silence, and puts its volume back when nothing sounds there any more. A hand on the
// volume ends that: the volume that somebody sets stays.

import { type Clock, Timers } from '../../host/clock.js';
import type { Answer } from '../../protocol/actor/commands.js';
import type { SinkInfo } from '../../protocol/pulse/records.js';
import { fractionOf, loudestOf } from '../../protocol/pulse/volume.js';
import { Turns } from '../turns.js';
import type { SoundCommand } from './setting-plan.js';
import type { SoundState } from './state.js';

const STEP_MS = 250;
/** The pause between two checks: a stream that no player owns may sound on for hours, at no volume. */
const FIRST_CHECK_MS = 500;
const CHECK_MAX_MS = 30_000;
/** A coarse mixer comes nearer to the requested volume than this. Any other volume is that of a hand. */
const COARSE_MAX = 0.1;

export interface FadeContext {
  readonly state: SoundState;
  readonly clock: Clock;
  readonly run: (command: SoundCommand) => Promise<Answer>;
}

/** The fade of the default output; undefined where nothing sounds on it. */
export function fadeOf(context: FadeContext): Fade | undefined {
  const sink = context.state.defaultSink()?.info;
  return sink !== undefined && sounds(context.state, sink) ? new Fade(context, sink) : undefined;
}

function sounds({ inputs }: SoundState, { index }: SinkInfo): boolean {
  return [...inputs.values()].some(({ info }) => info.sink === index && !info.corked);
}

const volumeOf = ({ volume }: SinkInfo): number => fractionOf(loudestOf(volume));

export class Fade {
  readonly #context: FadeContext;
  readonly #timers: Timers<'wait'>;
  /** A step that is under way has moved the volume, which another one would take for a hand. */
  readonly #turns = new Turns();
  /** It outlives a connection, which the index does not. */
  readonly #name: string;
  readonly #before: number;
  /** The volume that was read after the last step. The server's mixer may have coarser steps. */
  #expected: number;
  isOver = false;

  constructor(context: FadeContext, sink: SinkInfo) {
    this.#context = context;
    this.#timers = new Timers(context.clock);
    this.#name = sink.name;
    this.#before = volumeOf(sink);
    this.#expected = this.#before;
  }

  /** Resolves when the output is silent, or the fade is over because of a hand, a refusal, or `putBack`. */
  async down(ms: number): Promise<void> {
    const { clock } = this.#context;
    const begin = clock.monotonic();
    for (let left = 1; left > 0 && !this.isOver; ) {
      await this.#wait(Math.min(STEP_MS, ms));
      left = Math.max(0, 1 - (clock.monotonic() - begin) / ms);
      await this.#turns.run(() => this.#step(left * this.#before));
    }
  }

  putBack(): Promise<void> {
    return this.#turns.run(async () => {
      await this.#step(this.#before);
      this.isOver = true;
    });
  }

  /** Resolves when the volume is as it was, or somebody has set another one. */
  async putBackWhenSilent(): Promise<void> {
    for (let ms = FIRST_CHECK_MS; !this.isOver; ms = Math.min(2 * ms, CHECK_MAX_MS)) {
      await this.#wait(ms);
      const sink = this.#sink();
      if (sink !== undefined && !sounds(this.#context.state, sink)) await this.putBack();
      else this.#endByHand(sink);
    }
  }

  /** To be called when the service ends: a promise that waits never resolves. */
  end(): void {
    this.isOver = true;
    this.#timers.cancelAll();
  }

  async #step(volume: number): Promise<void> {
    const sink = this.#sink();
    this.#endByHand(sink);
    if (this.isOver || sink === undefined) return;
    const answer = await this.#context.run({ do: 'fade', output: String(sink.index), volume });
    if (!answer.ok) this.isOver = true;
    const after = this.#sink();
    if (after === undefined) return;
    this.#expected = volumeOf(after);
    // The hand came between the step and its reading.
    if (Math.abs(this.#expected - volume) > COARSE_MAX) this.isOver = true;
  }

  #endByHand(sink: SinkInfo | undefined): void {
    if (sink !== undefined && volumeOf(sink) !== this.#expected) this.isOver = true;
  }

  #sink(): SinkInfo | undefined {
    const sinks = [...this.#context.state.sinks.values()];
    return sinks.find(({ info }) => info.name === this.#name)?.info;
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#timers.set('wait', ms, resolve));
  }
}
