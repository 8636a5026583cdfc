// What a hand on a slider means. Pure: where it went down, moved and lifted goes in, what to set comes out. A finger that scrolls begins
// on whatever is under it, so nothing is set until it has moved sideways, or lifted where it was.

/** Pixels; a finger trembles by less. */
const SIDEWAYS_PX = 8;
/** Of the whole, in one step upwards: what a tap sets is heard at once. */
const RISE_MAX = 0.1;
/** Between two steps: ten of them take less than a second. */
export const RISE_MS = 95;

export interface Spot {
  readonly x: number;
  readonly y: number;
}

export interface Grip {
  readonly down: Spot;
  /** Where on the slider it was, 0..1, as the hand came. */
  readonly from: number;
  /** A mouse points where it means; a finger may be scrolling. */
  readonly isSure: boolean;
  /** Where the hand was as it became sure: from here on it moves the value along with it. */
  readonly since: Spot | undefined;
}

/** The finger scrolls: it means nothing here. */
export type Moved = Grip | 'scrolls';

export function gripAt(down: Spot, from: number, isSure: boolean): Grip {
  return { down, from, isSure, since: isSure ? down : undefined };
}

export function move(grip: Grip, to: Spot): Moved {
  if (grip.since !== undefined) return grip;
  const [dx, dy] = [Math.abs(to.x - grip.down.x), Math.abs(to.y - grip.down.y)];
  if (dx > SIDEWAYS_PX && dx > dy) return { ...grip, since: to };
  return dy > SIDEWAYS_PX ? 'scrolls' : grip;
}

/** The way of a thumb: its left end and its length in pixels. */
export interface Way {
  readonly left: number;
  readonly length: number;
}

/** 0..1: what the hand at `x` means; undefined while it may mean nothing. */
export function partOf({ from, isSure, since }: Grip, { left, length }: Way, x: number): number | undefined {
  if (since === undefined) return undefined;
  const part = isSure ? (x - left) / length : from + (x - since.x) / length;
  return Math.min(1, Math.max(0, part));
}

/** The values on the way of a tap, one each `RISE_MS`: down at once, up in steps. `whole` is the slider's length in values. */
export function stepsTo(from: number, to: number, whole: number): readonly number[] {
  const by = RISE_MAX * whole;
  // What is computed is not quite what is meant: 0.3 - 0.2 is less than 0.1.
  const count = Math.max(1, Math.ceil((to - from) / by - 1e-6));
  return Array.from({ length: count }, (_, index) => (index + 1 === count ? to : from + (index + 1) * by));
}
