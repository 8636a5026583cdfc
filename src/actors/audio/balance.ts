// The balance of a target's channels, and how it outlives silence. Pure.

import { loudestOf } from '../../protocol/pulse/volume.js';

/** Each channel as a part of the loudest one, 0..1. */
export type Balance = readonly number[];

/** Raw channel volumes of a balance, for a given loudest channel. */
export function channelsOf(balance: Balance, loudest: number): number[] {
  return balance.map((part) => Math.round(part * loudest));
}

/**
 * The balance to remember after a target's channels were read. Silence shows no balance, so the old one is kept; it is also kept when
 * the channels differ only by our own rounding, or quiet volumes would wear it away.
 */
export function rememberBalance(
  before: Balance | undefined,
  channels: readonly number[],
): Balance | undefined {
  const loudest = loudestOf(channels);
  const known = before?.length === channels.length ? before : undefined;
  if (loudest === 0) return known;
  if (known !== undefined && channelsOf(known, loudest).every((raw, at) => raw === channels[at]))
    return known;
  return channels.map((raw) => raw / loudest);
}
