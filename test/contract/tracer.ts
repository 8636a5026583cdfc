// Runs `tonearm trace` for a test: starts it beside a sound server, collects its lines as they come, ends it in any way. It uses nothing
// of the trace's code.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { Environment } from '../sound/program.js';
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

export interface Tracer {
  readonly child: ChildProcess;
  /** The path of the socket on which it listens; '' where it runs a command. */
  readonly path: string;
  /** Its standard output; `err` is its standard error. */
  out(): string;
  err(): string;
  said(): readonly Said[];
  /** Resolves with the exit status when no process holds the output any more. */
  readonly ended: Promise<number | null>;
}

export interface TracerOptions {
  readonly env: Environment;
  readonly args?: readonly string[];
}

/** Resolves when it listens; at once where it runs a command. */
export async function trace(t: TestContext, { env, args = [] }: TracerOptions): Promise<Tracer> {
  const child = spawn(process.execPath, [ENTRY, 'trace', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const ended = once(child, 'close').then(() => child.exitCode);
  const address = async (): Promise<string> =>
    until('the tracer listens', () => {
      assert.equal(child.exitCode, null, err);
      return /^PULSE_SERVER=unix:(.+)\n/.exec(err)?.[1];
    });
  const path = args.includes('--') ? '' : await address();
  const said = (): readonly Said[] =>
    out
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Said);
  return { child, path, out: () => out, err: () => err, said, ended };
}
