// Decides what a pointer on a slider means: a drag, a tap, or a scroll of the page. Also counts the notches
// of a wheel. A native slider by itself would set a value wherever a finger comes down, even if the finger
// then scrolls the page.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

/** All positions are 0..1 along the slider. */
interface PointerOptions {
  /** The thumb's position. */
  readonly thumbAt: number;
  /** Must focus the slider. Called when a mouse button is pressed, and at the end of a drag or a tap. */
  readonly takeFocus: () => void;
  /** Called per notch of the wheel: 1 is up, -1 is down. Without `onWheel`, the wheel scrolls the page. */
  readonly onWheel: ((direction: number) => void) | undefined;
  /** Identifies what the slider is about, such as a track. If it changes, a gesture ends without a value. */
  readonly subjectId: string | undefined;
  readonly onGrab: () => void;
  readonly onMove: (position: number) => void;
  /** Called when a finger or a pen is lifted where it came down. A mouse makes no taps, only drags. */
  readonly onTap: (position: number) => void;
  /**
   * Called at the end of a drag. `position` is undefined if the browser has cancelled the drag, if the slider
   * was disabled during the drag, or if `subjectId` has changed.
   */
  readonly onEnd: (position: number | undefined) => void;
}

/** The width of most thumbs: the first `--thumb` in page.css. */
const THUMB_WIDTH_REM = 1.375;
/** An unsteady finger moves less than this, sideways or up and down. */
const MOVEMENT_MIN_PX = 8;
/**
 * A notch of a mouse wheel scrolls by 53 to 120 px. A touchpad sends smaller amounts, which are added up.
 */
const NOTCH_MIN_PX = 50;

/**
 * Follows the pointers on a native slider. A finger sets a value only when it moves sideways, or when it is
 * lifted where it came down. The returned function returns true while a pointer is down. During this time the
 * caller must ignore the values that the browser sets.
 */
export function usePointer(
  sliderRef: RefObject<HTMLInputElement | null>,
  options: PointerOptions,
): () => boolean {
  const latest = useRef(options);
  latest.current = options;
  const isDown = useRef(false);
  useEffect(() => {
    const slider = sliderRef.current;
    slider?.addEventListener('pointerdown', (down) => followGesture(slider, down, latest));
    const setDown = (value: boolean): void => {
      isDown.current = value;
    };
    for (const begin of ['pointerdown', 'touchstart']) slider?.addEventListener(begin, () => setDown(true));
    // The browser still sets its own value right after an event of this list, so the pointer counts as down
    // until the timer ends. `keydown` is in the list, because keys must work again even if the browser has
    // sent no event at the end of a pointer. `pointercancel` is not in the list, because it comes when a
    // finger begins to scroll, and this finger is still down.
    for (const end of ['pointerup', 'touchend', 'touchcancel', 'keydown'])
      slider?.addEventListener(end, () => setTimeout(() => setDown(false)));
    // A wheel listener delays the scrolling of the page, so it is added only if there is an `onWheel`.
    let rolledPx = 0;
    if (latest.current.onWheel !== undefined)
      slider?.addEventListener('wheel', (event) => {
        if (slider.matches(':disabled')) return;
        event.preventDefault();
        // Firefox reports a notch of a wheel in lines, often three. One line already counts as a notch. Only
        // a touchpad reports less than a notch, and it always reports pixels.
        const unitPx = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : NOTCH_MIN_PX;
        rolledPx += event.deltaY * unitPx;
        if (Math.abs(rolledPx) < NOTCH_MIN_PX) return;
        // A notch makes one call, however far it would scroll the page.
        latest.current.onWheel?.(rolledPx < 0 ? 1 : -1);
        rolledPx = 0;
      });
    slider?.addEventListener('mousedown', (event) => {
      // The browser would set a value and the focus by itself. This file decides both instead.
      event.preventDefault();
      latest.current.takeFocus();
    });
  }, [sliderRef]);
  return () => isDown.current;
}

/** Follows one pointer from its `pointerdown` to its end. */
function followGesture(
  slider: HTMLElement,
  down: PointerEvent,
  latest: { readonly current: PointerOptions },
): void {
  // Browsers send pointer events to a disabled slider, too.
  if (!down.isPrimary || down.button !== 0 || slider.matches(':disabled')) return;
  const { left, width } = slider.getBoundingClientRect();
  const thumbPx = THUMB_WIDTH_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  // The thumb's centre never comes closer to an end of the slider than half a thumb.
  const lengthPx = width - thumbPx;
  const { thumbAt: startPosition, subjectId } = latest.current;
  const isMouse = down.pointerType === 'mouse';
  let isDrag = false;
  /** A mouse or a tap moves the thumb to the pointer. A finger or a pen that drags moves the thumb along. */
  const positionAt = (x: number): number => {
    const underPointer = (x - left - thumbPx / 2) / lengthPx;
    const movedAlong = startPosition + (x - down.clientX) / lengthPx;
    return clampFromZero(isDrag && !isMouse ? movedAlong : underPointer, 1);
  };
  const drag = ({ clientX: x }: PointerEvent): void => {
    if (!isDrag) latest.current.onGrab();
    isDrag = true;
    latest.current.onMove(positionAt(x));
  };
  // The listeners take `ended` as their options, because it has a `signal`.
  const ended = new AbortController();
  type EventName = 'pointermove' | 'pointerup' | 'pointercancel';
  const listen = (name: EventName, handle: (event: PointerEvent) => void): void =>
    slider.addEventListener(
      name,
      (event) => {
        if (event.pointerId !== down.pointerId) return;
        // Since the pointer went down, the slider may have been disabled, or may have got another subject.
        if (slider.matches(':disabled') || latest.current.subjectId !== subjectId) {
          ended.abort();
          if (isDrag) latest.current.onEnd(undefined);
        } else handle(event);
      },
      ended,
    );
  slider.setPointerCapture(down.pointerId);
  if (isMouse) drag(down);
  listen('pointermove', (event) => {
    const dx = Math.abs(event.clientX - down.clientX);
    const dy = Math.abs(event.clientY - down.clientY);
    const isSideways = dx > MOVEMENT_MIN_PX && dx > dy;
    if (isDrag || isSideways) drag(event);
    // A finger that moves up or down scrolls the page.
    else if (dy > MOVEMENT_MIN_PX) ended.abort();
  });
  listen('pointerup', ({ clientX: x }) => {
    ended.abort();
    // The `mousedown` of a finger comes only after the gesture, so the next line takes the focus, too.
    latest.current.takeFocus();
    if (isDrag) latest.current.onEnd(positionAt(x));
    else latest.current.onTap(positionAt(x));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (!isDrag) return;
    // The drag of a volume has already sent values, so `onMove` sets the volume back. A position in a track
    // is sent only by `onEnd`, so `onMove` sends nothing for it.
    latest.current.onMove(startPosition);
    latest.current.onEnd(undefined);
  });
}

/** Returns the number from 0 to `max` that is nearest to `value`. */
export function clampFromZero(value: number, max: number): number {
  return Math.min(max, Math.max(0, value));
}
