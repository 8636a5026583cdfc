// Turns the measurements of `tonearm bench` into named figures, an estimate of the machine's capacity, and a table.
// Pure except for the description of the machine.

import { availableParallelism } from 'node:os';
import { VERSION } from '../../version.js';
import type { ProbeFigures } from './probe.js';

/** Measured at rest: only audio is enabled, and nobody listens. */
export interface RestFigures {
  readonly memoryMb: number;
  readonly wakeUpsPerSecond: number;
  readonly cpuMsPerMinute: number;
}

export interface Measurement {
  readonly seconds: number;
  readonly rest: RestFigures;
  readonly figures: ProbeFigures;
}

/** Listeners that are added to the first one for the crowded measurement. */
export const MORE_LISTENERS = 32;

/** Undefined if it could not be measured. */
type FigureOf = (measured: Measurement) => number | undefined;

/** The quantile of several measurements. */
function at(part: number, of: (figures: ProbeFigures) => readonly number[] | undefined): FigureOf {
  return ({ figures }) => quantile(of(figures), part);
}

const ROWS: readonly (readonly [key: string, what: string, unit: string, of: FigureOf])[] = [
  ['memory_mb', 'memory at rest', 'MB', ({ rest }) => rest.memoryMb],
  ['wake_ups_per_second', 'wake-ups at rest, just started', '/s', ({ rest }) => rest.wakeUpsPerSecond],
  ['cpu_ms_per_minute', 'CPU at rest, just started', 'ms/min', ({ rest }) => rest.cpuMsPerMinute],
  ['round_trip_ms_p50', 'a request to the sound server, median', 'ms', at(0.5, (f) => f.roundTripMs)],
  ['round_trip_ms_p99', 'a request to the sound server, p99', 'ms', at(0.99, (f) => f.roundTripMs)],
  ['pipelined_requests_per_second', 'requests, many at a time', '/s', at(0.5, (f) => f.pipelinedPerSecond)],
  ['event_to_bytes_ms_p50', 'a change until a listener gets it, median', 'ms', at(0.5, (f) => f.alone?.ms)],
  ['event_to_bytes_ms_p99', 'a change until a listener gets it, p99', 'ms', at(0.99, (f) => f.alone?.ms)],
  ['cpu_ms_per_change', 'CPU of a change, one listener', 'ms', ({ figures }) => figures.alone?.cpuMs],
  [
    'cpu_ms_per_change_crowded',
    `CPU of a change, ${1 + MORE_LISTENERS} listeners`,
    'ms',
    ({ figures }) => figures.crowded?.cpuMs,
  ],
  ['decode_us_per_stream', 'decoding the record of a stream', 'us', at(0.5, (f) => f.decodeUs)],
  ['encode_us_per_stream', 'encoding the record of a stream', 'us', at(0.5, (f) => f.encodeUs)],
];

/** The estimate assumes half of a core, 10 changes a second with many listeners, and a list that is read within 0.1 s. */
const HALF_CORE_MS = 500;
const CHANGES_PER_SECOND = 10;
const LIST_WITHIN_US = 100_000;
const LISTENERS_MAX = 10_000;
/** The least cost of one more listener, in ms, used if the measured difference is lost in the noise. */
const LISTENER_LEAST_MS = 0.001;
const WHAT_COLUMNS = 42;
const VALUE_COLUMNS = 8;

/** The output of `--json`. null means that it could not be measured; `missing` is the reason. */
export interface Report {
  readonly version: string;
  readonly machine: string;
  readonly seconds: number;
  readonly server: string | null;
  readonly missing: string | null;
  /** Units are in the names. */
  readonly figures: Readonly<Record<string, number | null>>;
  readonly estimate: {
    readonly changes_per_second: number | null;
    /** At 10 changes a second. */
    readonly listeners: number | null;
    /** Read, decoded and encoded within 0.1 s. */
    readonly streams: number | null;
  };
}

/** The smallest value that at least `part` of all values do not exceed; undefined if there are none. */
function quantile(values: readonly number[] | undefined, part: number): number | undefined {
  return values?.toSorted((a, b) => a - b)[Math.floor(values.length * part)];
}

/** More digits are noise. */
const threeDigits = (value: number): number => Number(value.toPrecision(3));
const about = (value: number): number => Math.max(0, Math.floor(Number(value.toPrecision(2))));

export function makeReport(measured: Measurement): Report {
  const { server = null, missing = null } = measured.figures;
  const figures = ROWS.map(([key, , , of]) => {
    const value = of(measured);
    return [key, value === undefined ? null : threeDigits(value)] as const;
  });
  return {
    version: VERSION,
    machine: `${process.arch}, ${availableParallelism()} cores, Node ${process.version}`,
    seconds: measured.seconds,
    server,
    missing,
    figures: Object.fromEntries(figures),
    estimate: estimateOf(measured),
  };
}

function estimateOf({ figures }: Measurement): Report['estimate'] {
  const { alone, crowded } = figures;
  const [decode, encode] = [quantile(figures.decodeUs, 0.5), quantile(figures.encodeUs, 0.5)];
  return {
    changes_per_second: alone === undefined ? null : about(HALF_CORE_MS / alone.cpuMs),
    listeners:
      alone === undefined || crowded === undefined
        ? null
        : listenersCarried(alone.cpuMs, (crowded.cpuMs - alone.cpuMs) / MORE_LISTENERS),
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
  const rows = ROWS.map(([key, what, unit]) => {
    const value = figures[key] ?? null;
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
