// The level meter of an output: the bars are changed directly, ten times a second, without redrawing anything else.

import { useEffect, useRef } from 'preact/hooks';
import { translate } from './language.js';
import { useLive } from './node.js';

/** The smallest step of a peak, 0.001 (docs/events.md, "Levels"). The scale is in decibels, like hearing. */
const FLOOR_DB = -60;

/** The bar's length, 0..1, for a peak of 0..1. */
function barOf(peak: number): number {
  return peak > 0 ? Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR_DB)) : 0;
}

export function Meter({ output, name }: { readonly output: number; readonly name: string }) {
  const live = useLive();
  const meter = useRef<HTMLMeterElement>(null);
  const bars = useRef<HTMLDivElement>(null);
  useEffect(
    () =>
      live.subscribe('levels', (levels) => {
        const peaks = levels.get(output) ?? [];
        if (meter.current !== null) meter.current.value = Math.max(0, ...peaks);
        // Two bars are enough, because rooms are heard in stereo.
        for (const channel of [0, 1])
          bars.current?.style.setProperty(
            `--level${channel}`,
            barOf(peaks[channel] ?? peaks[0] ?? 0).toFixed(3),
          );
      }),
    [live, output],
  );
  return (
    <div class="levels">
      <meter ref={meter} class="unseen" aria-label={translate('levelOf', { name })} />
      <div ref={bars} class="bars" aria-hidden="true">
        <span />
        <span />
      </div>
    </div>
  );
}
