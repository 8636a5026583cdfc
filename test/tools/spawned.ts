// A program as a child of the test, which it does not outlive, and what it has printed. One that runs for
// long: sound/program.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Collects what comes; the returned function gives the text so far. */
export function textOf(...streams: readonly Readable[]): () => string {
  let text = '';
  for (const stream of streams) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  return () => text;
}

export interface Spawned {
  readonly child: ChildProcess;
  /** Its standard output so far; `err` is its standard error. */
  out(): string;
  err(): string;
  /** Resolves with the exit status when no process holds the output any more. */
  readonly ended: Promise<number | null>;
}

export function spawned(
  t: { after(end: () => void): void },
  env: NodeJS.ProcessEnv,
  [command = '', ...args]: readonly string[],
): Spawned {
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'close').then(() => child.exitCode);
  return { child, out: textOf(child.stdout), err: textOf(child.stderr), ended };
}
