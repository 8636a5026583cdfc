// Draws the level of an output: a line within its slider, and a value for screen readers. The level changes
// ten times a second, so both elements are changed directly, without a drawing.

import { useEffect, useRef } from 'preact/hooks';
import { translate } from './language.js';
import { useLive } from './node.js';

/** The left end of the line: the smallest step of a peak, 0.001 (docs/events.md, "Levels"), in decibels. */
const FLOOR_DB = -60;

/** The line's length, 0..1, for a peak of 0..1. It is in proportion to decibels, because hearing is. */
function lineLength(peak: number): number {
  if (peak <= 0) return 0;
  const decibels = 20 * Math.log10(peak);
  return Math.min(1, Math.max(0, 1 - decibels / FLOOR_DB));
}

/** Calls `onPeak` with the peak of the output's loudest channel, 0..1, each time it is measured. */
function usePeak(output: number, onPeak: (peak: number) => void): void {
  const live = useLive();
  useEffect(() => {
    return live.subscribe('levels', (levels) => onPeak(Math.max(0, ...(levels.get(output) ?? []))));
  }, [live, output]);
}

/** Drawn within a slider, along the part of its line that is filled. */
export function Meter({ output }: { readonly output: number }) {
  const line = useRef<HTMLSpanElement>(null);
  usePeak(output, (peak) => {
    line.current?.style.setProperty('--level', lineLength(peak).toFixed(3));
  });
  return <span ref={line} class="level" />;
}

/** Draws the level for screen readers. */
export function LevelOf({ output, name }: { readonly output: number; readonly name: string }) {
  const meter = useRef<HTMLMeterElement>(null);
  usePeak(output, (peak) => {
    if (meter.current !== null) meter.current.value = peak;
  });
  return <meter ref={meter} class="unseen" aria-label={translate('levelOf', { name })} />;
}
