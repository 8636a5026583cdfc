// Runs pactl, the sound server's own program for the command line. Tests use pactl to read and change a
// server independently of the daemon.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Environment } from './program.js';

const run = promisify(execFile);

const DEADLINE_MS = 60_000;
const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/**
 * An entry of `pactl list` for a sink, a sink input or a source output. It has only the members that tests
 * read. pactl prints `(null)` for a text with characters beyond ASCII.
 */
export interface Listed {
  readonly index: number;
  readonly name?: string;
  /** The index of the sink that a sink input plays to. Other entries lack this member. */
  readonly sink?: number;
  readonly corked?: boolean;
  /** The index of the module that owns the record: a number for a sink, a text for a sink input. */
  readonly owner_module?: number | string | null;
  readonly mute: boolean;
  readonly volume: Readonly<Record<string, { readonly value: number; readonly value_percent: string }>>;
  readonly properties: Readonly<Record<string, string>>;
}

/** The volume of each channel in percent. */
export const percents = ({ volume }: Listed): number[] =>
  Object.values(volume).map(({ value_percent }) => Number.parseInt(value_percent, 10));

/** Runs pactl in this environment, and resolves with its output. Rejects if pactl fails. */
export async function pactl(env: Environment, ...args: readonly string[]): Promise<string> {
  const limits = { timeout: DEADLINE_MS, maxBuffer: OUTPUT_MAX_BYTES };
  return (await run('pactl', [...args], { env, ...limits })).stdout;
}

export async function list(
  env: Environment,
  what: 'sinks' | 'sink-inputs' | 'source-outputs',
): Promise<readonly Listed[]> {
  const listed: readonly Listed[] = JSON.parse(await pactl(env, '--format=json', 'list', what));
  return listed;
}
