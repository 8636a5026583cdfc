// Decides what a pointer on a slider means: a drag, a tap, or a scroll of the page. A browser itself would
// set a value wherever a finger comes down, even if the finger begins to scroll.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** The slider's answers to a pointer. All positions are parts of the slider, 0..1. */
interface PointerOptions {
  /** The thumb's position. */
  readonly part: number;
  /** Called when a mouse button is pressed, and when a finger or a button is lifted. */
  readonly onDown: () => void;
  /** Called with the notches of the wheel, positive upwards. If undefined, the wheel scrolls the page. */
  readonly onWheel: ((notches: number) => void) | undefined;
  readonly onGrab: () => void;
  readonly onMove: (part: number) => void;
  readonly onTap: (part: number) => void;
  /**
   * Called with the last position of a drag. If the browser has cancelled the gesture, this is the position
   * that the thumb had before the drag.
   */
  readonly onEnd: (part: number) => void;
}

/** The width of the thumb, as in page.css. */
const THUMB_REM = 1.375;
/** A finger that moves further than this does so on purpose, because an unsteady finger moves less. */
const SIDEWAYS_PX = 8;
/** A little less than what one notch of a mouse wheel scrolls. A touchpad sends smaller amounts. */
const NOTCH_PX = 50;
/** The height of a line, because some browsers count the wheel in lines. */
const LINE_PX = 16;

/**
 * Follows the pointers on `field`, a native slider. Nothing is set until the finger has moved sideways, or
 * was lifted where it came down. The returned function is true while a pointer is down. The values that the
 * browser sets meanwhile must be ignored.
 */
export function usePointer(
  field: RefObject<HTMLInputElement | null>,
  options: PointerOptions,
): () => boolean {
  const latest = useRef(options);
  latest.current = options;
  const isDown = useRef(false);
  useEffect(() => {
    const { current } = field;
    current?.addEventListener('pointerdown', (down) => followGesture(current, down, latest));
    const setDown = (value: boolean): void => {
      isDown.current = value;
    };
    for (const begin of ['pointerdown', 'touchstart']) current?.addEventListener(begin, () => setDown(true));
    // A timer waits, because the browser still sets its own value right after these events. `keydown` is
    // among them, because the browser may not have sent the end of a pointer.
    for (const end of ['pointerup', 'touchend', 'touchcancel', 'keydown'])
      current?.addEventListener(end, () => setTimeout(() => setDown(false)));
    // Without `onWheel` there is no listener, because the browser would wait for it before it scrolls the
    // page.
    let rolledPx = 0;
    if (latest.current.onWheel !== undefined)
      current?.addEventListener('wheel', (event) => {
        event.preventDefault();
        const unitPx = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : LINE_PX;
        rolledPx += event.deltaY * unitPx;
        const notches = Math.trunc(rolledPx / NOTCH_PX);
        rolledPx -= notches * NOTCH_PX;
        if (notches !== 0) latest.current.onWheel?.(-notches);
      });
    current?.addEventListener('mousedown', (event) => {
      // The browser would set a value and the focus by itself. Both are set here instead.
      event.preventDefault();
      latest.current.onDown();
    });
  }, [field]);
  return () => isDown.current;
}

/** Follows one pointer from its `pointerdown` to its end. */
function followGesture(
  field: HTMLElement,
  down: PointerEvent,
  latest: { readonly current: PointerOptions },
): void {
  if (!down.isPrimary || down.button !== 0) return;
  const { left, width } = field.getBoundingClientRect();
  const thumb = THUMB_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const length = width - thumb;
  const { part: from } = latest.current;
  const isMouse = down.pointerType === 'mouse';
  let isDrag = false;
  /** A mouse and a tap set the value under them. A finger that drags moves the value along. */
  const partAt = (x: number): number => {
    const under = (x - left - thumb / 2) / length;
    const along = from + (x - down.clientX) / length;
    return clamp(isDrag && !isMouse ? along : under, 1);
  };
  const drag = ({ clientX: x }: PointerEvent): void => {
    if (!isDrag) latest.current.onGrab();
    isDrag = true;
    latest.current.onMove(partAt(x));
  };
  const ended = new AbortController();
  type Kind = 'pointermove' | 'pointerup' | 'pointercancel';
  const listen = (kind: Kind, handle: (event: PointerEvent) => void): void =>
    field.addEventListener(
      kind,
      (event) => {
        if (event.pointerId === down.pointerId) handle(event);
      },
      ended,
    );
  field.setPointerCapture(down.pointerId);
  if (isMouse) drag(down);
  listen('pointermove', (event) => {
    const dx = Math.abs(event.clientX - down.clientX);
    const dy = Math.abs(event.clientY - down.clientY);
    const isSideways = dx > SIDEWAYS_PX && dx > dy;
    if (isDrag || isSideways) drag(event);
    else if (dy > SIDEWAYS_PX) ended.abort();
  });
  listen('pointerup', ({ clientX: x }) => {
    ended.abort();
    // `onDown` comes before the end of the gesture, because for a finger the browser sends `mousedown` only
    // after the end.
    latest.current.onDown();
    if (isDrag) latest.current.onEnd(partAt(x));
    else latest.current.onTap(partAt(x));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (isDrag) latest.current.onEnd(from);
  });
}

/** The number of 0..`max` that is nearest to `value`. */
export function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(0, value));
}
