// Runs `tonearm trace` for a test, on the test's sound server. The test reads the lines of the trace, and
// can end the trace. Nothing of the trace's code is used.

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

/** Starts a tracer that listens for clients. Resolves when it listens. */
export async function startTracer(
  t: TestContext,
  env: Environment,
  ...args: readonly string[]
): Promise<Tracer> {
  const tracer = spawnTrace(t, env, ...args);
  const path = await until('the tracer listens', () => {
    assert.equal(tracer.child.exitCode, null, tracer.err());
    return /^PULSE_SERVER=unix:(.+)\n/.exec(tracer.err())?.[1];
  });
  return { ...tracer, path };
}

/**
 * Starts a tracer with any arguments. `startTracer` waits for the tracer's address, but a tracer that runs a
 * command prints none.
 */
export const spawnTrace = (t: TestContext, env: Environment, ...args: readonly string[]): Spawned =>
  spawned(t, env, [process.execPath, ENTRY, 'trace', ...args]);
