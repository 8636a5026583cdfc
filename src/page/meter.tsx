// The level of an output: a line within its slider, and a value for screen readers. Both are changed
// directly, ten times a second, without drawing anything else anew.

import { useEffect, useRef } from 'preact/hooks';
import { translate } from './language.js';
import { useLive } from './node.js';

/** The smallest step of a peak, 0.001 (docs/events.md, "Levels"). The scale is in decibels, like hearing. */
const FLOOR_DB = -60;

/** The bar's length, 0..1, for a peak of 0..1. */
function barOf(peak: number): number {
  return peak > 0 ? Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR_DB)) : 0;
}

/** Calls `take` with the peaks of the output's channels, 0..1, each time they are measured. */
function usePeaks(output: number, take: (peaks: readonly number[]) => void): void {
  const live = useLive();
  useEffect(() => live.subscribe('levels', (levels) => take(levels.get(output) ?? [])), [live, output]);
}

/** Drawn within a slider, along the part of its way that is filled. */
export function Meter({ output }: { readonly output: number }) {
  const line = useRef<HTMLSpanElement>(null);
  usePeaks(output, (peaks) => {
    line.current?.style.setProperty('--level', barOf(Math.max(0, ...peaks)).toFixed(3));
  });
  return <span ref={line} class="level" />;
}

export function LevelOf({ output, name }: { readonly output: number; readonly name: string }) {
  const meter = useRef<HTMLMeterElement>(null);
  usePeaks(output, (peaks) => {
    if (meter.current !== null) meter.current.value = Math.max(0, ...peaks);
  });
  return <meter ref={meter} class="unseen" aria-label={translate('levelOf', { name })} />;
}
