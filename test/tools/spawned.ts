// Starts a program for a test, collects what it prints, and kills it when the test ends. For a program that
// runs for long there is sound/program.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

/** Collects the text of these streams. */
export class SpawnedText {
  #text = '';

  constructor(...streams: readonly Readable[]) {
    for (const stream of streams) {
      stream.setEncoding('utf8').on('data', (part: string) => {
        this.#text += part;
      });
    }
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }
}

export interface Spawned {
  readonly child: ChildProcess;
  /** The standard output so far. */
  out(): string;
  /** The standard error so far. */
  err(): string;
  /** Resolves with the exit status, once no process has the program's output open any more. */
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
  const out = new SpawnedText(child.stdout);
  const err = new SpawnedText(child.stderr);
  return { child, out: () => out.text, err: () => err.text, ended };
}
