// Collects the figures of `GET /metrics` (docs/http-api.md, "Figures"). A label's value is an item of a fixed
// list, a version, or the name of an output or a player. No label says what is played, or who asks.

import { processFacts, threadCpuSeconds, threadReport } from '../host/process-facts.js';
import { BACKEND_STATES, type BackendHealth, type ChildName } from '../protocol/actor/backends.js';
import type { ThreadReport } from '../protocol/actor/messages.js';
import type { OutputRecord, PlayerRecord } from '../protocol/actor/schemas.js';
import type { Journal } from './journal.js';
import { type Metric, openMetricsText, type Sample } from './open-metrics.js';
import { BUCKET_BOUNDS_S, type OperationCounts, type RequestCounts } from './request-counts.js';

export interface MetricsFacts {
  readonly version: string;
  /** Seconds since the epoch. */
  readonly startedAt: number;
  readonly uptimeSeconds: number;
  readonly health: ReadonlyMap<ChildName, BackendHealth>;
  readonly threads: ReadonlyMap<ChildName, ThreadReport>;
  readonly streams: { readonly open: number; readonly closedSlow: number; readonly published: number };
  readonly requests: Pick<RequestCounts, 'countsByOperation'>;
  readonly journal: Pick<Journal, 'records'>;
}

export function metricsText(facts: MetricsFacts): string {
  return openMetricsText([
    ...processMetrics(facts),
    ...threadMetrics(facts),
    ...backendMetrics(facts),
    ...streamMetrics(facts),
    ...requestMetrics([...facts.requests.countsByOperation()]),
    ...outputMetrics(recordsIn<OutputRecord>(facts, 'audio.outputs')),
    playerMetric(recordsIn<PlayerRecord>(facts, 'players')),
  ]);
}

type LabelledValues = readonly (readonly [labels: NonNullable<Sample['labels']>, value: number])[];

function gauge(name: string, help: string, values: LabelledValues): Metric {
  return { name, type: 'gauge', help, samples: values.map(([labels, value]) => ({ labels, value })) };
}

function counter(name: string, help: string, values: LabelledValues): Metric {
  return { ...gauge(name, help, values), type: 'counter' };
}

function processMetrics({ version, startedAt, uptimeSeconds }: MetricsFacts): readonly Metric[] {
  const build: Metric = {
    name: 'tonearm_build',
    type: 'info',
    help: 'The versions of tonearm and of Node.',
    samples: [{ labels: { version, node: process.versions.node }, value: 1 }],
  };
  const kernelFacts = processFacts();
  const knownWithoutKernel = [
    build,
    gauge('process_start_time_seconds', 'When the service was started, since the epoch.', [[{}, startedAt]]),
    gauge('tonearm_uptime_seconds', 'How long the service has run.', [[{}, uptimeSeconds]]),
  ];
  if (kernelFacts === undefined) return knownWithoutKernel;
  return [
    ...knownWithoutKernel,
    counter('process_cpu_seconds', 'Processor time of all threads.', [[{}, kernelFacts.cpuSeconds]]),
    gauge('process_resident_memory_bytes', 'Memory of the process.', [[{}, kernelFacts.residentBytes]]),
    gauge('process_open_fds', 'Open files and sockets.', [[{}, kernelFacts.openFiles]]),
  ];
}

/**
 * Each `GET /metrics` calls `Backends.threads`. That call requests new reports from the threads of the
 * children, but does not wait for these reports. So the heap bytes of these threads are from their last
 * reports. The processor time of each thread is current, because the kernel reports it.
 */
function threadMetrics({ threads }: MetricsFacts): readonly Metric[] {
  const reports = [['main', threadReport()] as const, ...threads];
  const cpuSeconds: [labels: { thread: string }, seconds: number][] = [];
  for (const [thread, { tid }] of reports) {
    const seconds = tid === undefined ? undefined : threadCpuSeconds(tid);
    if (seconds !== undefined) cpuSeconds.push([{ thread }, seconds]);
  }
  const heapBytes = reports.map(([thread, report]) => [{ thread }, report.heapBytes] as const);
  return [
    counter('tonearm_thread_cpu_seconds', 'Processor time of a thread.', cpuSeconds),
    gauge(
      'tonearm_thread_heap_bytes',
      'The heap of a thread in use, for others than main at the request before.',
      heapBytes,
    ),
  ];
}

function backendMetrics({ health }: MetricsFacts): readonly Metric[] {
  const states = [...health].flatMap(([backend, current]) =>
    BACKEND_STATES.map((state) => [{ backend, state }, current.state === state ? 1 : 0] as const),
  );
  const restartCounts = [...health].map(([backend, { restarts }]) => [{ backend }, restarts] as const);
  return [
    gauge('tonearm_backend_state', '1 for the state that the backend has.', states),
    counter('tonearm_backend_restarts', 'How often the thread of the backend has died.', restartCounts),
  ];
}

function streamMetrics({ streams }: MetricsFacts): readonly Metric[] {
  return [
    gauge('tonearm_event_streams', 'Open event streams.', [[{}, streams.open]]),
    counter('tonearm_event_streams_closed_slow', 'Streams that were closed as too slow.', [
      [{}, streams.closedSlow],
    ]),
    counter('tonearm_events', 'Events while a stream was open, each counted once for all streams.', [
      [{}, streams.published],
    ]),
  ];
}

function requestMetrics(
  countsByOperation: readonly (readonly [operation: string, OperationCounts])[],
): readonly Metric[] {
  const statuses = countsByOperation.flatMap(([operation, counts]) =>
    [...counts.statuses].map(([status, count]) => [{ operation, status }, count] as const),
  );
  return [
    counter('tonearm_requests', 'Requests by operation and status.', statuses),
    {
      name: 'tonearm_request_duration_seconds',
      type: 'histogram',
      help: 'From the head of a request to its answer.',
      samples: countsByOperation.flatMap(([operation, counts]) => histogram(operation, counts)),
    },
  ];
}

/**
 * A bucket of OpenMetrics counts all requests that took at most `le` seconds, also those that an earlier
 * bucket counts. `buckets` counts each request only once, and does not count a request that took longer than
 * the last bound. If `le` is a whole number, it is written with a decimal place, such as `10.0` (OpenMetrics,
 * "Canonical Numbers").
 */
function histogram(operation: string, { buckets, count, sumS }: OperationCounts): readonly Sample[] {
  let countSoFar = 0;
  const boundedBuckets: Sample[] = [];
  for (const [index, bound] of BUCKET_BOUNDS_S.entries()) {
    countSoFar += buckets[index] ?? 0;
    const le = Number.isInteger(bound) ? `${bound}.0` : bound;
    boundedBuckets.push({ suffix: '_bucket', labels: { operation, le }, value: countSoFar });
  }
  return [
    ...boundedBuckets,
    { suffix: '_bucket', labels: { operation, le: '+Inf' }, value: count },
    { suffix: '_sum', labels: { operation }, value: sumS },
    { suffix: '_count', labels: { operation }, value: count },
  ];
}

/** Equal labels must have only one value, so of two outputs with the same name only the first counts. */
function outputMetrics(outputs: readonly OutputRecord[]): readonly Metric[] {
  const isFirstOfName = ({ name }: OutputRecord, index: number): boolean =>
    outputs.findIndex((other) => other.name === name) === index;
  const counted = outputs.filter(isFirstOfName);
  const perOutput = (value: (output: OutputRecord) => number): LabelledValues =>
    counted.map((output) => [{ output: output.name }, value(output)]);
  const volumes = perOutput(({ volume }) => volume);
  const mutes = perOutput((output) => Number(output.muted));
  const defaults = perOutput((output) => Number(output.default));
  return [
    gauge('tonearm_output_volume_ratio', 'The volume of an output, 1 = 100 %.', volumes),
    gauge('tonearm_output_muted', '1 while the output is muted.', mutes),
    gauge('tonearm_output_default', '1 for the default output.', defaults),
  ];
}

const PLAYER_STATES = ['Playing', 'Paused', 'Stopped'] as const;

/**
 * Processes of one program count under one name: `org.mpris.MediaPlayer2.vlc.instance4711` counts as `vlc`.
 */
function playerMetric(players: readonly PlayerRecord[]): Metric {
  const countsByPlayer = new Map<string, Record<(typeof PLAYER_STATES)[number], number>>();
  for (const { bus_name, playback_status } of players) {
    const player = bus_name.replace(/^org\.mpris\.MediaPlayer2\./, '').replace(/\.instance.*$/, '');
    const byState = countsByPlayer.get(player) ?? { Playing: 0, Paused: 0, Stopped: 0 };
    byState[playback_status] += 1;
    countsByPlayer.set(player, byState);
  }
  const values = [...countsByPlayer].flatMap(([player, byState]) =>
    PLAYER_STATES.map((state) => [{ player, state: state.toLowerCase() }, byState[state]] as const),
  );
  return gauge('tonearm_players', 'Players by state.', values);
}

/** The texts are parsed without a check, because backends make them from values of the type `T`. */
function recordsIn<T>({ journal }: MetricsFacts, collection: 'audio.outputs' | 'players'): readonly T[] {
  return [...journal.records(collection)].map(({ json }) => JSON.parse(json) as T);
}
