// Reports in `/health` and in the log that the sound server has had no sound card for a while, and why. It
// checks whether this user may open the kernel's devices, and opens none.

import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../host/clock.js';
import type { Publisher } from '../runtime.js';
import { isGroup } from './group-names.js';
import type { SoundState } from './state.js';

/** The kernel's sound devices; one for each card controls its mixer. */
const DEVICES = '/dev/snd';
const CONTROL = /^controlC\d+$/;

/**
 * The sink that servers make while they have no other (PulseAudio's module-always-sink, PipeWire's fallback).
 */
const PLACEHOLDER = 'auto_null';

const NO_CARD = 'The sound server sees no sound card';

/** True if there is no card, and no output but groups, and the one that stands for none. */
export function hasNoSoundCard({ cards, sinks }: SoundState): boolean {
  if (cards.size > 0) return false;
  return [...sinks.values()].every(({ info }) => info.name === PLACEHOLDER || isGroup(info));
}

export async function whyNoCard(folder = DEVICES): Promise<string> {
  const names = await readdir(folder).catch((): string[] => []);
  const [first, ...others] = names.filter((name) => CONTROL.test(name)).map((name) => join(folder, name));
  if (first === undefined) return 'the kernel has none';
  const mode = constants.R_OK | constants.W_OK;
  const opened = await Promise.allSettled([first, ...others].map((path) => access(path, mode)));
  return opened.some(({ status }) => status === 'fulfilled')
    ? 'this user may open one, so restart the sound server, or read its log'
    : `this user may not open ${first}, because it is neither in the group audio nor logged in at this machine`;
}

/**
 * Watches one connection. A server that has just begun finds its cards late, so the lack of one is reported
 * after `afterMs`.
 */
export class NoCardWatch {
  readonly #remark: (text: string | undefined) => void;
  readonly #log: Publisher['log'];
  readonly #afterMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  #cancel = (): void => undefined;
  #isWithout = false;
  #isReported = false;

  /** `remark` receives the remark for /health; undefined for none. */
  constructor(
    remark: (text: string | undefined) => void,
    log: Publisher['log'],
    clock: Pick<Clock, 'after'>,
    afterMs: number,
  ) {
    this.#remark = remark;
    this.#log = log;
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  /** To be called after each publication. */
  update(isWithout: boolean): void {
    if (isWithout === this.#isWithout) return;
    this.#isWithout = isWithout;
    this.#cancel();
    if (isWithout) this.#cancel = this.#clock.after(this.#afterMs, () => void this.#report());
    else if (this.#isReported) {
      this.#isReported = false;
      this.#remark(undefined);
      this.#log('info', 'the sound server sees a sound card');
    }
  }

  /** To be called when the connection has ended. */
  stop(): void {
    this.#cancel();
    this.#isWithout = false;
  }

  async #report(): Promise<void> {
    const why = await whyNoCard();
    // A card may have come meanwhile, or the connection has ended.
    if (!this.#isWithout || this.#isReported) return;
    this.#isReported = true;
    this.#remark(`${NO_CARD}: ${why}`);
    this.#log('warn', 'the sound server sees no sound card', { why });
  }
}
