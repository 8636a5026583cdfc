// Ends the music at a time (docs/http-api.md, "Sleep"): fades the default output, has all players paused, and
// puts the volume back. The time is kept in a file of the runtime directory, for the next process.

import { rm } from 'node:fs/promises';
import { Timers, within } from '../../host/clock.js';
import { type Answer, DONE } from '../../protocol/actor/commands.js';
import type { SleepRecord } from '../../protocol/actor/schemas.js';
import type { BackendLink } from '../runtime.js';
import { codeOf, inTime, READ_MAX_MS, readSmallFile, writeWhole } from '../small-file.js';
import { jsonObject } from '../text.js';
import { Turns } from '../turns.js';
import { type Fade, type FadeContext, fadeOf } from './fade.js';

const FILE_MAX_BYTES = 4096;
const FADE_S = 20;
const MINUTE_MS = 60_000;
/** The service makes up for an end that it has missed; a day later nobody waits for it. */
const LATE_MAX_MS = 10 * MINUTE_MS;
/** The backends come up within this time after a start. */
const SETTLED_MS = 5_000;
/** `minutes` of the command, at most. */
const LONGEST_MS = 720 * MINUTE_MS;
/** The end of the service waits so long for the volume. */
const LEAVE_MAX_MS = 300;

interface SleepContext extends FadeContext {
  /** The file that keeps the end. */
  readonly path: string;
  readonly node: Pick<BackendLink, 'put' | 'log' | 'ask'>;
}

interface Plan {
  /** Milliseconds since the epoch. */
  readonly until: number;
  /** In seconds. */
  readonly fade: number;
}

export class Sleep {
  readonly #context: SleepContext;
  readonly #timers: Timers<'end' | 'faded'>;
  /** The last one must be the one that stays. */
  readonly #turns = new Turns();
  #plan: Plan | undefined;
  /** The fade of the last end, which may still wait for silence. */
  #fade: Fade | undefined;
  #isFading = false;

  constructor(context: SleepContext) {
    this.#context = context;
    this.#timers = new Timers(context.clock);
  }

  /** Continues the sleep that an earlier process has left. To be called once, before any command. */
  async recall(): Promise<void> {
    const { clock, path, node } = this.#context;
    const file = await inTime(clock, readSmallFile(path, FILE_MAX_BYTES));
    const plan = file.ok ? planIn(Buffer.from(file.value.bytes).toString()) : undefined;
    const leftMs = (plan?.until ?? Number.NaN) - clock.date();
    if (plan !== undefined && leftMs > -LATE_MAX_MS && leftMs <= LONGEST_MS) {
      this.#begin(plan, leftMs > 0 ? leftMs : SETTLED_MS);
      return;
    }
    if (plan !== undefined) node.log('info', 'a sleep of an earlier process is over');
    await this.#over();
  }

  async start(minutes: number, fade = FADE_S): Promise<Answer> {
    await this.#abort();
    const ms = minutes * MINUTE_MS;
    const plan = { until: this.#context.clock.date() + ms, fade };
    this.#begin(plan, ms);
    await this.#keep(`${JSON.stringify({ ...plan, until: new Date(plan.until).toISOString() })}\n`);
    return DONE;
  }

  async stop(): Promise<Answer> {
    await this.#abort();
    await this.#over();
    return DONE;
  }

  /** To be called when the service ends: the next process fades again. */
  async leave(): Promise<void> {
    await within(this.#context.clock, LEAVE_MAX_MS, this.#abort());
    this.#fade?.end();
  }

  #begin(plan: Plan, ms: number): void {
    this.#plan = plan;
    this.#publish();
    this.#timers.set('end', ms, () => void this.#end(plan));
  }

  async #end(plan: Plan): Promise<void> {
    // One that still waits for silence has faded already.
    const isSilent = this.#fade?.isOver === false;
    const fade = isSilent ? undefined : fadeOf(this.#context);
    const fadeMs = fade === undefined ? 0 : plan.fade * 1000;
    if (!isSilent) this.#fade = fade;
    this.#isFading = fade !== undefined;
    // A hand on the volume ends the fade, and not the sleep.
    const lasts = new Promise<void>((resolve) => this.#timers.set('faded', fadeMs, resolve));
    if (fadeMs > 0) await Promise.all([fade?.down(fadeMs), lasts]);
    if (this.#plan !== plan) return;
    this.#isFading = false;
    await this.#pausePlayers();
    void fade?.putBackWhenSilent();
    // A client may have begun another one meanwhile.
    if (this.#plan === plan) await this.#over();
  }

  async #pausePlayers(): Promise<void> {
    const { node } = this.#context;
    const { status, body } = await node.ask({ operation: 'pausePlayers' });
    // Without players there is nothing to pause.
    if (status < 400 || status === 404) return;
    node.log('warn', 'not all players could be paused for the sleep', { reason: body });
  }

  /** Ends the sleep, and a fade that is under way. */
  async #abort(): Promise<void> {
    this.#timers.cancelAll();
    this.#plan = undefined;
    if (!this.#isFading) return;
    this.#isFading = false;
    await this.#fade?.putBack();
  }

  async #over(): Promise<void> {
    this.#plan = undefined;
    await this.#keep(undefined);
    this.#publish();
  }

  #publish(): void {
    const plan = this.#plan;
    const record: SleepRecord =
      plan === undefined
        ? { active: false }
        : { active: true, until: new Date(plan.until).toISOString(), fade: plan.fade };
    this.#context.node.put('audio.sleep', '', JSON.stringify(record));
  }

  /** Undefined removes the file. */
  async #keep(text: string | undefined): Promise<void> {
    const { clock, path, node } = this.#context;
    const done = this.#turns.run(() =>
      text === undefined ? rm(path, { force: true }) : writeWhole(path, text),
    );
    const logged = done.catch((error: unknown) =>
      node.log('warn', 'a restart will not know of the sleep', { path, why: codeOf(error) }),
    );
    await within(clock, READ_MAX_MS, logged);
  }
}

function planIn(text: string): Plan | undefined {
  const { until, fade } = jsonObject(text) ?? {};
  const ms = Date.parse(String(until));
  return Number.isNaN(ms) || typeof fade !== 'number' ? undefined : { until: ms, fade };
}
