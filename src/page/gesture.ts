// Interprets pointer movements on a slider. Pure: positions in, values to set out. A scrolling finger may start on a slider,
// so nothing is set until the finger has moved sideways, or was lifted in place.

/** Pixels; an unsteady finger moves less. */
const SIDEWAYS_PX = 8;
/** The largest upward step, as part of the range: a tap must not make a sudden loud sound. */
const RISE_MAX = 0.1;
/** Between two steps; ten of them take less than a second. */
export const RISE_MS = 95;

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Grip {
  readonly down: Point;
  /** The slider's position, 0..1, when the pointer went down. */
  readonly from: number;
  /** True for a mouse; a finger may be scrolling. */
  readonly isSure: boolean;
  /** The pointer's position when the gesture became sure; from there on, movement changes the value. */
  readonly since: Point | undefined;
}

/** `scrolls`: the finger scrolls the page. */
export type Movement = Grip | 'scrolls';

export function gripAt(down: Point, from: number, isSure: boolean): Grip {
  return { down, from, isSure, since: isSure ? down : undefined };
}

export function move(grip: Grip, to: Point): Movement {
  if (grip.since !== undefined) return grip;
  const [dx, dy] = [Math.abs(to.x - grip.down.x), Math.abs(to.y - grip.down.y)];
  if (dx > SIDEWAYS_PX && dx > dy) return { ...grip, since: to };
  return dy > SIDEWAYS_PX ? 'scrolls' : grip;
}

/** The track of a thumb: its left end and its length in pixels. */
export interface SliderExtent {
  readonly left: number;
  readonly length: number;
}

/** The slider's position, 0..1, for the pointer at `x`; undefined while the gesture is not sure. */
export function partOf(
  { from, isSure, since }: Grip,
  { left, length }: SliderExtent,
  x: number,
): number | undefined {
  if (since === undefined) return undefined;
  const part = isSure ? (x - left) / length : from + (x - since.x) / length;
  return Math.min(1, Math.max(0, part));
}

/** The values to set after a tap, one each `RISE_MS`: down at once, up in steps. `whole` is the slider's range in values. */
export function stepsTo(from: number, to: number, whole: number): readonly number[] {
  const by = RISE_MAX * whole;
  // Tolerance for floating point: 0.3 - 0.2 is less than 0.1.
  const count = Math.max(1, Math.ceil((to - from) / by - 1e-6));
  return Array.from({ length: count }, (_, index) => (index + 1 === count ? to : from + (index + 1) * by));
}
