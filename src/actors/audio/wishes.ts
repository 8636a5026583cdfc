// The configuration's wishes for each output: its label, its volume limit, its volume at the start, and
// whether pages leave it out, and the outputs of a group. Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';
import { GROUP_PREFIX } from './group-names.js';

export type OutputWishes = Pick<AudioSettings, 'volumeLimit' | 'outputs'> &
  Partial<Pick<AudioSettings, 'groups'>>;

export interface OutputWish {
  readonly label?: string | undefined;
  /** 0..1, in whole hundredths. */
  readonly volumeLimit?: number | undefined;
  /** True or absent. */
  readonly hidden?: boolean | undefined;
  /** 0..1, for its first appearance in a life of the sound server. */
  readonly startVolume?: number | undefined;
  /** The outputs of the group that is called so. */
  readonly group?: readonly string[] | undefined;
}

export const NO_WISHES: OutputWishes = { outputs: {} };

export function wishFor({ volumeLimit, outputs, groups = {} }: OutputWishes, name: string): OutputWish {
  const { label, hidden, startVolume } = ownValue(outputs, name) ?? {};
  const group = name.startsWith(GROUP_PREFIX) ? ownValue(groups, name.slice(GROUP_PREFIX.length)) : undefined;
  const limit = typeof volumeLimit === 'object' ? ownValue(volumeLimit, name) : volumeLimit;
  return {
    label: label ?? group?.label,
    volumeLimit: limit === undefined ? undefined : wholeHundredths(limit),
    hidden: hidden || undefined,
    startVolume,
    group: group?.outputs,
  };
}

/** Rounded down, as volumes have two decimals in records: so that sliders can end at the limit itself. */
function wholeHundredths(volume: number): number {
  // 0.57 * 100 is a little less than 57.
  return Math.floor(volume * 100 + 1e-6) / 100;
}

function ownValue<T>(byName: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(byName, name) ? byName[name] : undefined;
}
