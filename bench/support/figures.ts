// Shared by measurements: order statistics, and figures that the kernel has about a process.

import { readdirSync, readFileSync } from 'node:fs';

const NANOSECONDS_PER_MS = 1e6;
const KB_PER_MB = 1024;

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The smallest value that `part` of all values do not exceed; NaN of none. */
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

/** How often a thread has gone to sleep by itself, which is how often one was woken. */
export function wakeUps(pid: number): number {
  return sumOverThreads(pid, (thread) => field(`${thread}/status`, 'voluntary_ctxt_switches'));
}

export function memoryMb(pid: number): { readonly rss: number; readonly privateDirty: number } {
  const file = `/proc/${pid}/smaps_rollup`;
  return { rss: field(file, 'Rss') / KB_PER_MB, privateDirty: field(file, 'Private_Dirty') / KB_PER_MB };
}

function sumOverThreads(pid: number, of: (thread: string) => number): number {
  const folder = `/proc/${pid}/task`;
  return readdirSync(folder).reduce((sum, thread) => sum + of(`${folder}/${thread}`), 0);
}

function field(file: string, name: string): number {
  const found = new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(file, 'utf8'));
  if (found === null) throw new Error(`${file} has no ${name}`);
  return Number(found[1]);
}
