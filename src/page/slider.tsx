// A slider. Keys and screen readers have the browser's own; a hand has a field above it, since browsers set a value wherever a finger
// that scrolls comes down.

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
  /** What stands beside it and is read out. */
  readonly text: (value: number) => string;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly dim?: boolean;
  /** It moves by itself: who listens to the page hears it when asked for, and not each second. */
  readonly runs?: boolean;
  /** Sent when the hand lets go, and a tap goes there at once: each value on the way would be heard as a jump. */
  readonly late?: boolean;
}

export function Slider(props: SliderProps) {
  const { label, value, min = 0, max = 1, step: by = 0.01, text, send, disabled = false, late, runs } = props;
  const alike = useCallback((a: number, b: number) => Math.abs(a - b) < by * 0.6, [by]);
  const { shown, set, hold, release } = useControl(value, send, label, alike);
  const [preview, setPreview] = useState<number>();
  const input = useRef<HTMLInputElement>(null);
  const ramp = useRamp(set);
  const seen = preview ?? shown;
  const part = Math.min(1, Math.max(0, (seen - min) / (max - min)));
  const rounded = (wanted: number): number => Number((min + Math.round((wanted - min) / by) * by).toFixed(4));
  const valueAt = (at: number): number => rounded(min + at * (max - min));
  const take = (wanted: number): void => (late ? setPreview : set)(wanted);
  const field = useHand({
    part,
    onDown: () => input.current?.focus({ preventScroll: true }),
    onHold: () => {
      ramp([]);
      hold();
    },
    onMove: (at) => take(valueAt(at)),
    onTap: (at) => ramp(late ? [valueAt(at)] : stepsTo(seen, valueAt(at), max - min).map(rounded)),
    onEnd: (at) => {
      if (at !== undefined) set(valueAt(at));
      setPreview(undefined);
      release();
    },
  });
  const spoken = useSpoken(input, Math.round((seen - min) / by), runs === true && preview === undefined);
  const keyed = ({ valueAsNumber }: HTMLInputElement): number => rounded(min + valueAsNumber * by);
  return (
    <div class={`slider ${props.class ?? ''} ${props.dim ? 'dim' : ''}`} style={{ '--part': part }}>
      <div class="slider-way">
        <input
          ref={input}
          type="range"
          aria-label={label}
          aria-valuetext={text(min + spoken * by)}
          min={0}
          max={Math.round((max - min) / by)}
          value={spoken}
          disabled={disabled}
          onKeyDown={({ currentTarget }) => {
            // A key goes on from where it is.
            currentTarget.valueAsNumber = Math.round((seen - min) / by);
          }}
          onInput={({ currentTarget }) => {
            ramp([]);
            take(keyed(currentTarget));
          }}
          onChange={({ currentTarget }) => {
            if (!late) return;
            set(keyed(currentTarget));
            setPreview(undefined);
          }}
        />
        {/* Draws the slider, and takes the hand. */}
        <div ref={field} class="slider-hand" />
      </div>
      <span class="slider-text" aria-hidden="true">
        {text(seen)}
      </span>
    </div>
  );
}

/** What the browser's own slider says; while it `runs` and has the focus, what it said as it got it. */
function useSpoken(input: { readonly current: Element | null }, value: number, runs: boolean): number {
  const kept = useRef(value);
  const isHeard = input.current !== null && input.current === document.activeElement;
  if (!runs || !isHeard) kept.current = value;
  return kept.current;
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
