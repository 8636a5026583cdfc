// Runs `tonearm trace` for a test: starts it beside a sound server, collects its lines as they come, ends it
// in any way. It uses nothing of the trace's code.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Environment } from '../sound/program.js';
import { type Spawned, spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { ENTRY } from './daemon.js';

/** A line of `--json`. */
export interface TraceLine {
  readonly seconds: number;
  readonly connection: number;
  readonly from?: 'client' | 'server';
  readonly note?: string;
  readonly data?: { readonly channel: number; readonly offset: number; readonly length: number };
  readonly command?: string | number;
  readonly tag?: number;
  readonly answers?: string | number;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly unnamed?: readonly unknown[];
  readonly problem?: string;
  readonly declined?: readonly string[];
}

export interface Tracer extends Spawned {
  /** The path of the socket on which it listens. */
  readonly path: string;
}

/** Resolves when it listens. */
export async function trace(t: TestContext, env: Environment, ...args: readonly string[]): Promise<Tracer> {
  const tracer = tracing(t, env, ...args);
  const path = await until('the tracer listens', () => {
    assert.equal(tracer.child.exitCode, null, tracer.err());
    return /^PULSE_SERVER=unix:(.+)\n/.exec(tracer.err())?.[1];
  });
  return { ...tracer, path };
}

/** It may run a command, and not listen for anybody else. */
export const tracing = (t: TestContext, env: Environment, ...args: readonly string[]): Spawned =>
  spawned(t, env, [process.execPath, ENTRY, 'trace', ...args]);
