// Finds what the configuration wants of an output. Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';
import { GROUP_PREFIX } from './marks.js';

/** The settings that `wishFor` needs. */
export type WishSettings = Pick<AudioSettings, 'volumeLimit' | 'outputs'> &
  Partial<Pick<AudioSettings, 'groups'>>;

export interface OutputWish {
  readonly label?: string | undefined;
  /** 0..1, in whole hundredths. */
  readonly volumeLimit?: number | undefined;
  /** True if the node's pages do not display the output; undefined if they do. */
  readonly hidden?: boolean | undefined;
  /** 0..1. The daemon sets it when the output first appears after a start of the sound server. */
  readonly startVolume?: number | undefined;
  /** The names of the group's outputs, if this output has the name of a configured group. */
  readonly group?: readonly string[] | undefined;
}

export const NO_WISHES: WishSettings = { outputs: {} };

export function wishFor({ volumeLimit, outputs, groups = {} }: WishSettings, name: string): OutputWish {
  const { label, hidden, startVolume } = ownValue(outputs, name) ?? {};
  const groupName = name.startsWith(GROUP_PREFIX) ? name.slice(GROUP_PREFIX.length) : undefined;
  const group = groupName === undefined ? undefined : ownValue(groups, groupName);
  // A number limits every output. An object limits the outputs that it names.
  const limit = typeof volumeLimit === 'object' ? ownValue(volumeLimit, name) : volumeLimit;
  return {
    label: label ?? group?.label,
    volumeLimit: limit === undefined ? undefined : roundedDownToHundredths(limit),
    hidden: hidden || undefined,
    startVolume,
    group: group?.outputs,
  };
}

/** Records show volumes in whole hundredths, so a slider can end exactly at the rounded limit. */
function roundedDownToHundredths(volume: number): number {
  // A little is added, because 0.57 * 100 is a little less than 57.
  return Math.floor(volume * 100 + 1e-6) / 100;
}

/** Undefined for a name such as `constructor`, which every object inherits. */
function ownValue<T>(byName: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(byName, name) ? byName[name] : undefined;
}
