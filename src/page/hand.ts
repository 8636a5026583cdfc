// Connects the browser's pointer events on a slider to `gesture.ts`, which interprets them.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Grip, gripAt, move, type Point, partOf, type SliderExtent } from './gesture.js';

interface HandOptions {
  /** The slider's position, 0..1. */
  readonly part: number;
  /** A mouse button was pressed, or a finger was lifted. */
  readonly onDown: () => void;
  /** Upwards is positive. If undefined, the wheel scrolls the page. */
  readonly onWheel: ((notches: number) => void) | undefined;
  readonly onHold: () => void;
  readonly onMove: (part: number) => void;
  readonly onTap: (part: number) => void;
  /** Gets the last position, if there was movement; if the browser has cancelled the gesture, the first one. */
  readonly onEnd: (part: number | undefined) => void;
}

/** The width of the thumb, as in page.css. */
const THUMB_REM = 1.375;

function extentOf(field: HTMLElement): SliderExtent {
  const { left, width } = field.getBoundingClientRect();
  const thumb = THUMB_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { left: left + thumb / 2, length: width - thumb };
}

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
    current?.addEventListener('pointerdown', (down) => take(current, down, latest));
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

function take(field: HTMLElement, down: PointerEvent, latest: { readonly current: HandOptions }): void {
  if (!down.isPrimary || down.button !== 0) return;
  const way = extentOf(field);
  const { part: from, onHold } = latest.current;
  const spotOf = ({ clientX: x, clientY: y }: PointerEvent): Point => ({ x, y });
  const ended = new AbortController();
  const listen = (
    type: 'pointermove' | 'pointerup' | 'pointercancel',
    handle: (event: PointerEvent) => void,
  ) => field.addEventListener(type, (event) => event.pointerId === down.pointerId && handle(event), ended);
  let grip: Grip = gripAt(spotOf(down), from, down.pointerType === 'mouse');
  let last: number | undefined;
  const follow = (event: PointerEvent): void => {
    last = partOf(grip, way, event.clientX);
    if (last !== undefined) latest.current.onMove(last);
  };
  field.setPointerCapture(down.pointerId);
  if (grip.isSure) {
    onHold();
    follow(down);
  }
  listen('pointermove', (event) => {
    const next = move(grip, spotOf(event));
    if (next === 'scrolls') return ended.abort();
    if (next.since !== undefined && grip.since === undefined) latest.current.onHold();
    grip = next;
    follow(event);
  });
  listen('pointerup', (event) => {
    ended.abort();
    // First, because the browser's own mousedown comes too late, after what the gesture sets.
    latest.current.onDown();
    if (grip.since !== undefined) latest.current.onEnd(last);
    else latest.current.onTap(Math.min(1, Math.max(0, (event.clientX - way.left) / way.length)));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (grip.since !== undefined) latest.current.onEnd(from);
  });
}
