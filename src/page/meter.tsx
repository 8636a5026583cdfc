// Draws the level of an output: a line within its slider, and a value for screen readers.

import { useEffect, useRef } from 'preact/hooks';
import { translate } from './language.js';
import { useLive } from './node.js';

/** The level at the line's left end. The least peak above 0 is 0.001 (docs/events.md, "Levels"): -60 dB. */
const FLOOR_DB = -60;

/** The line's length, 0..1, for a peak of 0..1. It grows with the decibels, because loudness does, too. */
function lineLength(peak: number): number {
  if (peak <= 0) return 0;
  const decibels = 20 * Math.log10(peak);
  return Math.min(1, Math.max(0, 1 - decibels / FLOOR_DB));
}

/**
 * Calls `onPeak` with each new peak of the output's loudest channel, 0..1. There are up to ten peaks a
 * second, so the component is not drawn again for them. A later drawing of the same output does not replace
 * `onPeak`, so `onPeak` may use only the refs of the component.
 */
function usePeak(outputId: number, onPeak: (peak: number) => void): void {
  const live = useLive();
  useEffect(() => {
    return live.subscribe('levels', (levels) => {
      const peaks = levels.get(outputId) ?? [];
      onPeak(Math.max(0, ...peaks));
    });
  }, [live, outputId]);
}

/** Draws the level's line within the filled part of the slider's own line (page.css). */
export function Meter({ outputId }: { readonly outputId: number }) {
  const line = useRef<HTMLSpanElement>(null);
  usePeak(outputId, (peak) => {
    line.current?.style.setProperty('--level', lineLength(peak).toFixed(3));
  });
  return <span ref={line} class="level" />;
}

/** Draws the level only for screen readers. */
export function AnnouncedLevel({ outputId, name }: { readonly outputId: number; readonly name: string }) {
  const meter = useRef<HTMLMeterElement>(null);
  usePeak(outputId, (peak) => {
    if (meter.current !== null) meter.current.value = peak;
  });
  return <meter ref={meter} class="unseen" aria-label={translate('levelOf', { name })} />;
}
