// The configuration's wishes for each output: its label, its volume limit, and whether pages leave it out.
// Pure.

import type { AudioSettings } from '../../protocol/actor/settings.js';

export type OutputWishes = Pick<AudioSettings, 'volumeLimit' | 'outputs'>;

export interface OutputWish {
  readonly label?: string | undefined;
  /** 0..1. */
  readonly volumeLimit?: number | undefined;
  /** True or absent. */
  readonly hidden?: boolean | undefined;
}

export const NO_WISHES: OutputWishes = { outputs: {} };

export function wishFor({ volumeLimit, outputs }: OutputWishes, name: string): OutputWish {
  const { label, hidden } = ownValue(outputs, name) ?? {};
  return {
    label,
    volumeLimit: typeof volumeLimit === 'object' ? ownValue(volumeLimit, name) : volumeLimit,
    hidden: hidden || undefined,
  };
}

function ownValue<T>(byName: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(byName, name) ? byName[name] : undefined;
}
