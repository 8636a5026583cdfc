// How volumes change and how balance outlives silence. Pure; the arithmetic of a single volume is protocol/pulse/volume.ts.

import { fractionOf, loudestOf, RAW_NORM, ratiosOf, rawOf } from '../../protocol/pulse/volume.js';

/** Channels as parts of the loudest one, each 0..1. */
export type Proportions = readonly number[];

function scaled(proportions: Proportions, loudest: number): number[] {
  return proportions.map((part) => Math.round(part * loudest));
}

/**
 * What to remember of a target's balance after its channels were seen. Silence says nothing about balance, so the
 * memory survives it; and it also survives our own rounding, or quiet volumes would wear the proportions away.
 */
export function rememberProportions(
  before: Proportions | undefined,
  channels: readonly number[],
): Proportions | undefined {
  const loudest = loudestOf(channels);
  const known = before?.length === channels.length ? before : undefined;
  if (loudest === 0) return known;
  if (known !== undefined && scaled(known, loudest).every((raw, at) => raw === channels[at])) return known;
  return ratiosOf(channels);
}

/** Raw channels for a volume (1 = 100 %): the loudest one gets it, the balance stays; `channels` says how many. */
export function channelsAt(
  volume: number,
  channels: readonly number[],
  proportions: Proportions | undefined,
): number[] {
  return scaled(rememberProportions(proportions, channels) ?? channels.map(() => 1), rawOf(volume));
}

/**
 * The volume that a relative change ends at, within 0..1, or undefined when it changes nothing: one upwards from above
 * 100 % must not jump down to it (contract, section 3).
 */
export function volumeAfter(delta: number, channels: readonly number[]): number | undefined {
  const loudest = loudestOf(channels);
  if (delta === 0 || (delta > 0 && loudest >= RAW_NORM)) return undefined;
  // A value that was set in hundredths is not exactly one when read back; without this, steps would add up their errors.
  const shown = fractionOf(loudest);
  const from = rawOf(shown) === loudest ? shown : loudest / RAW_NORM;
  return Math.min(1, Math.max(0, from + delta));
}
