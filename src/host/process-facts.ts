// Reads what the kernel knows of this process and its threads: processor time, memory, open files (proc(5)).

import { readdirSync, readlinkSync } from 'node:fs';
import type { ThreadReport } from '../protocol/actor/messages.js';
import { textIfThere } from './text-if-there.js';

/** The kernel's USER_HZ, which is 100 on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;

export interface ProcessFacts {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly openFiles: number;
}

/** Undefined where /proc cannot be read. */
export function processFacts(): ProcessFacts | undefined {
  const cpuSeconds = cpuSecondsIn(textIfThere('/proc/self/stat'));
  const residentKb = /^VmRSS:\s+(\d+) kB$/m.exec(textIfThere('/proc/self/status'))?.[1];
  if (cpuSeconds === undefined || residentKb === undefined) return undefined;
  return {
    cpuSeconds,
    residentBytes: Number(residentKb) * 1024,
    openFiles: readdirSync('/proc/self/fd').length,
  };
}

/** The processor time of a thread of this process; undefined if there is no such thread. */
export function threadCpuSeconds(tid: number): number | undefined {
  return cpuSecondsIn(textIfThere(`/proc/self/task/${tid}/stat`));
}

/** The report is about the thread that calls this function. */
export function threadReport(): ThreadReport {
  return { tid: ownTid(), heapBytes: process.memoryUsage().heapUsed };
}

/**
 * User and system time are fields 14 and 15 of a `stat` file. Field 2 is a name in brackets. The name may
 * contain blanks and brackets, so everything before field 3 is cut off first.
 */
function cpuSecondsIn(stat: string): number | undefined {
  const afterName = stat.slice(stat.lastIndexOf(')') + 2);
  const fieldsFrom3 = afterName.split(' ');
  const userTicks = Number(fieldsFrom3[14 - 3]);
  const systemTicks = Number(fieldsFrom3[15 - 3]);
  const ticks = userTicks + systemTicks;
  return Number.isFinite(ticks) ? ticks / TICKS_PER_SECOND : undefined;
}

function ownTid(): number | undefined {
  try {
    // The link leads to, for example, `4711/task/4715`: process 4711, thread 4715.
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return undefined;
  }
}
