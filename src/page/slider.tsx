// Decides what a slider shows, and which values it sets. Keys and screen readers use the browser's native
// slider. Pointers do not, because the browser would set values of its own (slider-pointer.ts).

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { couldNotSet, useControl } from './controls.js';
import { translate } from './language.js';
import { useMayChange } from './may-change.js';
import { clamp, usePointer } from './slider-pointer.js';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** Makes the text beside the slider, which screen readers announce, too. */
  readonly text: (value: number) => string;
  /** Makes two texts for the two ends of the slider, which are displayed instead of `text`. */
  readonly ends?: ((value: number) => readonly [left: string, right: string]) | undefined;
  /** Drawn along the slider's line, below the thumb. */
  readonly children?: ComponentChildren;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly dim?: boolean;
  /**
   * True if the value changes all the time. A screen reader must announce such a value only on request, not
   * each second.
   */
  readonly movesByItself?: boolean;
  /** The change of the value per arrow key and per notch of the wheel; one step by default. */
  readonly keyStep?: () => number;
  /** True if a mouse wheel changes the value. Otherwise the wheel scrolls the page. */
  readonly hasWheel?: boolean;
  /**
   * True if the value is sent only when the pointer is released, and a tap sets its value in one step. This
   * is for a value that would be heard as a jump at each step in between.
   */
  readonly setsOnRelease?: boolean;
}

/** The largest upward step of a tap, as a part of the range, so that no tap makes a sudden loud sound. */
const RISE_MAX = 0.1;
/** The time between two upward steps of a tap. A tap through the whole range takes less than a second. */
const RISE_MS = 95;

/** Where the node may not be changed, a bar with its text takes the slider's place. */
export function Slider(props: SliderProps) {
  return useMayChange() ? <ChangeableSlider {...props} /> : <ReadOnlySlider {...props} />;
}

function ReadOnlySlider({ label, value, min = 0, max = 1, text, dim, ...more }: SliderProps) {
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

function ChangeableSlider({ min = 0, max = 1, step = 0.01, text, ...more }: SliderProps) {
  const { hasWheel, setsOnRelease, keyStep = () => step } = more;
  const input = useRef<HTMLInputElement>(null);
  /** The native slider's value when a key went down. */
  const stepBeforeKey = useRef<number | undefined>(undefined);
  const steps = useSteps({ ...more, min, max, step });
  const { displayed, currentStep, lastStep, stepAt, setWhileMoving } = steps;
  const ramp = useRamp(steps.set);
  const stepsPerKey = (): number => Math.max(1, Math.round(keyStep() / step));
  const part = clamp((displayed - min) / (max - min), 1);
  const isPointerDown = usePointer(input, {
    part,
    onDown: () => input.current?.focus({ preventScroll: true }),
    onGrab: () => {
      ramp([]);
      steps.grab();
    },
    onWheel: hasWheel
      ? (notches) => setWhileMoving(clamp(currentStep + notches * stepsPerKey(), lastStep))
      : undefined,
    onMove: (to) => setWhileMoving(stepAt(to)),
    onTap: (to) =>
      ramp(setsOnRelease ? [stepAt(to)] : stepsOfTap(currentStep, stepAt(to), RISE_MAX * lastStep)),
    onEnd: (to) => {
      steps.finish(stepAt(to));
      steps.release();
    },
  });
  const movesByItself = more.movesByItself === true && !steps.isPreview;
  const announced = useAnnounced(input, currentStep, movesByItself);
  // Another program may set a larger value than this slider can.
  const isBeyond = currentStep > lastStep;
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
          aria-label={more.label}
          aria-valuetext={isBeyond ? translate('beyond', { value: spoken }) : spoken}
          min={0}
          max={lastStep}
          value={announced}
          disabled={more.disabled}
          onKeyDown={({ currentTarget: field }) => {
            // While the slider moves by itself, the native slider has an older value. Its value is newer
            // only if another key has changed it since the last drawing.
            if (movesByItself && field.valueAsNumber === announced) field.valueAsNumber = currentStep;
            stepBeforeKey.current = field.valueAsNumber;
          }}
          onInput={({ currentTarget: field }) => {
            if (isPointerDown()) field.valueAsNumber = currentStep;
            else {
              ramp([]);
              field.valueAsNumber = stepAfterKey(stepBeforeKey.current, field.valueAsNumber, stepsPerKey());
              stepBeforeKey.current = undefined;
              setWhileMoving(field.valueAsNumber);
            }
          }}
          onChange={({ currentTarget }) => {
            if (setsOnRelease && !isPointerDown()) steps.finish(currentTarget.valueAsNumber);
          }}
        />
        <div class="slider-look">{more.children}</div>
      </div>
      <SliderText value={displayed} text={text} ends={more.ends} />
    </div>
  );
}

type StepsProps = Pick<SliderProps, 'label' | 'value' | 'send' | 'setsOnRelease'> &
  Readonly<{ min: number; max: number; step: number }>;

/** The slider's value, counted in whole steps from its minimum, as the native slider counts. */
function useSteps({ label, value, send, setsOnRelease, min, max, step }: StepsProps) {
  const { displayed, set, grab, release } = useControl(
    value,
    send,
    couldNotSet(label),
    (a, b) => Math.abs(a - b) < step * 0.6,
  );
  const [preview, setPreview] = useState<number>();
  const lastStep = Math.round((max - min) / step);
  const valueAt = (steps: number): number => Number((min + steps * step).toFixed(4));
  const displayedNow = preview === undefined ? displayed : valueAt(preview);
  const setStep = (steps: number): void => set(valueAt(steps));
  return {
    displayed: displayedNow,
    currentStep: Math.round((displayedNow - min) / step),
    lastStep,
    /** The step at a part, 0..1, of the slider. */
    stepAt: (part: number): number => Math.round(part * lastStep),
    isPreview: preview !== undefined,
    set: setStep,
    /** Sets a step while a movement goes on. */
    setWhileMoving: setsOnRelease ? setPreview : setStep,
    /** Sets the last step of a movement. */
    finish: (steps: number): void => {
      setStep(steps);
      setPreview(undefined);
    },
    grab,
    release,
  };
}

function SliderText({ value, text, ends }: Pick<SliderProps, 'value' | 'text' | 'ends'>) {
  return (
    <span class="slider-text" aria-hidden="true">
      {ends === undefined ? text(value) : ends(value).map((end) => <span key={end}>{end}</span>)}
    </span>
  );
}

/**
 * The step to set after a key. The browser has moved the native slider already, because it knows which arrow
 * leads upwards in a script from right to left. A movement by one step was made by an arrow key, which moves
 * by `stepsPerKey` here. Other keys move by more than one step, and their movement is kept.
 */
function stepAfterKey(before: number | undefined, after: number, stepsPerKey: number): number {
  if (before === undefined || Math.abs(after - before) !== 1) return after;
  return before + (after - before) * stepsPerKey;
}

/**
 * The step that screen readers announce. While the slider moves by itself and has the focus, this stays the
 * step at which the slider was when it got the focus.
 */
function useAnnounced(
  input: { readonly current: Element | null },
  step: number,
  movesByItself: boolean,
): number {
  const announced = useRef(step);
  const hasFocus = input.current !== null && input.current === document.activeElement;
  if (!movesByItself || !hasFocus) announced.current = step;
  return announced.current;
}

/**
 * The steps to set one after another for a tap: one step down, several upwards, each by `riseMax` at most.
 */
function stepsOfTap(from: number, to: number, riseMax: number): readonly number[] {
  const count = Math.max(1, Math.ceil((to - from) / riseMax));
  const rises = Array.from({ length: count - 1 }, (_, index) => Math.floor(from + (index + 1) * riseMax));
  return [...rises, to];
}

/**
 * The returned function sets steps one after another, one every `RISE_MS`, until it is called again or the
 * slider is removed. An empty list only stops the steps that are still to come.
 */
function useRamp(set: (step: number) => void): (steps: readonly number[]) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latestSet = useRef(set);
  latestSet.current = set;
  useEffect(() => () => clearTimeout(timer.current), []);
  return function go([first, ...others]: readonly number[]): void {
    clearTimeout(timer.current);
    if (first === undefined) return;
    latestSet.current(first);
    if (others.length > 0) timer.current = setTimeout(() => go(others), RISE_MS);
  };
}
