// The figures of `tonearm bench`: their names, an estimate of the machine's capacity that follows from them,
// and a table. Pure except for the description of the machine.

import { availableParallelism } from 'node:os';
import { VERSION } from '../../version.js';

/** Listeners that are added to the first one for the crowded measurement. */
export const MORE_LISTENERS = 32;

/**
 * The figures under their names in the output of `--json`, which end in the unit. Each has a description,
 * and its unit for people.
 */
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
  cpu_ms_per_change_crowded: [`CPU of a change, ${1 + MORE_LISTENERS} listeners`, 'ms'],
  decode_us_per_stream: ['decoding the record of a stream', 'us'],
  encode_us_per_stream: ['encoding the record of a stream', 'us'],
} as const;

type FigureName = keyof typeof FIGURES;
const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[];

export type Figures = Partial<Record<FigureName, number>>;

/** Figures that are absent could not be measured; `missing` is the reason. */
export interface Measured {
  readonly figures: Figures;
  readonly server?: string;
  readonly missing?: string;
}

/**
 * The estimate assumes half of a core, 10 changes a second with many listeners, and a list that is read
 * within 0.1 s.
 */
const HALF_CORE_MS = 500;
const CHANGES_PER_SECOND = 10;
const LIST_WITHIN_US = 100_000;
const LISTENERS_MAX = 10_000;
/** The least cost of one more listener, in ms, used if the measured difference is lost in the noise. */
const LISTENER_LEAST_MS = 0.001;
const WHAT_COLUMNS = 42;
const VALUE_COLUMNS = 8;

/**
 * The smallest value that more than `part` (0 <= part < 1) of all values do not exceed; NaN without values.
 */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

/** In a measurement, the digits after the third are noise; in an estimate, those after the second. */
const threeDigits = (value: number): number => Number(value.toPrecision(3));
const twoDigits = (value: number): number => Math.max(0, Math.floor(Number(value.toPrecision(2))));

export type Report = ReturnType<typeof makeReport>;

/** A figure that could not be measured is NaN, which `--json` prints as null. `missing` is the reason. */
export function makeReport({ figures, server, missing }: Measured, seconds: number) {
  const printed = FIGURE_NAMES.map((name) => [name, threeDigits(figures[name] ?? Number.NaN)] as const);
  return {
    version: VERSION,
    machine: `${process.arch}, ${availableParallelism()} cores, Node ${process.version}`,
    seconds,
    server: server ?? null,
    missing: missing ?? null,
    figures: Object.fromEntries(printed) as Record<FigureName, number>,
    estimate: estimateOf(figures),
  };
}

/** `listeners` holds for 10 changes a second. A list of `streams` is decoded and encoded within 0.1 s. */
function estimateOf({
  cpu_ms_per_change: alone = Number.NaN,
  cpu_ms_per_change_crowded: crowded = Number.NaN,
  decode_us_per_stream: decode = Number.NaN,
  encode_us_per_stream: encode = Number.NaN,
}: Figures) {
  const leftMs = HALF_CORE_MS / CHANGES_PER_SECOND - alone;
  const oneMoreMs = Math.max((crowded - alone) / MORE_LISTENERS, LISTENER_LEAST_MS);
  return {
    changes_per_second: twoDigits(HALF_CORE_MS / alone),
    listeners: Math.min(LISTENERS_MAX, twoDigits(leftMs < 0 ? 0 : 1 + leftMs / oneMoreMs)),
    streams: twoDigits(LIST_WITHIN_US / (decode + encode)),
  };
}

export function reportTable(report: Report): string {
  const { version, machine, server, missing, figures, estimate } = report;
  const rows = FIGURE_NAMES.map((name) => {
    const [what, unit] = FIGURES[name];
    const value = figures[name];
    const [printed, of] = Number.isNaN(value) ? ['-', ''] : [String(value), ` ${unit}`];
    return `${what.padEnd(WHAT_COLUMNS)}${printed.padStart(VALUE_COLUMNS)}${of}`;
  });
  const { changes_per_second: changes, listeners, streams } = estimate;
  const sentences = [
    [changes, `half of a core carries about ${changes} changes a second with one listener,`],
    [listeners, `or about ${listeners} listeners at ${CHANGES_PER_SECOND} changes a second;`],
    [streams, `a list of about ${streams} streams is decoded and encoded within 0.1 s.`],
  ] as const;
  return [
    `tonearm ${version} on ${machine}`,
    `sound server: ${server ?? 'none'}`,
    ...(missing === null ? [] : [`some figures could not be measured: ${missing}`]),
    '',
    ...rows,
    '',
    'An estimate from these figures; the measurement itself used part of the CPU:',
    ...sentences.filter(([figure]) => !Number.isNaN(figure)).map(([, sentence]) => sentence),
    '',
  ].join('\n');
}
