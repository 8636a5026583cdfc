// Decides when `/health` and the log report that the sound server has no sound card, and which reason they
// name. It checks the permissions of the kernel's sound devices, but opens none.

import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../host/clock.js';
import type { Publisher } from '../runtime.js';
import { isGroup } from './marks.js';
import type { SoundState } from './state.js';

const DEVICES_FOLDER = '/dev/snd';
/** Each card has one such device, which controls its mixer (`controlC0`). */
const CONTROL_DEVICE = /^controlC\d+$/;

/**
 * Servers make this sink while they have no other sink (PulseAudio's module-always-sink, PipeWire's
 * fallback).
 */
const PLACEHOLDER_SINK = 'auto_null';

const NO_CARD = 'The sound server sees no sound card';

/** True if there is no card, and no sink except groups and the placeholder. */
export function hasNoSoundCard({ cards, sinks }: SoundState): boolean {
  if (cards.size > 0) return false;
  return [...sinks.values()].every(({ info }) => info.name === PLACEHOLDER_SINK || isGroup(info));
}

/** Returns the reason: the words that follow `NO_CARD` and a colon. */
export async function whyNoCard(folder = DEVICES_FOLDER): Promise<string> {
  const names = await readdir(folder).catch((): string[] => []);
  const controls = names.filter((name) => CONTROL_DEVICE.test(name)).map((name) => join(folder, name));
  const [firstControl] = controls;
  if (firstControl === undefined) return 'the kernel has none';
  const readAndWrite = constants.R_OK | constants.W_OK;
  const checks = await Promise.allSettled(controls.map((path) => access(path, readAndWrite)));
  const mayOpenOne = checks.some(({ status }) => status === 'fulfilled');
  return mayOpenOne
    ? 'this user may open one, so restart the sound server, or read its log'
    : `this user may not open ${firstControl}, because it is neither in the group audio nor logged in at this machine`;
}

/**
 * Each connection has its own watch. A server that has just started finds its cards late, so the lack of a
 * card is reported only after `afterMs`.
 */
export class NoCardWatch {
  readonly #setRemark: (text: string | undefined) => void;
  readonly #log: Publisher['log'];
  readonly #afterMs: number;
  readonly #clock: Pick<Clock, 'after'>;
  #cancelReport = (): void => undefined;
  #lacksCard = false;
  #isReported = false;

  /** `setRemark` gets the remark for /health, or undefined to remove it. */
  constructor(
    setRemark: (text: string | undefined) => void,
    log: Publisher['log'],
    clock: Pick<Clock, 'after'>,
    afterMs: number,
  ) {
    this.#setRemark = setRemark;
    this.#log = log;
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  /** To be called after each publication. */
  update(lacksCardNow: boolean): void {
    if (lacksCardNow === this.#lacksCard) return;
    this.#lacksCard = lacksCardNow;
    this.#cancelReport();
    if (lacksCardNow) this.#cancelReport = this.#clock.after(this.#afterMs, () => void this.#report());
    else if (this.#isReported) {
      this.#isReported = false;
      this.#setRemark(undefined);
      this.#log('info', 'the sound server sees a sound card');
    }
  }

  /** To be called when the connection has ended. */
  stop(): void {
    this.#cancelReport();
    this.#lacksCard = false;
  }

  async #report(): Promise<void> {
    const why = await whyNoCard();
    // Meanwhile a card may have come, the connection may have ended, or another call may have reported.
    if (!this.#lacksCard || this.#isReported) return;
    this.#isReported = true;
    this.#setRemark(`${NO_CARD}: ${why}`);
    this.#log('warn', 'the sound server sees no sound card', { why });
  }
}
