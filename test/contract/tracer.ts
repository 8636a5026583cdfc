// Runs `tonearm trace` for a test: starts it beside a sound server, collects its lines as they come, ends it in any way. It uses nothing
// of the trace's code.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Environment } from '../sound/program.js';
import { type Spawned, spawned } from '../tools/spawned.js';
import { until } from '../until.js';
import { ENTRY } from './daemon.js';

/** A line of `--json`. */
export interface Said {
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
  /** The path of the socket on which it listens; '' where it runs a command. */
  readonly path: string;
  said(): readonly Said[];
}

export interface TracerOptions {
  readonly env: Environment;
  readonly args?: readonly string[];
}

/** Resolves when it listens; at once where it runs a command. */
export async function trace(t: TestContext, { env, args = [] }: TracerOptions): Promise<Tracer> {
  const tracer = spawned(t, env, [process.execPath, ENTRY, 'trace', ...args]);
  const address = async (): Promise<string> =>
    until('the tracer listens', () => {
      assert.equal(tracer.child.exitCode, null, tracer.err());
      return /^PULSE_SERVER=unix:(.+)\n/.exec(tracer.err())?.[1];
    });
  const path = args.includes('--') ? '' : await address();
  const said = (): readonly Said[] =>
    tracer
      .out()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Said);
  return { ...tracer, path, said };
}
