// The state file's text <-> what lasts of a run over restarts of the daemon. Pure.

import type { RunRecord } from './run.js';
import { isRfc3339, utcSeconds } from './time-text.js';

const INVOCATION = /^[0-9a-f]{32}$/;

/** A state file is some hundred bytes; nothing that is larger was written by this program. */
export const STATE_MAX_BYTES = 64 * 1024;

/** Under what a run began. When one of these is another now, the run cannot be going on. */
export interface Circumstances {
  /** Of this life of the kernel. */
  readonly boot: string;
  /** Of this life of the user's systemd; '' while it is not known. */
  readonly manager: string;
  /** The upgrade unit as configured; '' when there is none. */
  readonly unit: string;
}

export interface SavedRun {
  readonly record: RunRecord;
  readonly circumstances: Circumstances;
}

export function savedText({ record, circumstances }: SavedRun): string {
  const { state, origin, invocation, before, startJob, startedMs, finishedMs } = record;
  const saved = {
    state,
    ...(origin !== undefined && { origin }),
    ...(invocation !== undefined && { invocation }),
    ...(before !== undefined && { before }),
    ...(startJob !== undefined && { job: startJob }),
    ...(startedMs !== undefined && { started_at: utcSeconds(startedMs) }),
    ...(finishedMs !== undefined && { finished_at: utcSeconds(finishedMs) }),
    ...circumstances,
  };
  return `${JSON.stringify(saved)}\n`;
}

/** Undefined when the text is not what `savedText` writes. */
export function parseSaved(text: string): SavedRun | undefined {
  const saved = objectOf(text);
  if (saved === undefined) return undefined;
  const { state, origin, invocation, before, boot, manager, unit } = saved;
  const { job: startJob } = saved;
  const [startedMs, finishedMs] = [timeOf(saved['started_at']), timeOf(saved['finished_at'])];
  if (state !== 'idle' && state !== 'running' && state !== 'failed') return undefined;
  if (origin !== undefined && origin !== 'systemd' && origin !== 'socket') return undefined;
  if (invocation !== undefined && !isInvocation(invocation)) return undefined;
  if (before !== undefined && before !== '' && !isInvocation(before)) return undefined;
  if (startJob !== undefined && typeof startJob !== 'string') return undefined;
  if (typeof boot !== 'string' || typeof manager !== 'string' || typeof unit !== 'string') return undefined;
  if (startedMs === 'wrong' || finishedMs === 'wrong') return undefined;
  if (state === 'running' && (origin === undefined || startedMs === undefined)) return undefined;
  const record: RunRecord = {
    state,
    ...(origin !== undefined && { origin }),
    ...(invocation !== undefined && { invocation }),
    ...(before !== undefined && { before }),
    ...(startJob !== undefined && { startJob }),
    ...(startedMs !== undefined && { startedMs }),
    ...(finishedMs !== undefined && { finishedMs }),
  };
  return { record, circumstances: { boot, manager, unit } };
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined; // Cut off or overwritten: the caller says so.
  }
}

function isInvocation(value: unknown): value is string {
  return typeof value === 'string' && INVOCATION.test(value);
}

/** A leap second is a time that the clock cannot hold, and an offset may lead out of the years that RFC 3339 has. */
function timeOf(value: unknown): number | undefined | 'wrong' {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !isRfc3339(value)) return 'wrong';
  const ms = Date.parse(value);
  return Number.isNaN(ms) || !isRfc3339(utcSeconds(ms)) ? 'wrong' : ms;
}
