// The document of `GET /health` (contract, section 7). Pure.

import type { Backend, BackendHealth } from '../protocol/actor/backends.js';
import type { HealthRecord } from '../protocol/actor/schemas.js';
import type { Doors } from './listening.js';

export interface StreamStats {
  readonly open: number;
  /** Streams that were closed because their consumer read too slowly. */
  readonly closedSlow: number;
}

type Lasting = Omit<HealthRecord, 'uptime_s' | 'streams'>;

/** `ok` means that every enabled backend is up. */
function lastingPart(version: string, backends: ReadonlyMap<Backend, BackendHealth>, doors: Doors): Lasting {
  const rows = [...backends].map(([backend, { state, since, restarts, detail }]) => {
    const row = { state, since: new Date(since).toISOString(), restarts };
    return [backend, detail === undefined ? row : { ...row, detail }] as const;
  });
  const isWhole = rows.every(([, row]) => row.state === 'up');
  return {
    status: isWhole ? 'ok' : 'degraded',
    version,
    listening: [...doors.listening],
    waiting: [...doors.waiting],
    backends: Object.fromEntries(rows),
  };
}

/** Keeps the text of all that changes rarely; what changes by itself is written in front of it each time. */
export class HealthText {
  readonly #version: string;
  #backends: ReadonlyMap<Backend, BackendHealth> | undefined;
  #doors: Doors | undefined;
  #lasting = '';

  constructor(version: string) {
    this.#version = version;
  }

  /** `backends` and `doors` are the same objects until something in them changes. */
  of(
    uptimeMs: number,
    streams: StreamStats,
    backends: ReadonlyMap<Backend, BackendHealth>,
    doors: Doors,
  ): string {
    if (backends !== this.#backends || doors !== this.#doors) {
      this.#lasting = JSON.stringify(lastingPart(this.#version, backends, doors)).slice(1);
      this.#backends = backends;
      this.#doors = doors;
    }
    const uptime = Math.max(0, Math.floor(uptimeMs / 1000));
    const counts = `{"open":${streams.open},"closed_slow":${streams.closedSlow}}`;
    return `{"uptime_s":${uptime},"streams":${counts},${this.#lasting}`;
  }
}
