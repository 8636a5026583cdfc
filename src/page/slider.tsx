// Decides what a slider shows, and which values it sets. Keys and screen readers use the browser's native
// slider. Pointers do not, because the browser would set values of its own (slider-pointer.ts).

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { couldNotSet, useControl } from './controls.js';
import { translate } from './language.js';
import { useMayChange } from './may-change.js';
import { clampFromZero, usePointer } from './slider-pointer.js';

interface SliderProps {
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
  /** Makes the text beside the slider. Screen readers announce it, too. */
  readonly text: (value: number) => string;
  /** Makes two texts that are displayed at the ends of the slider instead of `text`. */
  readonly ends?: ((value: number) => readonly [left: string, right: string]) | undefined;
  /** Drawn along the slider's line, behind the thumb. */
  readonly children?: ComponentChildren;
  readonly send: (value: number) => Promise<unknown>;
  readonly class?: string;
  readonly disabled?: boolean;
  readonly isDim?: boolean;
  /** True if the value changes all the time. A screen reader must announce such a value only on request. */
  readonly movesByItself?: boolean;
  /** Returns the change of the value per arrow key and per notch of the wheel. The default is one `step`. */
  readonly keyStep?: () => number;
  /** True if a mouse wheel changes the value. Otherwise the wheel scrolls the page. */
  readonly hasWheel?: boolean;
  /**
   * True if a drag, a tap or a key sets only its last value, and no values in between. The position in a
   * track needs this, because the music would jump at each value in between.
   */
  readonly setsOnRelease?: boolean;
  /** Identifies what the slider is about, such as a track. If it changes, a gesture ends without a value. */
  readonly subjectId?: string;
}

/** The largest single rise of a tap, as a part of the range. A larger rise would make a sudden loud sound. */
const RISE_MAX_PART = 0.1;
/** The least time between two rises of a tap. A tap through the whole range takes about a second. */
const RISE_MS = 95;

/** If the node may not be changed, only a bar with its text is drawn. */
export function Slider(props: SliderProps) {
  return useMayChange() ? <ChangeableSlider {...props} /> : <ReadOnlySlider {...props} />;
}

function ReadOnlySlider({ label, value, min = 0, max = 1, text, isDim, ...more }: SliderProps) {
  const filledPart = clampFromZero((value - min) / (max - min), 1);
  return (
    <div class={`slider ${more.class ?? ''} ${isDim ? 'dim' : ''}`} style={{ '--part': filledPart }}>
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
  const { displayed, currentStep, maxStep, stepAt, setWhileMoving } = steps;
  const ramp = useRamp(steps.set, steps.settledStep);
  const stopRamp = (): void => ramp([]);
  const stepsPerKey = (): number => Math.max(1, Math.round(keyStep() / step));
  const filledPart = clampFromZero((displayed - min) / (max - min), 1);
  const isPointerDown = usePointer(input, {
    thumbAt: filledPart,
    subjectId: more.subjectId,
    takeFocus: () => input.current?.focus({ preventScroll: true }),
    onGrab: () => {
      stopRamp();
      steps.grab();
    },
    onWheel: hasWheel
      ? (direction) => setWhileMoving(clampFromZero(currentStep + direction * stepsPerKey(), maxStep))
      : undefined,
    onMove: (position) => setWhileMoving(stepAt(position)),
    onTap: (position) => {
      const target = stepAt(position);
      const riseMax = RISE_MAX_PART * maxStep;
      ramp(setsOnRelease ? [target] : stepsOfTap(currentStep, target, riseMax));
    },
    onEnd: (position) => {
      if (position !== undefined) steps.finish(stepAt(position));
      steps.release();
    },
  });
  const isMovingByItself = more.movesByItself === true && !steps.isPreview;
  const announcedStep = useAnnouncedStep(input, currentStep, isMovingByItself);
  // Another program may set a larger value than this slider can.
  const isBeyond = currentStep > maxStep;
  const announcedText = text(min + announcedStep * step);
  return (
    <div
      class={`slider ${more.class ?? ''} ${more.isDim ? 'dim' : ''} ${isBeyond ? 'beyond' : ''}`}
      style={{ '--part': filledPart }}
    >
      <div class="slider-way">
        <input
          ref={input}
          type="range"
          aria-label={more.label}
          aria-valuetext={isBeyond ? translate('beyond', { value: announcedText }) : announcedText}
          min={0}
          max={maxStep}
          value={announcedStep}
          disabled={more.disabled}
          onKeyDown={({ currentTarget: field }) => {
            // The key will move the native slider from its own step. While the value moves by itself, this
            // is the announced step, which may be outdated, so the current step replaces it. But if the
            // native slider has another step than the announced one, an earlier key has set that step since
            // the last drawing, and this key goes on from that step.
            const hasAnnouncedStep = field.valueAsNumber === announcedStep;
            if (isMovingByItself && hasAnnouncedStep) field.valueAsNumber = currentStep;
            stepBeforeKey.current = field.valueAsNumber;
          }}
          onInput={({ currentTarget: field }) => {
            if (isPointerDown()) field.valueAsNumber = currentStep;
            else {
              stopRamp();
              field.valueAsNumber = stepAfterKey(stepBeforeKey.current, field.valueAsNumber, stepsPerKey());
              stepBeforeKey.current = undefined;
              setWhileMoving(field.valueAsNumber);
            }
          }}
          onChange={({ currentTarget }) => {
            // With `setsOnRelease`, `onInput` has only set the preview.
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

/** Counts the slider's value in whole steps from its minimum, as the native slider does. */
function useSteps({ label, value, send, setsOnRelease, min, max, step }: StepsProps) {
  // The node rounds its values, so it may report a value that is half a step away from the one that was set.
  const isSameStep = (a: number, b: number): boolean => Math.abs(a - b) < step * 0.6;
  const control = useControl(value, send, couldNotSet(label), isSameStep);
  /** With `setsOnRelease`, the step that a movement has reached. It is displayed, but is not sent yet. */
  const [preview, setPreview] = useState<number>();
  const maxStep = Math.round((max - min) / step);
  // Without `toFixed`, 3 * 0.1 would be sent as 0.30000000000000004.
  const valueAt = (stepCount: number): number => Number((min + stepCount * step).toFixed(4));
  const displayed = preview === undefined ? control.displayed : valueAt(preview);
  const stepOf = (steppedValue: number): number => Math.round((steppedValue - min) / step);
  const setStep = (stepCount: number): void => control.set(valueAt(stepCount));
  return {
    displayed,
    currentStep: stepOf(displayed),
    /** The newest step, even if it is not drawn yet; undefined while a request is pending. */
    settledStep: (): number | undefined => {
      const settledValue = control.settledValue();
      return settledValue === undefined ? undefined : stepOf(settledValue);
    },
    maxStep,
    stepAt: (position: number): number => Math.round(position * maxStep),
    isPreview: preview !== undefined,
    set: setStep,
    /** Sets a step during a movement. With `setsOnRelease`, only displays it. */
    setWhileMoving: setsOnRelease ? setPreview : setStep,
    /** Sets the last step of a movement. */
    finish: (stepCount: number): void => {
      setStep(stepCount);
      setPreview(undefined);
    },
    // With `setsOnRelease`, a drag displays the preview, so the control is not grabbed. A grabbed control
    // would keep the value from the beginning of the drag. If the drag ended without a value, the control
    // would display that old value for a while.
    grab: setsOnRelease ? () => undefined : control.grab,
    release: (): void => {
      setPreview(undefined);
      control.release();
    },
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
 * Returns the step to set after a key has moved the native slider. A move by one step comes from an arrow
 * key, and becomes a move by `stepsPerKey`. For example, if `stepsPerKey` is 5, a move from 20 to 21 becomes
 * a move from 20 to 25. All other moves stay the same. The browser decides the direction, because it knows
 * scripts from right to left.
 */
function stepAfterKey(before: number | undefined, after: number, stepsPerKey: number): number {
  if (before === undefined || Math.abs(after - before) !== 1) return after;
  return before + (after - before) * stepsPerKey;
}

/**
 * Returns the step that screen readers announce. While a slider that moves by itself has the focus, the
 * result is the step that the slider had when it got the focus.
 */
function useAnnouncedStep(
  input: { readonly current: Element | null },
  step: number,
  isMovingByItself: boolean,
): number {
  const announcedStep = useRef(step);
  const hasFocus = input.current !== null && input.current === document.activeElement;
  if (!isMovingByItself || !hasFocus) announcedStep.current = step;
  return announcedStep.current;
}

/**
 * Returns the steps of a tap, one after another. There are several if the tap rises by more than `riseMax`.
 * For example, a tap from 0 to 25 with a `riseMax` of 10 makes 10, 20 and 25.
 */
function stepsOfTap(from: number, to: number, riseMax: number): readonly number[] {
  const count = Math.max(1, Math.ceil((to - from) / riseMax));
  const rises = Array.from({ length: count - 1 }, (_, index) => Math.floor(from + (index + 1) * riseMax));
  return [...rises, to];
}

/**
 * Returns a function that sets the steps of a list, one after another. The next call of the function, or the
 * removal of the slider, stops the list. A call with an empty list only stops the previous list.
 *
 * The next step comes after `RISE_MS`, and only when the node has accepted the previous step. Otherwise a
 * slow node would get only the newest of several steps, which would be a sudden loud sound. After a refusal,
 * or if somebody else has set another value meanwhile, no further step is set.
 */
function useRamp(
  set: (step: number) => void,
  settledStep: () => number | undefined,
): (steps: readonly number[]) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef({ set, settledStep });
  latest.current = { set, settledStep };
  useEffect(() => () => clearTimeout(timer.current), []);
  const setAfter = (previousStep: number, steps: readonly number[]): void => {
    timer.current = setTimeout(() => {
      const settled = latest.current.settledStep();
      if (settled === undefined) setAfter(previousStep, steps);
      // `setSteps` is defined below, but the timer runs later.
      else if (settled === previousStep) setSteps(steps);
    }, RISE_MS);
  };
  const setSteps = ([first, ...others]: readonly number[]): void => {
    clearTimeout(timer.current);
    if (first === undefined) return;
    latest.current.set(first);
    if (others.length > 0) setAfter(first, others);
  };
  return setSteps;
}
