// Reckons a player's position between two readings (docs/players.md, "Positions"), and decides whether the
// position or the date has jumped. Pure.

/**
 * One moment by the node's date and by the monotonic clock, in ms. The date may jump, so durations are
 * measured with the monotonic clock.
 */
export interface Moment {
  readonly date: number;
  readonly monotonic: number;
}

/** A known position, from which later positions are reckoned. */
export interface Anchor {
  /** Undefined if the player reports no position. */
  readonly positionUs: number | undefined;
  /** When the player was at this position. */
  readonly moment: Moment;
}

export interface Motion {
  /** Seconds of the track per second; 0 while the player does not play. */
  readonly rate: number;
  /** The track's length; undefined if it is unknown or endless. */
  readonly lengthUs: number | undefined;
}

/**
 * A larger difference from the reckoned position is a jump. Smaller differences are usual, because players
 * report positions in steps of some tenths of a second.
 */
const JUMP_US = 500_000;
/**
 * The time since the anchor's moment is measured by the date and by the monotonic clock. If the two times
 * differ by more than this, the date was set. Smaller differences are usual, because a time server corrects
 * the date slowly.
 */
const CLOCK_STEP_MS = 500;

/**
 * In microseconds; undefined if the anchor has no position. A position beyond the track's end is possible
 * only if the player itself has reported it.
 */
export function reckonPosition(anchor: Anchor, motion: Motion, now: Moment): number | undefined {
  const { positionUs, moment } = anchor;
  const { rate, lengthUs = Number.MAX_SAFE_INTEGER } = motion;
  if (positionUs === undefined) return undefined;
  const elapsedUs = (now.monotonic - moment.monotonic) * 1000;
  const reckonedUs = Math.max(positionUs + elapsedUs * rate, 0);
  const endUs = Math.max(positionUs, lengthUs);
  return Math.round(Math.min(reckonedUs, endUs));
}

/** The new anchor is at the moment `now`, and leads to the same later positions as `anchor`. */
export function anchorAt(anchor: Anchor, motion: Motion, now: Moment): Anchor {
  return { positionUs: reckonPosition(anchor, motion, now), moment: now };
}

/** Also true if the player begins or ceases to report a position. */
export function isJump(anchor: Anchor, motion: Motion, positionUs: number | undefined, now: Moment): boolean {
  const reckonedUs = reckonPosition(anchor, motion, now);
  if (reckonedUs === undefined || positionUs === undefined) return reckonedUs !== positionUs;
  return Math.abs(reckonedUs - positionUs) > JUMP_US;
}

/** True if the date was set after the anchor's moment. */
export function wasDateSet({ moment }: Anchor, now: Moment): boolean {
  const elapsedByDateMs = now.date - moment.date;
  const elapsedMs = now.monotonic - moment.monotonic;
  return Math.abs(elapsedByDateMs - elapsedMs) > CLOCK_STEP_MS;
}
