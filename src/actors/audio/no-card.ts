// Decides when `/health` and the log report that the sound server has no sound card, and for which reason. It
// checks whether this user may open the kernel's sound devices, and opens none.

import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../host/clock.js';
import type { Publisher } from '../runtime.js';
import { isGroup } from './marks.js';
import type { SoundState } from './state.js';

const DEVICES = '/dev/snd';
/** The device that controls the mixer of a card: each card has one. */
const CONTROL = /^controlC\d+$/;

/**
 * The sink that servers make while they have no other (PulseAudio's module-always-sink, PipeWire's fallback).
 */
const PLACEHOLDER = 'auto_null';

const NO_CARD = 'The sound server sees no sound card';

/** True if there is no card, and no sink except groups and the placeholder. */
export function hasNoSoundCard({ cards, sinks }: SoundState): boolean {
  if (cards.size > 0) return false;
  return [...sinks.values()].every(({ info }) => info.name === PLACEHOLDER || isGroup(info));
}

/** The reason, as the end of a sentence. */
export async function whyNoCard(folder = DEVICES): Promise<string> {
  const names = await readdir(folder).catch((): string[] => []);
  const controls = names.filter((name) => CONTROL.test(name)).map((name) => join(folder, name));
  const [first] = controls;
  if (first === undefined) return 'the kernel has none';
  const readAndWrite = constants.R_OK | constants.W_OK;
  const checks = await Promise.allSettled(controls.map((path) => access(path, readAndWrite)));
  const mayOpenOne = checks.some(({ status }) => status === 'fulfilled');
  return mayOpenOne
    ? 'this user may open one, so restart the sound server, or read its log'
    : `this user may not open ${first}, because it is neither in the group audio nor logged in at this machine`;
}

/**
 * One for each connection. A server that has just started finds its cards late, so the lack of a card is
 * reported only after `afterMs`.
 */
export class NoCardWatch {
  readonly #remark: (text: string | undefined) => void;
  readonly #log: Publisher['log'];
  readonly #afterMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  #cancel = (): void => undefined;
  #lacksCard = false;
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
  update(lacksCard: boolean): void {
    if (lacksCard === this.#lacksCard) return;
    this.#lacksCard = lacksCard;
    this.#cancel();
    if (lacksCard) this.#cancel = this.#clock.after(this.#afterMs, () => void this.#report());
    else if (this.#isReported) {
      this.#isReported = false;
      this.#remark(undefined);
      this.#log('info', 'the sound server sees a sound card');
    }
  }

  /** To be called when the connection has ended. */
  stop(): void {
    this.#cancel();
    this.#lacksCard = false;
  }

  async #report(): Promise<void> {
    const why = await whyNoCard();
    // A card may have come meanwhile, or the connection may have ended.
    if (!this.#lacksCard || this.#isReported) return;
    this.#isReported = true;
    this.#remark(`${NO_CARD}: ${why}`);
    this.#log('warn', 'the sound server sees no sound card', { why });
  }
}
