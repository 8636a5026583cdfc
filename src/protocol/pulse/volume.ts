// Volume arithmetic: raw words per channel <-> one fraction (1 = 100 %) and a balance. Pure.

/**
 * 100 %. Percentages are linear in the raw value, as pactl shows them (the server applies its curve later).
 */
export const RAW_NORM = 0x10000;
/** PA_VOLUME_MAX. */
export const RAW_MAX = 0x7fffffff;

/**
 * Channel positions on either side (`pulse/channelmap.h`): front, rear, of centre, side, top front, top rear.
 */
const LEFT: ReadonlySet<number> = new Set([1, 5, 8, 10, 45, 48]);
const RIGHT: ReadonlySet<number> = new Set([2, 6, 9, 11, 46, 49]);

/** Raw to fraction, two decimals. */
export function fractionOf(raw: number): number {
  return Math.round((raw / RAW_NORM) * 100) / 100;
}

/**
 * Fraction to raw, within the range that a server accepts. 0.00 to 1.00 in steps of 0.01 come back exactly.
 */
export function rawOf(fraction: number): number {
  return Math.min(RAW_MAX, Math.max(0, Math.round(fraction * RAW_NORM)));
}

/**
 * Channels as parts of the loudest one, each 0..1, for a balance of -1 (left only) to 1 (right only); the
 * inverse of `balanceOf`. Undefined unless there are exactly one left and one right channel.
 */
export function partsOf(balance: number, map: readonly number[]): number[] | undefined {
  const isStereo = map.length === 2 && [LEFT, RIGHT].every((side) => map.some((at) => side.has(at)));
  return isStereo ? map.map((at) => Math.min(1, LEFT.has(at) ? 1 - balance : 1 + balance)) : undefined;
}

/** The loudest channel's raw volume, which a single slider shows. 0 without channels. */
export function loudestOf(volume: readonly number[]): number {
  let loudest = 0;
  for (const raw of volume) if (raw > loudest) loudest = raw;
  return loudest;
}

export function levelOf(volume: readonly number[]): number {
  return fractionOf(loudestOf(volume));
}

/**
 * From -1 (left only) to 1 (right only), two decimals, like `pa_cvolume_get_balance`: the quieter side's
 * average relative to the louder's. 0 if a side has no channel.
 */
export function balanceOf(volume: readonly number[], map: readonly number[]): number {
  const [left, right] = [LEFT, RIGHT].map((side) => {
    const raws = volume.filter((_, channel) => side.has(map[channel] ?? -1));
    return raws.length === 0 ? undefined : raws.reduce((sum, raw) => sum + raw, 0) / raws.length;
  });
  if (left === undefined || right === undefined || left === right) return 0;
  return Math.round((left > right ? right / left - 1 : 1 - left / right) * 100) / 100;
}

/** Each channel as a part of the loudest one, 0..1. */
export type Balance = readonly number[];

/** Raw channel volumes of a balance, for a given loudest channel. */
export function channelsOf(balance: Balance, loudest: number): number[] {
  return balance.map((part) => Math.round(part * loudest));
}

/**
 * The balance to remember after a target's channels were read. Silence shows no balance, so the old one is
 * kept; it is also kept when the channels differ only by our own rounding, or quiet volumes would wear it
 * away.
 */
export function rememberBalance(
  before: Balance | undefined,
  channels: readonly number[],
): Balance | undefined {
  const loudest = loudestOf(channels);
  const known = before?.length === channels.length ? before : undefined;
  if (loudest === 0) return known;
  let differs = known === undefined;
  for (let at = 0; at < channels.length && !differs; at += 1)
    differs = Math.round((known?.[at] ?? 0) * loudest) !== channels[at];
  return differs ? channels.map((raw) => raw / loudest) : known;
}
