// Turns the volumes of channels into one fraction (1 = 100 %) and a balance, and back. Pure.

/**
 * The raw volume of 100 %. Percentages are linear in raw volumes, as in pactl. The server applies its own
 * curve to raw volumes.
 */
export const RAW_NORM = 0x10000;
/** The largest raw volume that a server accepts (PA_VOLUME_MAX). */
export const RAW_MAX = 0x7fffffff;

/** Left positions: front, rear, front beside the centre, side, top front, top rear (`channelmap.h`). */
const LEFT_POSITIONS: ReadonlySet<number> = new Set([1, 5, 8, 10, 45, 48]);
/** The corresponding right positions, in the same order. */
const RIGHT_POSITIONS: ReadonlySet<number> = new Set([2, 6, 9, 11, 46, 49]);

/** Turns a raw volume into a fraction with two decimals. */
export function fractionOf(raw: number): number {
  return Math.round((raw / RAW_NORM) * 100) / 100;
}

/**
 * Turns a fraction into a raw volume, within the range that a server accepts. If the fraction is a whole
 * percent in this range, `fractionOf` turns the raw volume into the same fraction again.
 */
export function rawOf(fraction: number): number {
  return Math.min(RAW_MAX, Math.max(0, Math.round(fraction * RAW_NORM)));
}

/** The volume of each channel, divided by the volume of the loudest channel: 0 to 1. */
export type ChannelParts = readonly number[];

/**
 * Returns the parts that the channels have at this balance (the reverse of `balanceOf`). The result is
 * undefined if the channels are not stereo: one channel on the left, and one on the right.
 */
export function channelPartsOf(balance: number, channelMap: readonly number[]): number[] | undefined {
  const hasLeft = channelMap.some((position) => LEFT_POSITIONS.has(position));
  const hasRight = channelMap.some((position) => RIGHT_POSITIONS.has(position));
  const isStereo = channelMap.length === 2 && hasLeft && hasRight;
  if (!isStereo) return undefined;
  return channelMap.map((position) => {
    const part = LEFT_POSITIONS.has(position) ? 1 - balance : 1 + balance;
    return Math.min(1, part);
  });
}

/** The raw volume of the loudest channel; 0 without channels. One slider for all channels displays it. */
export function loudestOf(rawVolumes: readonly number[]): number {
  let loudest = 0;
  for (const raw of rawVolumes) if (raw > loudest) loudest = raw;
  return loudest;
}

/** The volume of the loudest channel as a fraction. */
export function loudestFractionOf(rawVolumes: readonly number[]): number {
  return fractionOf(loudestOf(rawVolumes));
}

/**
 * The balance from -1 (left only) to 1 (right only), with two decimals. It depends on the average volume of
 * each side, as in `pa_cvolume_get_balance`. The balance is 0 if a side has no channel. `channelVolumes` are
 * raw volumes or `ChannelParts`.
 */
export function balanceOf(channelVolumes: readonly number[], channelMap: readonly number[]): number {
  const left = averageOf(LEFT_POSITIONS, channelVolumes, channelMap);
  const right = averageOf(RIGHT_POSITIONS, channelVolumes, channelMap);
  // Equal sides may both be silent, and then the divisions below would give NaN.
  if (left === undefined || right === undefined || left === right) return 0;
  const balance = left > right ? right / left - 1 : 1 - left / right;
  return Math.round(balance * 100) / 100;
}

/** The average volume of the channels on one side; undefined if this side has no channel. */
function averageOf(
  side: ReadonlySet<number>,
  channelVolumes: readonly number[],
  channelMap: readonly number[],
): number | undefined {
  const sideVolumes = channelVolumes.filter((_, channel) => side.has(channelMap[channel] ?? -1));
  if (sideVolumes.length === 0) return undefined;
  return sideVolumes.reduce((sum, volume) => sum + volume, 0) / sideVolumes.length;
}

/** The raw volumes of the channels. `loudest` is the raw volume of the loudest channel. */
export function rawVolumesOf(parts: ChannelParts, loudest: number): number[] {
  return parts.map((part) => Math.round(part * loudest));
}

/**
 * Returns the parts to remember after the raw volumes of the channels have been read. Usually they are
 * computed from these volumes. In two cases the function returns the `remembered` parts instead:
 * - All channels are silent, so no parts can be computed.
 * - `rawVolumesOf` turns `remembered` into the same raw volumes. Then `remembered` is more exact, because raw
 *   volumes are rounded. Parts that are computed from quiet volumes again and again would change more and
 *   more.
 *
 * Parts in `remembered` count as absent if they are for another number of channels.
 */
export function rememberChannelParts(
  remembered: ChannelParts | undefined,
  rawVolumes: readonly number[],
): ChannelParts | undefined {
  const loudest = loudestOf(rawVolumes);
  const fittingParts = remembered?.length === rawVolumes.length ? remembered : undefined;
  if (loudest === 0) return fittingParts;
  // The comparison rounds like `rawVolumesOf`, but makes no array.
  const givesSameVolumes =
    fittingParts !== undefined &&
    rawVolumes.every((raw, channel) => raw === Math.round((fittingParts[channel] ?? 0) * loudest));
  return givesSameVolumes ? fittingParts : rawVolumes.map((raw) => raw / loudest);
}
