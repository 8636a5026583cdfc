// Where a player is in its track: read now and then, reckoned between (docs/players.md, "Positions"). Pure.

/** One moment on both clocks: dates are for people and jump, what lies between two moments is told by the other. Milliseconds. */
export interface Moment {
  readonly date: number;
  readonly monotonic: number;
}

/** Where it was, and when. */
export interface Anchor {
  /** Undefined: it does not tell. */
  readonly positionUs: number | undefined;
  readonly at: Moment;
}

/** How it moves on from there. */
export interface Motion {
  /** Seconds of the track per second; 0 while it does not play. */
  readonly rate: number;
  /** Undefined: nobody knows. */
  readonly lengthUs: number | undefined;
}

/** Further apart than this, what was read is not what was reckoned. Players tell positions by buffers of some tenths of a second. */
const JUMP_US = 500_000;
/** A clock that was set; what is less is the slow work of a time server. */
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
export function movedTo(anchor: Anchor, motion: Motion, now: Moment): Anchor {
  return { positionUs: reckoned(anchor, motion, now), at: now };
}

export function isJump(anchor: Anchor, motion: Motion, positionUs: number | undefined, now: Moment): boolean {
  const expectedUs = reckoned(anchor, motion, now);
  if (expectedUs === undefined || positionUs === undefined) return expectedUs !== positionUs;
  return Math.abs(expectedUs - positionUs) > JUMP_US;
}

/** Whether the date was set since then, so that nobody can reckon from the anchor's any more. */
export function hasClockJumped({ at }: Anchor, now: Moment): boolean {
  return Math.abs(now.date - at.date - (now.monotonic - at.monotonic)) > CLOCK_STEP_MS;
}
