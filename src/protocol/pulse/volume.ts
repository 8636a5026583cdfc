// Turns the volumes of channels into one fraction (1 = 100 %) and a balance, and back. Pure.

/**
 * The raw volume of 100 %. Percentages are linear in raw volumes, as in pactl. The server applies its own
 * curve to raw volumes.
 */
export const RAW_NORM = 0x10000;
/** The largest raw volume that a server accepts (PA_VOLUME_MAX). */
export const RAW_MAX = 0x7fffffff;

/**
 * Positions on the left and on the right: front, rear, of centre, side, top front, top rear (`channelmap.h`).
 */
const LEFT: ReadonlySet<number> = new Set([1, 5, 8, 10, 45, 48]);
const RIGHT: ReadonlySet<number> = new Set([2, 6, 9, 11, 46, 49]);

/** The fraction of a raw volume, with two decimals. */
export function fractionOf(raw: number): number {
  return Math.round((raw / RAW_NORM) * 100) / 100;
}

/**
 * The raw volume of a fraction, within the range that a server accepts. `fractionOf` makes the same fraction
 * of it again for 0.00, 0.01 and so on to 1.00.
 */
export function rawOf(fraction: number): number {
  return Math.min(RAW_MAX, Math.max(0, Math.round(fraction * RAW_NORM)));
}

/**
 * The channels of a balance from -1 (left only) to 1 (right only), each as a part of the loudest one, 0..1;
 * the inverse of `balanceOf`. Undefined unless there are exactly two channels, a left and a right one.
 */
export function partsOf(balance: number, channelMap: readonly number[]): number[] | undefined {
  const hasLeft = channelMap.some((position) => LEFT.has(position));
  const hasRight = channelMap.some((position) => RIGHT.has(position));
  if (channelMap.length !== 2 || !hasLeft || !hasRight) return undefined;
  return channelMap.map((position) => Math.min(1, LEFT.has(position) ? 1 - balance : 1 + balance));
}

/** The raw volume of the loudest channel, which a single slider shows; 0 without channels. */
export function loudestOf(volume: readonly number[]): number {
  let loudest = 0;
  for (const raw of volume) if (raw > loudest) loudest = raw;
  return loudest;
}

/** The fraction of the loudest channel. */
export function levelOf(volume: readonly number[]): number {
  return fractionOf(loudestOf(volume));
}

/**
 * From -1 (left only) to 1 (right only), two decimals: how much quieter the quieter side is on average than
 * the louder one, like `pa_cvolume_get_balance`. 0 if a side has no channel.
 */
export function balanceOf(volume: readonly number[], channelMap: readonly number[]): number {
  const left = averageOf(LEFT, volume, channelMap);
  const right = averageOf(RIGHT, volume, channelMap);
  if (left === undefined || right === undefined || left === right) return 0;
  const balance = left > right ? right / left - 1 : 1 - left / right;
  return Math.round(balance * 100) / 100;
}

/** The average raw volume of the channels on one side; undefined if there are none. */
function averageOf(
  side: ReadonlySet<number>,
  volume: readonly number[],
  channelMap: readonly number[],
): number | undefined {
  const raws = volume.filter((_, channel) => side.has(channelMap[channel] ?? -1));
  return raws.length === 0 ? undefined : raws.reduce((sum, raw) => sum + raw, 0) / raws.length;
}

/** Each channel as a part of the loudest one, 0..1. */
export type Balance = readonly number[];

/** The raw volumes of the channels. `loudest` is the raw volume of the loudest channel. */
export function channelsOf(balance: Balance, loudest: number): number[] {
  return balance.map((part) => Math.round(part * loudest));
}

/**
 * The balance to remember when the raw volumes of a thing's channels have been read. It stays the same at
 * silence, which has no balance, and if the channels differ from it only by our own rounding. Otherwise the
 * rounding of quiet volumes would change it more and more.
 */
export function rememberBalance(
  before: Balance | undefined,
  channels: readonly number[],
): Balance | undefined {
  const loudest = loudestOf(channels);
  const known = before?.length === channels.length ? before : undefined;
  if (loudest === 0) return known;
  const isSame =
    known !== undefined &&
    channels.every((raw, channel) => raw === Math.round((known[channel] ?? 0) * loudest));
  return isSame ? known : channels.map((raw) => raw / loudest);
}
