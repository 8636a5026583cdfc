// The figures of `tonearm bench`: their names, an estimate of the machine's capacity that follows from them, and a table.
// Pure except for the description of the machine.

import { availableParallelism } from 'node:os';
import { VERSION } from '../../version.js';

/** Listeners that are added to the first one for the crowded measurement. */
export const MORE_LISTENERS = 32;

/** Under their names in the output of `--json`, which end in the unit: what they are, and the unit for people. */
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

/** The estimate assumes half of a core, 10 changes a second with many listeners, and a list that is read within 0.1 s. */
const HALF_CORE_MS = 500;
const CHANGES_PER_SECOND = 10;
const LIST_WITHIN_US = 100_000;
const LISTENERS_MAX = 10_000;
/** The least cost of one more listener, in ms, used if the measured difference is lost in the noise. */
const LISTENER_LEAST_MS = 0.001;
const WHAT_COLUMNS = 42;
const VALUE_COLUMNS = 8;

/** The smallest value that at least `part` of all values do not exceed; NaN if there are none. */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

/** More digits are noise. */
const threeDigits = (value: number): number => Number(value.toPrecision(3));
const about = (value: number): number => Math.max(0, Math.floor(Number(value.toPrecision(2))));

export type Report = ReturnType<typeof makeReport>;

/** The output of `--json`. null means that it could not be measured; `missing` is the reason. */
export function makeReport({ figures, server, missing }: Measured, seconds: number) {
  const shown = FIGURE_NAMES.map((name) => {
    const value = figures[name];
    return [name, value === undefined ? null : threeDigits(value)] as const;
  });
  return {
    version: VERSION,
    machine: `${process.arch}, ${availableParallelism()} cores, Node ${process.version}`,
    seconds,
    server: server ?? null,
    missing: missing ?? null,
    figures: Object.fromEntries(shown) as Record<FigureName, number | null>,
    estimate: estimateOf(figures),
  };
}

/** Listeners are those at 10 changes a second; streams are read, decoded and encoded within 0.1 s. */
function estimateOf({
  cpu_ms_per_change: alone,
  cpu_ms_per_change_crowded: crowded,
  decode_us_per_stream: decode,
  encode_us_per_stream: encode,
}: Figures) {
  return {
    changes_per_second: alone === undefined ? null : about(HALF_CORE_MS / alone),
    listeners:
      alone === undefined || crowded === undefined
        ? null
        : listenersCarried(alone, (crowded - alone) / MORE_LISTENERS),
    streams: decode === undefined || encode === undefined ? null : about(LIST_WITHIN_US / (decode + encode)),
  };
}

/** `changeMs`: CPU time of a change with one listener; `oneMoreMs`: the addition for each further one. */
function listenersCarried(changeMs: number, oneMoreMs: number): number {
  const left = HALF_CORE_MS / CHANGES_PER_SECOND - changeMs;
  const carried = left < 0 ? 0 : 1 + left / Math.max(oneMoreMs, LISTENER_LEAST_MS);
  return Math.min(LISTENERS_MAX, about(carried));
}

export function reportTable(report: Report): string {
  const { version, machine, server, missing, figures, estimate } = report;
  const rows = FIGURE_NAMES.map((name) => {
    const [[what, unit], value] = [FIGURES[name], figures[name]];
    return `${what.padEnd(WHAT_COLUMNS)}${String(value ?? '-').padStart(VALUE_COLUMNS)} ${value === null ? '' : unit}`;
  });
  return [
    `tonearm ${version} on ${machine}`,
    `sound server: ${server ?? 'none'}`,
    ...(missing === null ? [] : [`some figures could not be measured: ${missing}`]),
    '',
    ...rows.map((row) => row.trimEnd()),
    '',
    ...estimateSentences(estimate),
    '',
  ].join('\n');
}

function estimateSentences({
  changes_per_second,
  listeners,
  streams,
}: Report['estimate']): readonly string[] {
  return [
    'An estimate from these figures; the measurement itself used part of the CPU:',
    ...(changes_per_second === null
      ? []
      : [`half of a core carries about ${changes_per_second} changes a second with one listener,`]),
    ...(listeners === null
      ? []
      : [`or about ${listeners} listeners at ${CHANGES_PER_SECOND} changes a second;`]),
    ...(streams === null ? [] : [`a list of about ${streams} streams is decoded and encoded within 0.1 s.`]),
  ];
}
