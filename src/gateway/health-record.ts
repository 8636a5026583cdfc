// The document of `GET /health` (contract, section 7). Pure.

import type { Backend, BackendHealth } from '../protocol/actor/backends.js';
import type { HealthRecord } from '../protocol/actor/schemas.js';

export interface StreamStats {
  readonly open: number;
  /** Streams that were closed because their consumer read too slowly. */
  readonly closedSlow: number;
}

/** `uptimeMs` in milliseconds. `ok` means that every enabled backend is up. */
export function healthRecord(
  version: string,
  uptimeMs: number,
  backends: ReadonlyMap<Backend, BackendHealth>,
  streams: StreamStats,
): HealthRecord {
  const rows = [...backends].map(([backend, { state, since, restarts, detail }]) => {
    const row = { state, since: new Date(since).toISOString(), restarts };
    return [backend, detail === undefined ? row : { ...row, detail }] as const;
  });
  const isWhole = rows.every(([, row]) => row.state === 'up');
  return {
    status: isWhole ? 'ok' : 'degraded',
    version,
    uptime_s: Math.max(0, Math.floor(uptimeMs / 1000)),
    backends: Object.fromEntries(rows),
    streams: { open: streams.open, closed_slow: streams.closedSlow },
  };
}
