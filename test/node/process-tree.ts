// Finds a node's PID 1 among the processes of this machine, follows commands inside the node to their end,
// and ends processes. Every command has a deadline.

import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { readFileSync, readlinkSync } from 'node:fs';

/** Returns what `read` reads in /proc, or an empty text if the process is gone. */
function unlessGone(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}

const numbersIn = (text: string): number[] => text.split(/\s+/).filter(Boolean).map(Number);

/** Returns the ids of the children of a process, or an empty list if the process is gone. */
export const childrenOf = (pid: number): number[] =>
  numbersIn(unlessGone(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')));

/** Sends SIGTERM. Does nothing if the process has ended already, for example because the node goes down. */
export function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The ids that a process has in the PID namespaces, from our namespace to its own. */
function idsOf(pid: number | 'self'): readonly number[] {
  const status = unlessGone(() => readFileSync(`/proc/${pid}/status`, 'utf8'));
  return numbersIn(/^NSpid:(.*)$/m.exec(status)?.[1] ?? '');
}

/**
 * nspawn's child is a copy of nspawn until it runs systemd. Until then its namespaces are not complete, and
 * nobody may enter them.
 */
const isSystemd = (pid: number): boolean =>
  unlessGone(() => readlinkSync(`/proc/${pid}/exe`)).endsWith('/systemd');

/**
 * Finds the node's systemd among the descendants of `ancestor`. It is PID 1, two PID namespaces below ours.
 * The keeper makes the first of them, and nspawn the second.
 */
export function findLeader(ancestor: number): number | undefined {
  const depth = idsOf('self').length + 2;
  const candidates = [ancestor];
  for (let pid = candidates.shift(); pid !== undefined; pid = candidates.shift()) {
    const ids = idsOf(pid);
    if (ids.length === depth && ids.at(-1) === 1 && isSystemd(pid)) return pid;
    candidates.push(...childrenOf(pid));
  }
  return undefined;
}

/** Unpacking a package took two minutes on a machine where thirty processes shared two cores. */
const COMMAND_DEADLINE_MS = 300_000;
/** Longer output of a command is cut. No test needs longer output. */
const OUTPUT_LIMIT_BYTES = 8 << 20;

export interface Ran {
  /** Null when a signal ended the command. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Writes `input` to the child, and resolves when the child has ended. Rejects if the child could not be
 * started. Kills the child at the deadline, and rejects.
 */
export function toTheEnd(child: ChildProcessWithoutNullStreams, input?: string | Buffer): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const output = { stdout: '', stderr: '' };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(
        new Error(`no end in ${COMMAND_DEADLINE_MS} ms: ${child.spawnargs.join(' ')}\n${output.stderr}`),
      );
    }, COMMAND_DEADLINE_MS);
    for (const name of ['stdout', 'stderr'] as const) {
      child[name].setEncoding('utf8');
      child[name].on('data', (text: string) => {
        if (output[name].length < OUTPUT_LIMIT_BYTES) output[name] += text;
      });
    }
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ status, ...output });
    });
    // A command may end before it has read its input. Writing then fails, but only the status matters.
    child.stdin.on('error', () => child.stdin.destroy());
    child.stdin.end(input);
  });
}
