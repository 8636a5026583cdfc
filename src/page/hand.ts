// A hand above a slider, by the browser's pointer events: what it means comes from `gesture.ts`.

import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { type Grip, gripAt, move, partOf, type Spot, type Way } from './gesture.js';

interface HandOptions {
  /** Where the slider is, 0..1. */
  readonly part: number;
  /** A mouse button goes down, or a finger has tapped. */
  readonly onDown: () => void;
  /** Upwards is more; without it the page scrolls. */
  readonly onWheel: ((notches: number) => void) | undefined;
  /** The hand means it. */
  readonly onHold: () => void;
  readonly onMove: (part: number) => void;
  /** A finger has come and gone. */
  readonly onTap: (part: number) => void;
  /** With the last part that it has moved to, if it has; where the browser has taken the hand away, with the first. */
  readonly onEnd: (part: number | undefined) => void;
}

/** The thumb's, as in page.css. */
const THUMB_REM = 1.375;

function wayOf(field: HTMLElement): Way {
  const { left, width } = field.getBoundingClientRect();
  const thumb = THUMB_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { left: left + thumb / 2, length: width - thumb };
}

/** Of a mouse's wheel a little less than one notch; a touchpad tells of less at a time. */
const NOTCH_PX = 50;
const LINE_PX = 16;

/**
 * Takes the hand that comes down on `field`, a slider of the browser's own. The answer says whether a hand is on it: what the browser
 * makes of that by itself is not meant.
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
    // The browser sets its own value at these, too; where it told of no end, a key is one.
    for (const end of ['pointerup', 'touchend', 'touchcancel', 'keydown'] as const)
      current?.addEventListener(end, () =>
        setTimeout(() => {
          isDown.current = false;
        }),
      );
    // Passive where the wheel scrolls: the browser need not wait.
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
      // The browser would set what is under the mouse, and the focus, which is set here.
      event.preventDefault();
      latest.current.onDown();
    });
  }, [field]);
  return () => isDown.current;
}

/** From where a hand comes down until it lifts. */
function take(field: HTMLElement, down: PointerEvent, latest: { readonly current: HandOptions }): void {
  if (!down.isPrimary || down.button !== 0) return;
  const way = wayOf(field);
  const { part: from, onHold } = latest.current;
  const spotOf = ({ clientX: x, clientY: y }: PointerEvent): Spot => ({ x, y });
  const ended = new AbortController();
  const listen = (type: 'pointermove' | 'pointerup' | 'pointercancel', hear: (event: PointerEvent) => void) =>
    field.addEventListener(type, (event) => event.pointerId === down.pointerId && hear(event), ended);
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
    // Before what it sets is answered: the browser's own mousedown comes later.
    latest.current.onDown();
    if (grip.since !== undefined) latest.current.onEnd(last);
    else latest.current.onTap(Math.min(1, Math.max(0, (event.clientX - way.left) / way.length)));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (grip.since !== undefined) latest.current.onEnd(from);
  });
}
