// Turns the volumes of channels into one fraction (1 = 100 %) and a balance, and back. Pure.

/**
 * The raw volume of 100 %. Percentages are linear in raw volumes, as in pactl. The server applies its own
 * curve to raw volumes.
 */
export const RAW_NORM = 0x10000;
/** The largest raw volume that a server accepts (PA_VOLUME_MAX). */
export const RAW_MAX = 0x7fffffff;

/** Channels on the left: front, rear, front beside the centre, side, top front, top rear (`channelmap.h`). */
const LEFT_POSITIONS: ReadonlySet<number> = new Set([1, 5, 8, 10, 45, 48]);
/** The same kinds of channels on the right, in the same order. */
const RIGHT_POSITIONS: ReadonlySet<number> = new Set([2, 6, 9, 11, 46, 49]);

/** The fraction of a raw volume, with two decimals. */
export function fractionOf(raw: number): number {
  return Math.round((raw / RAW_NORM) * 100) / 100;
}

/**
 * The raw volume of a fraction, within the range that a server accepts. If the fraction is a whole percent,
 * `fractionOf` turns the raw volume into the same fraction again.
 */
export function rawOf(fraction: number): number {
  return Math.min(RAW_MAX, Math.max(0, Math.round(fraction * RAW_NORM)));
}

/** The volume of each channel, divided by the volume of the loudest channel: 0 to 1. */
export type ChannelParts = readonly number[];

/**
 * The parts that the channels have at this balance (the reverse of `balanceOf`). Undefined unless
 * there are exactly two channels, one left and one right.
 */
export function channelPartsOf(balance: number, channelMap: readonly number[]): number[] | undefined {
  const hasLeft = channelMap.some((position) => LEFT_POSITIONS.has(position));
  const hasRight = channelMap.some((position) => RIGHT_POSITIONS.has(position));
  if (channelMap.length !== 2 || !hasLeft || !hasRight) return undefined;
  return channelMap.map((position) => {
    const part = LEFT_POSITIONS.has(position) ? 1 - balance : 1 + balance;
    return Math.min(1, part);
  });
}

/** The raw volume of the loudest channel, which a single slider shows; 0 without channels. */
export function loudestOf(volume: readonly number[]): number {
  let loudest = 0;
  for (const raw of volume) if (raw > loudest) loudest = raw;
  return loudest;
}

/** The fraction of the loudest channel. */
export function loudestFractionOf(volume: readonly number[]): number {
  return fractionOf(loudestOf(volume));
}

/**
 * The balance from -1 (left only) to 1 (right only), with two decimals. It compares the average of the left
 * with that of the right, like `pa_cvolume_get_balance`. It is 0 if a side has no channel.
 */
export function balanceOf(volume: readonly number[], channelMap: readonly number[]): number {
  const left = averageOf(LEFT_POSITIONS, volume, channelMap);
  const right = averageOf(RIGHT_POSITIONS, volume, channelMap);
  // Equal sides may both be silent, and then the divisions below would give NaN.
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

/** The raw volumes of the channels. `loudest` is the raw volume of the loudest channel. */
export function rawVolumesOf(parts: ChannelParts, loudest: number): number[] {
  return parts.map((part) => Math.round(part * loudest));
}

/**
 * Returns the parts to remember after the raw volumes of the channels have been read: the parts of these
 * volumes, or `before` in two cases:
 * - All channels are silent, so that they have no parts.
 * - `rawVolumesOf` makes the same volumes of `before`. Then `before` is more exact, because raw volumes are
 *   rounded. Parts that are computed from quiet volumes again and again would change more and more.
 *
 * A `before` for another number of channels counts as absent.
 */
export function rememberChannelParts(
  before: ChannelParts | undefined,
  rawVolumes: readonly number[],
): ChannelParts | undefined {
  const loudest = loudestOf(rawVolumes);
  const previous = before?.length === rawVolumes.length ? before : undefined;
  if (loudest === 0) return previous;
  // The comparison rounds like `rawVolumesOf`, but makes no array.
  const givesSameVolumes =
    previous !== undefined &&
    rawVolumes.every((raw, channel) => raw === Math.round((previous[channel] ?? 0) * loudest));
  return givesSameVolumes ? previous : rawVolumes.map((raw) => raw / loudest);
}
