// Computes what several measurements need: medians and quantiles, and the kernel's figures of a process.

import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS_PER_MS = 1e6;
const KB_PER_MB = 1024;

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * The value that a part of all values does not exceed; NaN if there are no values. `part` is at least 0 and
 * less than 1.
 */
export function quantile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;
}

/** CPU time of all living threads, in milliseconds. */
export function cpuMs(pid: number): number {
  return sumOverThreads(pid, (thread) => {
    const nanoseconds = Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[0]);
    return nanoseconds / NANOSECONDS_PER_MS;
  });
}

/** How often the threads have gone to sleep by themselves, which is also how often they were woken. */
export function wakeUps(pid: number): number {
  return sumOverThreads(pid, (thread) => field(`${thread}/status`, 'voluntary_ctxt_switches'));
}

export function memoryMb(pid: number): { readonly rss: number; readonly privateDirty: number } {
  const file = `/proc/${pid}/smaps_rollup`;
  return { rss: field(file, 'Rss') / KB_PER_MB, privateDirty: field(file, 'Private_Dirty') / KB_PER_MB };
}

function sumOverThreads(pid: number, figureOf: (thread: string) => number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => sum + figureOf(`${folder}/${thread}`), 0);
}

function field(file: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'));
  if (found === null) throw new Error(`${file} has no ${name}`);
  return Number(found[1]);
}
