// Interprets a pointer on a slider: a drag, a tap, or a scroll of the page. A scrolling finger may start on a slider, so nothing is set
// until the finger has moved sideways, or was lifted in place.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** All positions are parts of the slider, 0..1. */
interface HandOptions {
  readonly part: number;
  /** A mouse button was pressed, or a finger was lifted. */
  readonly onDown: () => void;
  /** Upwards is positive. If undefined, the wheel scrolls the page. */
  readonly onWheel: ((notches: number) => void) | undefined;
  readonly onHold: () => void;
  readonly onMove: (part: number) => void;
  readonly onTap: (part: number) => void;
  /** Gets the last position; if the browser has cancelled the gesture, the first one. */
  readonly onEnd: (part: number) => void;
}

/** The width of the thumb, as in page.css. */
const THUMB_REM = 1.375;
/** Pixels; an unsteady finger moves less. */
const SIDEWAYS_PX = 8;
/** A little less than one notch of a mouse wheel; a touchpad sends smaller amounts. */
const NOTCH_PX = 50;
const LINE_PX = 16;

/**
 * Handles pointers on `field`, a native slider. The returned function is true while a pointer is down; the values that the
 * browser sets meanwhile must be ignored.
 */
export function useHand(field: RefObject<HTMLInputElement | null>, options: HandOptions): () => boolean {
  const latest = useRef(options);
  latest.current = options;
  const isDown = useRef(false);
  useEffect(() => {
    const { current } = field;
    current?.addEventListener('pointerdown', (down) => follow(current, down, latest));
    for (const begin of ['pointerdown', 'touchstart'] as const)
      current?.addEventListener(begin, () => {
        isDown.current = true;
      });
    // The browser sets its own value at these events too, so the timer ends it after them. A key also ends it, if no end was sent.
    for (const end of ['pointerup', 'touchend', 'touchcancel', 'keydown'] as const)
      current?.addEventListener(end, () =>
        setTimeout(() => {
          isDown.current = false;
        }),
      );
    // No wheel listener if the page scrolls, so that the browser need not wait for it.
    let rolled = 0;
    if (latest.current.onWheel !== undefined)
      current?.addEventListener('wheel', (event) => {
        event.preventDefault();
        rolled += event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * LINE_PX;
        const notches = Math.trunc(rolled / NOTCH_PX);
        rolled -= notches * NOTCH_PX;
        if (notches !== 0) latest.current.onWheel?.(-notches);
      });
    current?.addEventListener('mousedown', (event) => {
      // Prevents the browser's own value and focus, which are set here instead.
      event.preventDefault();
      latest.current.onDown();
    });
  }, [field]);
  return () => isDown.current;
}

function follow(field: HTMLElement, down: PointerEvent, latest: { readonly current: HandOptions }): void {
  if (!down.isPrimary || down.button !== 0) return;
  const { left, width } = field.getBoundingClientRect();
  const thumb = THUMB_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const length = width - thumb;
  const { part: from } = latest.current;
  const isMouse = down.pointerType === 'mouse';
  /** The pointer's position when the gesture became a drag. A mouse sets the value under it; a finger moves the value along. */
  let since: number | undefined;
  const partAt = (x: number): number => {
    const part =
      isMouse || since === undefined ? (x - left - thumb / 2) / length : from + (x - since) / length;
    return Math.min(1, Math.max(0, part));
  };
  const drag = ({ clientX: x }: PointerEvent): void => {
    if (since === undefined) latest.current.onHold();
    since ??= x;
    latest.current.onMove(partAt(x));
  };
  const ended = new AbortController();
  const listen = (
    type: 'pointermove' | 'pointerup' | 'pointercancel',
    handle: (event: PointerEvent) => void,
  ) => field.addEventListener(type, (event) => event.pointerId === down.pointerId && handle(event), ended);
  field.setPointerCapture(down.pointerId);
  if (isMouse) drag(down);
  listen('pointermove', (event) => {
    const [dx, dy] = [Math.abs(event.clientX - down.clientX), Math.abs(event.clientY - down.clientY)];
    if (since !== undefined || (dx > SIDEWAYS_PX && dx > dy)) drag(event);
    else if (dy > SIDEWAYS_PX) ended.abort();
  });
  listen('pointerup', ({ clientX: x }) => {
    ended.abort();
    // First, because the browser's own mousedown comes too late, after what the gesture sets.
    latest.current.onDown();
    if (since === undefined) latest.current.onTap(partAt(x));
    else latest.current.onEnd(partAt(x));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (since !== undefined) latest.current.onEnd(from);
  });
}
