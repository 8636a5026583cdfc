// A player's position in its track: read now and then, extrapolated in between (docs/players.md, "Positions"). Pure.

/** One moment on both clocks, in ms: dates are for people and may jump; durations are measured with the monotonic clock. */
export interface Moment {
  readonly date: number;
  readonly monotonic: number;
}

export interface Anchor {
  /** Undefined if the player gives no position. */
  readonly positionUs: number | undefined;
  readonly at: Moment;
}

export interface Motion {
  /** Seconds of the track per second; 0 while it does not play. */
  readonly rate: number;
  readonly lengthUs: number | undefined;
}

/** A larger difference from the extrapolated position is a jump. Players report positions in steps of some tenths of a second. */
const JUMP_US = 500_000;
/** A larger difference means that the clock was set; smaller ones are the slow corrections of a time server. */
const CLOCK_STEP_MS = 500;

/** The position now, in microseconds; not beyond the track's end, unless the player itself said so. */
export function reckoned(
  { positionUs, at }: Anchor,
  { rate, lengthUs }: Motion,
  now: Moment,
): number | undefined {
  if (positionUs === undefined) return undefined;
  const moved = positionUs + (now.monotonic - at.monotonic) * 1000 * rate;
  const end = Math.max(positionUs, lengthUs ?? Number.MAX_SAFE_INTEGER);
  return Math.round(Math.min(Math.max(moved, 0), end));
}

/** The same position, as of now. */
export function anchorAt(anchor: Anchor, motion: Motion, now: Moment): Anchor {
  return { positionUs: reckoned(anchor, motion, now), at: now };
}

export function isJump(anchor: Anchor, motion: Motion, positionUs: number | undefined, now: Moment): boolean {
  const expectedUs = reckoned(anchor, motion, now);
  if (expectedUs === undefined || positionUs === undefined) return expectedUs !== positionUs;
  return Math.abs(expectedUs - positionUs) > JUMP_US;
}

/** True if the date was set since then, so that clients can no longer extrapolate from the anchor's date. */
export function hasClockJumped({ at }: Anchor, now: Moment): boolean {
  return Math.abs(now.date - at.date - (now.monotonic - at.monotonic)) > CLOCK_STEP_MS;
}
