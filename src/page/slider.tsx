// A slider. Keys and screen readers use the native one; pointers are handled here, as browsers set a value
// where a scrolling finger lands.

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { couldNotSet, useControl } from './controls.js';
import { translate } from './language.js';
import { useMayChange } from './may-change.js';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** The text beside the slider, also for screen readers. */
  readonly text: (value: number) => string;
  /** Displayed instead of the text, at both ends. */
  readonly ends?: ((value: number) => readonly [left: string, right: string]) | undefined;
  /** Drawn on the way, below the thumb. */
  readonly children?: ComponentChildren;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly dim?: boolean;
  /** It moves by itself; a screen reader must not announce that each second, but only on request. */
  readonly runs?: boolean;
  /** The change per arrow key and per notch of the wheel; if undefined, one step. */
  readonly keyStep?: () => number;
  /** A mouse wheel changes the value; else it scrolls the page. */
  readonly wheel?: boolean;
  /** Sent only on release, and a tap sets its value at once: values in between would be heard as jumps. */
  readonly late?: boolean;
}

/** The largest upward step, as part of the range: a tap must not make a sudden loud sound. */
const RISE_MAX = 0.1;
/** Between two steps; ten of them take less than a second. */
const RISE_MS = 95;

/** Where nothing may be changed it is a bar with its text. */
export function Slider(props: SliderProps) {
  return useMayChange() ? <MovingSlider {...props} /> : <StillSlider {...props} />;
}

function StillSlider({ label, value, min = 0, max = 1, text, dim, ...more }: SliderProps) {
  const part = clamp((value - min) / (max - min), 1);
  return (
    <div class={`slider ${more.class ?? ''} ${dim ? 'dim' : ''}`} style={{ '--part': part }}>
      <div class="slider-way" role="img" aria-label={`${label}: ${text(value)}`}>
        <div class="slider-look">{more.children}</div>
      </div>
      <SliderText value={value} text={text} ends={more.ends} />
    </div>
  );
}

function MovingSlider({ label, value, min = 0, max = 1, step = 0.01, text, send, ...more }: SliderProps) {
  const { late, wheel, keyStep = () => step } = more;
  const control = useControl(value, send, couldNotSet(label), (a, b) => Math.abs(a - b) < step * 0.6);
  /** Like everything of the native slider, in steps from the minimum. */
  const [preview, setPreview] = useState<number>();
  const input = useRef<HTMLInputElement>(null);
  /** The field's value when a key went down. */
  const before = useRef<number | undefined>(undefined);
  const end = Math.round((max - min) / step);
  const stepAt = (part: number): number => Math.round(part * end);
  const valueAt = (at: number): number => Number((min + at * step).toFixed(4));
  const stepsAtOnce = (): number => Math.max(1, Math.round(keyStep() / step));
  const set = (at: number): void => control.set(valueAt(at));
  const ramp = useRamp(set);
  const displayed = preview === undefined ? control.displayed : valueAt(preview);
  const part = clamp((displayed - min) / (max - min), 1);
  const now = Math.round((displayed - min) / step);
  const take = (at: number): void => (late ? setPreview(at) : set(at));
  const finish = (at: number): void => {
    set(at);
    setPreview(undefined);
  };
  const hasHand = useHand(input, {
    part,
    onDown: () => input.current?.focus({ preventScroll: true }),
    onGrab: () => {
      ramp([]);
      control.grab();
    },
    onWheel: wheel ? (notches) => take(clamp(now + notches * stepsAtOnce(), end)) : undefined,
    onMove: (to) => take(stepAt(to)),
    onTap: (to) => ramp(late ? [stepAt(to)] : stepsTo(now, stepAt(to), RISE_MAX * end)),
    onEnd: (to) => {
      finish(stepAt(to));
      control.release();
    },
  });
  const runs = more.runs === true && preview === undefined;
  const announced = useAnnounced(input, now, runs);
  // Others may set more than this slider can.
  const isBeyond = now > end;
  const spoken = text(min + announced * step);
  return (
    <div
      class={`slider ${more.class ?? ''} ${more.dim ? 'dim' : ''} ${isBeyond ? 'beyond' : ''}`}
      style={{ '--part': part }}
    >
      <div class="slider-way">
        <input
          ref={input}
          type="range"
          aria-label={label}
          aria-valuetext={isBeyond ? translate('beyond', { value: spoken }) : spoken}
          min={0}
          max={end}
          value={announced}
          disabled={more.disabled}
          onKeyDown={({ currentTarget: field }) => {
            // A key starts from the current value; the next one, which may come before a redraw, from the
            // result.
            if (runs && field.valueAsNumber === announced) field.valueAsNumber = now;
            before.current = field.valueAsNumber;
          }}
          onInput={({ currentTarget: field }) => {
            if (hasHand()) field.valueAsNumber = now;
            else {
              ramp([]);
              field.valueAsNumber = afterKey(before.current, field.valueAsNumber, stepsAtOnce());
              before.current = undefined;
              take(field.valueAsNumber);
            }
          }}
          onChange={({ currentTarget }) => late && !hasHand() && finish(currentTarget.valueAsNumber)}
        />
        <div class="slider-look">{more.children}</div>
      </div>
      <SliderText value={displayed} text={text} ends={more.ends} />
    </div>
  );
}

function SliderText({ value, text, ends }: Pick<SliderProps, 'value' | 'text' | 'ends'>) {
  return (
    <span class="slider-text" aria-hidden="true">
      {ends === undefined ? text(value) : ends(value).map((each) => <span key={each}>{each}</span>)}
    </span>
  );
}

function clamp(value: number, max: number): number {
  return Math.min(max, Math.max(0, value));
}

/**
 * An arrow key moves a native slider by one; which arrow leads upwards depends on the direction of the
 * writing, so the browser decides that. Other keys move it by more.
 */
function afterKey(before: number | undefined, after: number, stepsAtOnce: number): number {
  if (before === undefined || Math.abs(after - before) !== 1) return after;
  return before + (after - before) * stepsAtOnce;
}

/**
 * The value that screen readers announce; while the slider `runs` and has the focus, the value at the time of
 * focusing.
 */
function useAnnounced(input: { readonly current: Element | null }, value: number, runs: boolean): number {
  const kept = useRef(value);
  const hasFocus = input.current !== null && input.current === document.activeElement;
  if (!runs || !hasFocus) kept.current = value;
  return kept.current;
}

/** The steps to set after a tap, one each `RISE_MS`: down at once, up by `rise` at most. */
function stepsTo(from: number, to: number, rise: number): readonly number[] {
  const count = Math.max(1, Math.ceil((to - from) / rise));
  const rises = Array.from({ length: count - 1 }, (_, index) => Math.floor(from + (index + 1) * rise));
  return [...rises, to];
}

/** Sets values one after another, until it is called again or the slider is removed. */
function useRamp(set: (at: number) => void): (steps: readonly number[]) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const setter = useRef(set);
  setter.current = set;
  useEffect(() => () => clearTimeout(timer.current), []);
  return function go([first, ...others]: readonly number[]): void {
    clearTimeout(timer.current);
    if (first === undefined) return;
    setter.current(first);
    if (others.length > 0) timer.current = setTimeout(() => go(others), RISE_MS);
  };
}

/** All positions are parts of the slider, 0..1. */
interface HandOptions {
  readonly part: number;
  /** A mouse button was pressed, or a finger was lifted. */
  readonly onDown: () => void;
  /** Upwards is positive. If undefined, the wheel scrolls the page. */
  readonly onWheel: ((notches: number) => void) | undefined;
  readonly onGrab: () => void;
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
 * Interprets pointers on `field`, a native slider: a drag, a tap, or a scroll of the page, which may start on
 * a slider: nothing is set until the finger has moved sideways, or was lifted in place. While the returned
 * function is true, values that the browser sets must be ignored.
 */
function useHand(field: RefObject<HTMLInputElement | null>, options: HandOptions): () => boolean {
  const latest = useRef(options);
  latest.current = options;
  const isDown = useRef(false);
  useEffect(() => {
    const { current } = field;
    current?.addEventListener('pointerdown', (down) => follow(current, down, latest));
    const setDown = (is: boolean): void => {
      isDown.current = is;
    };
    for (const begin of ['pointerdown', 'touchstart']) current?.addEventListener(begin, () => setDown(true));
    // The browser sets its own value at these events too, so the timer ends it after them. A key also ends
    // it, if no end was sent.
    for (const end of ['pointerup', 'touchend', 'touchcancel', 'keydown'])
      current?.addEventListener(end, () => setTimeout(setDown, 0, false));
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
  /** The gesture became a drag. A mouse sets the value under it; a finger moves the value along. */
  let isDrag = false;
  const partAt = (x: number): number => {
    const at = isMouse || !isDrag ? (x - left - thumb / 2) / length : from + (x - down.clientX) / length;
    return clamp(at, 1);
  };
  const drag = ({ clientX: x }: PointerEvent): void => {
    if (!isDrag) latest.current.onGrab();
    isDrag = true;
    latest.current.onMove(partAt(x));
  };
  const ended = new AbortController();
  type Kind = 'pointermove' | 'pointerup' | 'pointercancel';
  const listen = (kind: Kind, handle: (event: PointerEvent) => void): void =>
    field.addEventListener(kind, (event) => event.pointerId === down.pointerId && handle(event), ended);
  field.setPointerCapture(down.pointerId);
  if (isMouse) drag(down);
  listen('pointermove', (event) => {
    const dx = Math.abs(event.clientX - down.clientX);
    const dy = Math.abs(event.clientY - down.clientY);
    if (isDrag || (dx > SIDEWAYS_PX && dx > dy)) drag(event);
    else if (dy > SIDEWAYS_PX) ended.abort();
  });
  listen('pointerup', ({ clientX: x }) => {
    ended.abort();
    // First, because the browser's own mousedown comes too late, after what the gesture sets.
    latest.current.onDown();
    if (isDrag) latest.current.onEnd(partAt(x));
    else latest.current.onTap(partAt(x));
  });
  listen('pointercancel', () => {
    ended.abort();
    if (isDrag) latest.current.onEnd(from);
  });
}
