// Decides how `tonearm bench` prints its figures, and which estimate follows from them. Pure except for the
// description of the machine.

import { availableParallelism } from 'node:os';
import { VERSION } from '../../version.js';

/** How many listeners join the first one before the bench measures changes for the second time. */
export const LISTENERS_ADDED = 32;

/** Each figure's description and unit, for people. The keys are the names in the output of `--json`. */
const FIGURES = {
  memory_mb: ['memory at rest', 'MB'],
  wake_ups_per_second: ['wake-ups at rest, just started', '/s'],
  cpu_ms_per_minute: ['CPU at rest, just started', 'ms/min'],
  round_trip_ms_p50: ['a request to the sound server, median', 'ms'],
  round_trip_ms_p99: ['a request to the sound server, p99', 'ms'],
  pipelined_requests_per_second: ['requests, many at a time', '/s'],
  event_to_bytes_ms_p50: ['a change until a listener gets it, median', 'ms'],
  event_to_bytes_ms_p99: ['a change until a listener gets it, p99', 'ms'],
  cpu_ms_per_change: ['CPU of a change, one listener', 'ms'],
  cpu_ms_per_change_crowded: [`CPU of a change, ${1 + LISTENERS_ADDED} listeners`, 'ms'],
  decode_us_per_stream: ['decoding the record of a stream', 'us'],
  encode_us_per_stream: ['encoding the record of a stream', 'us'],
} as const;

type FigureName = keyof typeof FIGURES;
const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[];

export type Figures = Partial<Record<FigureName, number>>;

export interface Measured {
  readonly figures: Figures;
  readonly server?: string;
  /** The reason why some figures are absent. */
  readonly missing?: string;
}

/** The estimate assumes half of a core, which is 500 ms of CPU time per second. */
const HALF_CORE_MS = 500;
/** The estimate of listeners assumes this many changes. */
const CHANGES_PER_SECOND = 10;
/** In the estimate of streams, a list is decoded and encoded within this time. */
const LIST_WITHIN_US = 100_000;
/** The estimate names at most this many listeners, because noise can make a listener seem free. */
const LISTENERS_MAX = 10_000;
/** The least cost of a listener in the estimate, because noise can make the measured cost negative. */
const LISTENER_LEAST_MS = 0.001;
const DESCRIPTION_COLUMNS = 42;
const VALUE_COLUMNS = 8;

/**
 * Sorts the values, and returns the value that has the share `part` (0 <= part < 1) of them before it. For
 * 0.5 this is the median. Returns NaN if there are no values.
 */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

/** A measurement is printed with three significant digits, because further digits are noise. */
const threeDigits = (value: number): number => Number(value.toPrecision(3));
/**
 * An estimate is printed with two significant digits, because further digits are noise. The result is a whole
 * number, and never negative; NaN stays NaN.
 */
const twoDigits = (value: number): number => Math.max(0, Math.floor(Number(value.toPrecision(2))));

export type Report = ReturnType<typeof makeReport>;

/** A figure that could not be measured is NaN, which `--json` prints as null. `missing` is the reason. */
export function makeReport({ figures, server, missing }: Measured, seconds: number) {
  const rounded = FIGURE_NAMES.map((name) => [name, threeDigits(figures[name] ?? Number.NaN)] as const);
  return {
    version: VERSION,
    machine: `${process.arch}, ${availableParallelism()} cores, Node ${process.version}`,
    seconds,
    server: server ?? null,
    missing: missing ?? null,
    figures: Object.fromEntries(rounded) as Record<FigureName, number>,
    estimate: estimateOf(figures),
  };
}

function estimateOf(figures: Figures) {
  const aloneMs = figures.cpu_ms_per_change ?? Number.NaN;
  const crowdedMs = figures.cpu_ms_per_change_crowded ?? Number.NaN;
  const decodeUs = figures.decode_us_per_stream ?? Number.NaN;
  const encodeUs = figures.encode_us_per_stream ?? Number.NaN;
  // Half of a core can spend `msPerChange` on each change. The change itself and the first listener take
  // `aloneMs` of it, and further listeners share the rest. If `leftMs` is negative, even one listener is too
  // many.
  const msPerChange = HALF_CORE_MS / CHANGES_PER_SECOND;
  const leftMs = msPerChange - aloneMs;
  const oneMoreListenerMs = Math.max((crowdedMs - aloneMs) / LISTENERS_ADDED, LISTENER_LEAST_MS);
  const listeners = leftMs < 0 ? 0 : 1 + leftMs / oneMoreListenerMs;
  return {
    changes_per_second: twoDigits(HALF_CORE_MS / aloneMs),
    listeners: Math.min(LISTENERS_MAX, twoDigits(listeners)),
    streams: twoDigits(LIST_WITHIN_US / (decodeUs + encodeUs)),
  };
}

export function reportTable(report: Report): string {
  const { version, machine, server, missing, figures, estimate } = report;
  const rows = FIGURE_NAMES.map((name) => {
    const [description, unit] = FIGURES[name];
    const value = figures[name];
    const isMissing = Number.isNaN(value);
    const printed = isMissing ? '-' : String(value);
    const line = description.padEnd(DESCRIPTION_COLUMNS) + printed.padStart(VALUE_COLUMNS);
    return isMissing ? line : `${line} ${unit}`;
  });
  const { changes_per_second: changes, listeners, streams } = estimate;
  const estimates = [
    [changes, `half of a core carries about ${changes} changes a second with one listener,`],
    [listeners, `or about ${listeners} listeners at ${CHANGES_PER_SECOND} changes a second;`],
    [streams, `a list of about ${streams} streams is decoded and encoded within 0.1 s.`],
  ] as const;
  const sentences = estimates.filter(([value]) => !Number.isNaN(value)).map(([, sentence]) => sentence);
  const problemLines = missing === null ? [] : [`some figures could not be measured: ${missing}`];
  return [
    `tonearm ${version} on ${machine}`,
    `sound server: ${server ?? 'none'}`,
    ...problemLines,
    '',
    ...rows,
    '',
    'An estimate from these figures; the measurement itself used part of the CPU:',
    ...sentences,
    '',
  ].join('\n');
}
