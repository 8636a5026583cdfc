// A slider. Keys and screen readers have the browser's own; a hand has a field above it, since browsers set a value wherever a finger
// that scrolls comes down.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useControl } from './controls.js';
import { type Grip, gripAt, move, partOf, RISE_MS, type Spot, stepsTo, type Way } from './gesture.js';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** What stands beside it and is read out. */
  readonly text: (value: number) => string;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly dim?: boolean;
  /** Sent when the hand lets go, and a tap goes there at once: each value on the way would be heard as a jump. */
  readonly late?: boolean;
}

export function Slider(props: SliderProps) {
  const { label, value, min = 0, max = 1, step: by = 0.01, text, send, disabled = false, late } = props;
  const alike = useCallback((a: number, b: number) => Math.abs(a - b) < by * 0.6, [by]);
  const { shown, set, hold, release } = useControl(value, send, alike);
  const [preview, setPreview] = useState<number>();
  const input = useRef<HTMLInputElement>(null);
  const ramp = useRamp(set);
  const seen = preview ?? shown;
  const rounded = (wanted: number): number => Number((min + Math.round((wanted - min) / by) * by).toFixed(4));
  const take = (wanted: number): void => (late ? setPreview : set)(rounded(wanted));
  const grip = useHand({
    part: (seen - min) / (max - min),
    onHold: () => {
      ramp([]);
      hold();
    },
    onMove: (part) => take(min + part * (max - min)),
    onTap: (part) => {
      const wanted = rounded(min + part * (max - min));
      ramp(late ? [wanted] : stepsTo(seen, wanted, max - min).map(rounded));
    },
    onRelease: (part) => {
      if (late && part !== undefined) set(rounded(min + part * (max - min)));
      setPreview(undefined);
      release();
    },
    onCancel: (part) => {
      if (!late) set(rounded(min + part * (max - min)));
      setPreview(undefined);
      release();
    },
  });
  const keyed = (of: HTMLInputElement): number => min + of.valueAsNumber * by;
  return (
    <div class={`slider ${props.class ?? ''} ${props.dim ? 'dim' : ''}`}>
      <div class="slider-way">
        <input
          ref={input}
          type="range"
          aria-label={label}
          aria-valuetext={text(seen)}
          min={0}
          max={Math.round((max - min) / by)}
          value={Math.round((seen - min) / by)}
          disabled={disabled}
          style={{ '--part': Math.min(1, Math.max(0, (seen - min) / (max - min))) }}
          onInput={({ currentTarget }) => {
            ramp([]);
            take(keyed(currentTarget));
          }}
          onChange={({ currentTarget }) => {
            if (!late) return;
            set(rounded(keyed(currentTarget)));
            setPreview(undefined);
          }}
        />
        {disabled ? null : (
          // biome-ignore lint/a11y/noStaticElementInteractions: what it does the slider below it does for keys
          <div
            class="slider-hand"
            onPointerDown={grip}
            onMouseDown={(event) => {
              event.preventDefault();
              input.current?.focus({ preventScroll: true });
            }}
          />
        )}
      </div>
      <span class="slider-text" aria-hidden="true">
        {text(seen)}
      </span>
    </div>
  );
}

/** Sets one value after another; another call, or that the slider goes, ends it. */
function useRamp(set: (value: number) => void): (steps: readonly number[]) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const setter = useRef(set);
  setter.current = set;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(function go([first, ...others]: readonly number[]): void {
    clearTimeout(timer.current);
    if (first === undefined) return;
    setter.current(first);
    if (others.length > 0) timer.current = setTimeout(() => go(others), RISE_MS);
  }, []);
}

interface HandOptions {
  /** Where the slider is, 0..1. */
  readonly part: number;
  /** The hand means it. */
  readonly onHold: () => void;
  readonly onMove: (part: number) => void;
  /** A finger has come and gone. */
  readonly onTap: (part: number) => void;
  /** With the last part that it has moved to. */
  readonly onRelease: (part: number | undefined) => void;
  /** The browser has taken the hand away: as it was. */
  readonly onCancel: (part: number) => void;
}

/** The thumb's, as in page.css. */
const THUMB_REM = 1.375;

function wayOf(field: HTMLElement): Way {
  const { left, width } = field.getBoundingClientRect();
  const thumb = THUMB_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  return { left: left + thumb / 2, length: width - thumb };
}

/** What the field's `onPointerDown` shall do. */
function useHand(options: HandOptions): (event: PointerEvent) => void {
  const latest = useRef(options);
  latest.current = options;
  return useCallback((down: PointerEvent): void => {
    const field = down.currentTarget;
    if (!(field instanceof HTMLElement) || !down.isPrimary || down.button !== 0) return;
    const way = wayOf(field);
    const { part: from, onHold } = latest.current;
    const spotOf = ({ clientX: x, clientY: y }: PointerEvent): Spot => ({ x, y });
    const ended = new AbortController();
    const listen = (
      type: 'pointermove' | 'pointerup' | 'pointercancel',
      hear: (event: PointerEvent) => void,
    ) => field.addEventListener(type, (event) => event.pointerId === down.pointerId && hear(event), ended);
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
      if (grip.since !== undefined) latest.current.onRelease(last);
      else latest.current.onTap(Math.min(1, Math.max(0, (event.clientX - way.left) / way.length)));
    });
    listen('pointercancel', () => {
      ended.abort();
      if (grip.since !== undefined) latest.current.onCancel(from);
    });
  }, []);
}
