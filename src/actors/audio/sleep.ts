// Decides how and when a sleep ends the music: the default output fades, then the players are paused, and
// then the output gets its volume back (docs/http-api.md, "Sleep"). A file in the runtime directory keeps the
// plan, and the outputs whose volumes are not put back yet. The next thread or process reads the file and
// goes on.

import { rm } from 'node:fs/promises';
import { Timers, within } from '../../host/clock.js';
import { Turns } from '../../host/turns.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import type { SleepRecord } from '../../protocol/actor/schemas.js';
import type { BackendLink } from '../runtime.js';
import { codeOf, FILE_WAIT_MAX_MS, readInTime, readSmallFile, writeWhole } from '../small-file.js';
import { jsonObject } from '../text.js';
import { type Fade, type FadeContext, fadeOfDefault, type LoweredOutput, recalledFade } from './fade.js';

const FILE_MAX_BYTES = 4096;
/** The length of a fade if the command names none. */
const FADE_S = 20;
const MINUTE_MS = 60_000;
/**
 * A sleep that should have ended during a restart ends after the restart. If it should have ended longer ago
 * than this, it is dropped, because nobody expects it any more.
 */
const LATE_MAX_MS = 10 * MINUTE_MS;
/**
 * A sleep that should have ended during a restart ends this long after the restart, because the backends must
 * come up first.
 */
const BACKENDS_START_MS = 5_000;
/**
 * If the backend `players` is not up, or if a player does not answer, the daemon tries again after this time
 * to pause the players.
 */
const PAUSE_AGAIN_MS = 5_000;
/**
 * Players that could not be paused within this time are left as they are. The time is short, because each
 * try pauses all players that answer, even a player that somebody has started again since an earlier try.
 */
const PAUSE_TRIES_MAX_MS = 30_000;
/** The longest sleep that a command may begin. If the sleep in the file would last longer, it is dropped. */
const SLEEP_MAX_MS = 720 * MINUTE_MS;
/** While a sleep runs, the date of its end is checked this often, because the node's date may be set. */
const CLOCK_CHECK_MS = 30_000;
/**
 * A smaller change of the node's date is ignored, because it comes from a time server that corrects the clock
 * slowly.
 */
const CLOCK_SET_MIN_MS = 1_000;
/** The backend's stop waits at most this long until volumes are put back. */
const LEAVE_MAX_MS = 300;
/**
 * At most this many outputs wait until their volumes are put back. An output waits while something plays to
 * it, and while it is missing. If one output too many must wait, the output that has waited longest stays at
 * its lowered volume.
 */
const WAITING_MAX_FADES = 8;

interface SleepContext extends Omit<FadeContext, 'turns'> {
  /** The file that has the plan. */
  readonly path: string;
  readonly node: Pick<BackendLink, 'put' | 'log' | 'ask'>;
}

interface Plan {
  /**
   * The end of the sleep, when the fade begins, in milliseconds since the epoch. It changes if the node's
   * date is set.
   */
  untilMs: number;
  readonly fadeS: number;
}

export class Sleep {
  readonly #context: SleepContext;
  readonly #fadeContext: FadeContext;
  readonly #timers: Timers<'end' | 'faded' | 'pause' | 'clock'>;
  /**
   * A write of the file begins when the write before it has ended, so that the file has the newest plan in
   * the end.
   */
  readonly #fileTurns = new Turns();
  #plan: Plan | undefined;
  /**
   * The fade of the newest sleep that has reached its end; undefined if that sleep had no fade. `#abort` uses
   * it only while `#isFading` is true.
   */
  #newestFade: Fade | undefined;
  /**
   * The fade that is under way, and fades that still wait for silence, or for their outputs. The oldest is
   * first. A fade that is over stays here until `#keep` adds another one.
   */
  #fades: readonly Fade[] = [];
  /**
   * True from the beginning of the fade until the players are paused. If the sleep is stopped or replaced
   * during this time, the volume is put back at once.
   */
  #isFading = false;
  /** After `leave` the file is for the next thread or process, so this one writes it no more. */
  #hasLeft = false;

  constructor(context: SleepContext) {
    this.#context = context;
    // The fades do not use `#fileTurns`. They share other turns, for their commands.
    this.#fadeContext = { ...context, turns: new Turns() };
    this.#timers = new Timers(context.clock);
  }

  /**
   * Goes on with the sleep and the fades that an earlier thread or process has left in the file. To be called
   * once, before any command.
   */
  async recall(): Promise<void> {
    const { clock, path, node } = this.#context;
    const file = await readInTime(clock, readSmallFile(path, FILE_MAX_BYTES));
    const text = file.ok ? Buffer.from(file.value.bytes).toString() : '';
    for (const lowered of loweredOutputsIn(text)) {
      const fade = recalledFade(this.#fadeContext, lowered);
      this.#keep(fade);
      void fade.putBackWhenSilent().then(() => this.#save());
    }
    const plan = planIn(text);
    if (plan !== undefined) {
      const leftMs = plan.untilMs - clock.date();
      const isTooLate = leftMs <= -LATE_MAX_MS;
      if (!isTooLate && leftMs <= SLEEP_MAX_MS) {
        this.#begin(plan, leftMs > 0 ? leftMs : BACKENDS_START_MS);
        return;
      }
      const outcome = isTooLate ? 'over' : 'dropped, because it is too long';
      node.log('info', `a sleep of an earlier process is ${outcome}`);
    }
    await this.#clear();
  }

  /** Begins a sleep, and cancels an earlier one. */
  async start(minutes: number, fadeS = FADE_S): Promise<Answer> {
    const aborting = this.#abort();
    const delayMs = minutes * MINUTE_MS;
    const plan = { untilMs: this.#context.clock.date() + delayMs, fadeS };
    // The new sleep begins before the volume of an earlier sleep is put back, so that a command that comes
    // meanwhile can stop the new sleep. The file is written at once, and again when the volume is put back.
    this.#begin(plan, delayMs);
    await Promise.all([aborting.then(() => this.#save()), this.#save()]);
    return DONE;
  }

  async stop(): Promise<Answer> {
    // The file is written at once, and again when the volume is put back.
    await Promise.all([this.#abort().then(() => this.#save()), this.#clear()]);
    return DONE;
  }

  /**
   * To be called when the backend stops. Puts back the volume of a fade under way, and of each lowered output
   * that is silent. The next thread or process goes on with the sleep, and with lowered outputs that are
   * missing or not silent.
   */
  async leave(): Promise<void> {
    // `#abort` forgets the plan, but the plan must stay in the file.
    const plan = this.#plan;
    // The thread may be ended before the volumes are put back, so the file must have the lowered outputs now.
    void this.#save(plan);
    // `#fades` also has the fade whose volume `#abort` puts back. `putBackIfSilent` comes after that and
    // changes nothing, because the fade is over.
    const putBack = [this.#abort(), ...this.#fades.map((fade) => fade.putBackIfSilent())];
    await within(this.#context.clock, LEAVE_MAX_MS, Promise.all(putBack));
    const saved = this.#save(plan);
    this.#hasLeft = true;
    for (const fade of this.#fades) fade.end();
    await saved;
  }

  #begin(plan: Plan, delayMs: number): void {
    this.#plan = plan;
    this.#publish();
    this.#timers.set('end', delayMs, () => {
      this.#timers.cancel('clock');
      void this.#end(plan);
    });
    this.#checkClockLater(plan, this.#context.clock.monotonic() + delayMs);
  }

  /**
   * The end of a sleep is measured on the monotonic clock. If the date is set meanwhile, as by NTP soon after
   * the boot, the date of the end is corrected. Otherwise the next process would end the sleep too early or
   * too late.
   */
  #checkClockLater(plan: Plan, endMs: number): void {
    const { clock } = this.#context;
    this.#timers.set('clock', CLOCK_CHECK_MS, () => {
      this.#checkClockLater(plan, endMs);
      const untilMs = clock.date() + endMs - clock.monotonic();
      if (Math.abs(untilMs - plan.untilMs) < CLOCK_SET_MIN_MS) return;
      plan.untilMs = untilMs;
      this.#publish();
      void this.#save();
    });
  }

  async #end(plan: Plan): Promise<void> {
    // An earlier fade may still have to put the volume of the default output back. A second fade would regard
    // the lowered volume as the volume to put back.
    const output = this.#context.state.defaultSink()?.info.name;
    const isLowered = this.#fades.some(({ isOver, sinkName }) => !isOver && sinkName === output);
    const fade = isLowered ? undefined : fadeOfDefault(this.#fadeContext);
    this.#newestFade = fade;
    if (fade !== undefined) {
      this.#keep(fade);
      this.#isFading = true;
      const fadeMs = plan.fadeS * 1000;
      // If somebody sets the volume, the fade is over early, but the players are paused only after `fadeMs`.
      // If `#abort` cancels the timer `faded`, `fadeTime` never resolves, and this method never goes on. A
      // fade of 0 s has no steps, and `fadeOut` does not accept it.
      const fadeTime = new Promise<void>((resolve) => this.#timers.set('faded', fadeMs, resolve));
      if (fadeMs > 0) await Promise.all([fade.fadeOut(fadeMs), fadeTime]);
    }
    // `#abort` may have cancelled this sleep after `faded` had fired, but before `fadeOut` ended.
    if (this.#plan !== plan) return;
    await this.#pausePlayers(plan);
    // `#abort` may have cancelled this sleep meanwhile. Then `#abort` also puts the volume back.
    if (this.#plan !== plan) return;
    this.#isFading = false;
    void fade?.putBackWhenSilent().then(() => this.#save());
    await this.#clear();
  }

  /**
   * Tries to pause all players. The file keeps the plan meanwhile, so that the next thread pauses the players
   * if this thread ends.
   */
  async #pausePlayers(plan: Plan): Promise<void> {
    const { node, clock } = this.#context;
    const latestMs = clock.monotonic() + PAUSE_TRIES_MAX_MS;
    for (;;) {
      const { status, body } = await node.ask({ operation: 'pausePlayers' });
      // Nothing is left to do if `#abort` has cancelled the sleep, if all players are paused (a status below
      // 400), or if the configuration does not enable the backend `players` (404).
      if (this.#plan !== plan || status < 400 || status === 404) return;
      const mayAnswerLater = status === 503 || status === 504;
      if (!mayAnswerLater || clock.monotonic() >= latestMs) {
        node.log('warn', 'not all players could be paused for the sleep', { reason: body });
        return;
      }
      // If `#abort` cancels this timer, this method never goes on.
      await new Promise<void>((resolve) => this.#timers.set('pause', PAUSE_AGAIN_MS, resolve));
    }
  }

  /**
   * Cancels the sleep at once, so that no player is paused. Puts the volume back if `#isFading` is true. If
   * this fails, the volume is put back later.
   */
  async #abort(): Promise<void> {
    this.#timers.cancelAll();
    this.#plan = undefined;
    const fade = this.#newestFade;
    if (!this.#isFading || fade === undefined) return;
    this.#isFading = false;
    await fade.putBack();
    if (!fade.isOver) void fade.putBackWhenThere().then(() => this.#save());
  }

  #keep(fade: Fade): void {
    const waiting = this.#fades.filter(({ isOver }) => !isOver);
    if (waiting.length === WAITING_MAX_FADES) waiting.shift()?.end();
    this.#fades = [...waiting, fade];
  }

  async #clear(): Promise<void> {
    this.#plan = undefined;
    await this.#save();
    this.#publish();
  }

  #publish(): void {
    const plan = this.#plan;
    const record: SleepRecord =
      plan === undefined ? { active: false } : { active: true, ...planFields(plan) };
    this.#context.node.put('audio.sleep', '', JSON.stringify(record));
  }

  /** Writes the file, or removes it if there is nothing to go on with. */
  async #save(plan = this.#plan): Promise<void> {
    if (this.#hasLeft) return;
    const { clock, path, node } = this.#context;
    const lowered = this.#fades.filter(({ isOver }) => !isOver).map((fade) => fade.lowered);
    const isFileNeeded = plan !== undefined || lowered.length > 0;
    const fields = plan === undefined ? { lowered } : { ...planFields(plan), lowered };
    const written = this.#fileTurns.run(() =>
      isFileNeeded ? writeWhole(path, `${JSON.stringify(fields)}\n`) : rm(path, { force: true }),
    );
    const logged = written.catch((error: unknown) =>
      node.log('warn', 'a restart will not know of the sleep', { path, why: codeOf(error) }),
    );
    await within(clock, FILE_WAIT_MAX_MS, logged);
  }
}

/** The form that a plan has in the file and in the record. */
function planFields({ untilMs, fadeS }: Plan): { readonly until: string; readonly fade: number } {
  return { until: new Date(untilMs).toISOString(), fade: fadeS };
}

function planIn(text: string): Plan | undefined {
  const { until, fade } = jsonObject(text) ?? {};
  const untilMs = Date.parse(String(until));
  if (Number.isNaN(untilMs) || typeof fade !== 'number') return undefined;
  return { untilMs, fadeS: fade };
}

function loweredOutputsIn(text: string): readonly LoweredOutput[] {
  const { lowered } = jsonObject(text) ?? {};
  return Array.isArray(lowered) ? lowered.filter(isLoweredOutput) : [];
}

/** Checks a value of the file, which may have been changed by hand. `unread` may be absent. */
function isLoweredOutput(value: Partial<LoweredOutput> | null): value is LoweredOutput {
  const { output, before, last, unread = 0 } = value ?? {};
  const volumes: readonly unknown[] = [before, last, unread];
  return typeof output === 'string' && volumes.every((volume) => typeof volume === 'number');
}
