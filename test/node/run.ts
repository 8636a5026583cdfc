// Follows a child process to its end and collects its output. Never without a deadline.

import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/** Unpacking a package took two minutes on a machine where thirty processes wanted two cores. */
const COMMAND_DEADLINE_MS = 300_000;
/** Longer output of a command is cut: a test that prints more is wrong. */
const OUTPUT_LIMIT_BYTES = 8 << 20;

export interface Ran {
  /** Null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Gives the child its input. Rejects if it could not be started or outlives the deadline, which kills it. */
export function toTheEnd(child: ChildProcessWithoutNullStreams, input?: string | Buffer): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const said = { stdout: '', stderr: '' };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`no end in ${COMMAND_DEADLINE_MS} ms: ${child.spawnargs.join(' ')}\n${said.stderr}`));
    }, COMMAND_DEADLINE_MS);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8');
      child[name].on('data', (text: string) => {
        if (said[name].length < OUTPUT_LIMIT_BYTES) said[name] += text;
      });
    }
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ status, ...said });
    });
    // A command that ends without reading its input closes the pipe: only its status matters.
    child.stdin.on('error', () => child.stdin.destroy());
    child.stdin.end(input);
  });
}
