// The level meter of an output: the bars are changed directly, ten times a second, without redrawing anything else.

import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { translate } from './language.js';

type Peaks = readonly number[];

/** Passes each output's peaks to its meters. */
export class Levels {
  readonly #meters = new Map<number, Set<(peaks: Peaks) => void>>();

  watch(output: number, meter: (peaks: Peaks) => void): () => void {
    const meters = this.#meters.get(output) ?? new Set();
    this.#meters.set(output, meters.add(meter));
    return () => {
      meters.delete(meter);
      if (meters.size === 0 && this.#meters.get(output) === meters) this.#meters.delete(output);
    };
  }

  /** `known`: the peaks of each output. Meters of outputs that are missing there show nothing. */
  show(known: ReadonlyMap<number, Peaks>): void {
    for (const [output, meters] of this.#meters) for (const meter of meters) meter(known.get(output) ?? []);
  }
}

export const Metering = createContext(new Levels());

/** The smallest step of a peak, 0.001 (docs/events.md, "Levels"). The scale is in decibels, like hearing. */
const FLOOR_DB = -60;

/** The bar's length, 0..1, for a peak of 0..1. */
function barOf(peak: number): number {
  if (!(peak > 0)) return 0;
  return Math.min(1, Math.max(0, 1 - (20 * Math.log10(peak)) / FLOOR_DB));
}

export function Meter({ output, name }: { readonly output: number; readonly name: string }) {
  const levels = useContext(Metering);
  const meter = useRef<HTMLMeterElement>(null);
  const bars = useRef<HTMLDivElement>(null);
  useEffect(
    () =>
      levels.watch(output, (peaks) => {
        if (meter.current !== null) meter.current.value = Math.max(0, ...peaks);
        for (const [channel, bar] of [...(bars.current?.children ?? [])].entries()) {
          // Two bars are enough, because rooms are heard in stereo.
          const peak = peaks[channel] ?? peaks[0] ?? 0;
          if (bar instanceof HTMLElement) bar.style.setProperty('--level', barOf(peak).toFixed(3));
        }
      }),
    [levels, output],
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
