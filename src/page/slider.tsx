// A slider. Keys and screen readers use the native one; pointers are handled here, because browsers set a value even where a
// scrolling finger comes down.

import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useControl } from './controls.js';
import { RISE_MS, stepsTo } from './gesture.js';
import { useHand } from './hand.js';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** The text beside the slider, also for screen readers. */
  readonly text: (value: number) => string;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly dim?: boolean;
  /** It moves by itself; a screen reader must not announce that each second, but only on request. */
  readonly runs?: boolean;
  /** The change per notch of a mouse wheel; if undefined, the wheel scrolls the page. */
  readonly wheel?: number | undefined;
  /** Sent only on release, and a tap sets its value at once: values in between would be heard as jumps. */
  readonly late?: boolean;
}

export function Slider(props: SliderProps) {
  const {
    label,
    value,
    min = 0,
    max = 1,
    step: by = 0.01,
    text,
    send,
    disabled = false,
    late,
    runs,
    wheel,
  } = props;
  const alike = useCallback((a: number, b: number) => Math.abs(a - b) < by * 0.6, [by]);
  const { shown, set, hold, release } = useControl(value, send, label, alike);
  const [preview, setPreview] = useState<number>();
  const input = useRef<HTMLInputElement>(null);
  const ramp = useRamp(set);
  const seen = preview ?? shown;
  const part = clamp((seen - min) / (max - min), 0, 1);
  const rounded = (wanted: number): number => Number((min + Math.round((wanted - min) / by) * by).toFixed(4));
  const valueAt = (at: number): number => rounded(min + at * (max - min));
  const take = (wanted: number): void => (late ? setPreview : set)(wanted);
  const hasHand = useHand(input, {
    part,
    onDown: () => input.current?.focus({ preventScroll: true }),
    onHold: () => {
      ramp([]);
      hold();
    },
    onWheel:
      wheel === undefined ? undefined : (notches) => take(rounded(clamp(seen + notches * wheel, min, max))),
    onMove: (at) => take(valueAt(at)),
    onTap: (at) => ramp(late ? [valueAt(at)] : stepsTo(seen, valueAt(at), max - min).map(rounded)),
    onEnd: (at) => {
      if (at !== undefined) set(valueAt(at));
      setPreview(undefined);
      release();
    },
  });
  return (
    <div class={`slider ${props.class ?? ''} ${props.dim ? 'dim' : ''}`} style={{ '--part': part }}>
      <div class="slider-way">
        <Keyed
          {...{ input, label, disabled }}
          at={Math.round((seen - min) / by)}
          end={Math.round((max - min) / by)}
          text={(at) => text(min + at * by)}
          runs={runs === true && preview === undefined}
          hasHand={hasHand}
          onStep={(at) => {
            ramp([]);
            take(rounded(min + at * by));
          }}
          onDone={(at) => {
            if (!late) return;
            set(rounded(min + at * by));
            setPreview(undefined);
          }}
        />
        <div class="slider-look" />
      </div>
      <span class="slider-text" aria-hidden="true">
        {text(seen)}
      </span>
    </div>
  );
}

interface KeyedProps extends Pick<SliderProps, 'label' | 'disabled'> {
  readonly input: RefObject<HTMLInputElement | null>;
  /** In steps from the minimum, like the following members. */
  readonly at: number;
  readonly end: number;
  readonly text: (at: number) => string;
  readonly runs: boolean;
  readonly hasHand: () => boolean;
  readonly onStep: (at: number) => void;
  readonly onDone: (at: number) => void;
}

/** The native slider, for keys and screen readers. */
function Keyed(props: KeyedProps) {
  const { input, label, disabled, at, end, text, runs, hasHand, onStep, onDone } = props;
  const announced = useAnnouncedValue(input, at, runs);
  return (
    <input
      ref={input}
      type="range"
      aria-label={label}
      aria-valuetext={text(announced)}
      min={0}
      max={end}
      value={announced}
      disabled={disabled}
      onKeyDown={({ currentTarget }) => {
        // A key starts from the current value; the next one, which may come before a redraw, from the result.
        if (runs && currentTarget.valueAsNumber === announced) currentTarget.valueAsNumber = at;
      }}
      onInput={({ currentTarget }) => {
        if (hasHand()) currentTarget.valueAsNumber = at;
        else onStep(currentTarget.valueAsNumber);
      }}
      onChange={({ currentTarget }) => hasHand() || onDone(currentTarget.valueAsNumber)}
    />
  );
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}

/** The value that screen readers announce; while the slider `runs` and has the focus, the value at the time of focusing. */
function useAnnouncedValue(
  input: { readonly current: Element | null },
  value: number,
  runs: boolean,
): number {
  const kept = useRef(value);
  const hasFocus = input.current !== null && input.current === document.activeElement;
  if (!runs || !hasFocus) kept.current = value;
  return kept.current;
}

/** Sets values one after another, until it is called again or the slider is removed. */
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
