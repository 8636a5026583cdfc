// Starts programs that run during a test. They die with the test's process, even if that process is killed.
// Their output goes to a file. A program that the test forgets does not keep the test's process alive.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';

const TERMINATION_DEADLINE_MS = 5000;

export type Environment = Readonly<Record<string, string>>;

export type Program = ReturnType<typeof startProgram>;

export interface ProgramOptions {
  readonly env: Environment;
  /** File that takes standard output and standard error. */
  readonly log: string;
  /** File to read standard input from. */
  readonly stdin?: string;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

async function endProgram(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  await new Promise<void>((resolve) => {
    const deadline = setTimeout(() => child.kill('SIGKILL'), TERMINATION_DEADLINE_MS);
    child.once('exit', () => {
      clearTimeout(deadline);
      resolve();
    });
    child.kill(signal);
    // A program that SIGSTOP has stopped takes no other signal than KILL until it continues.
    child.kill('SIGCONT');
  });
}

/**
 * @throws {Error} if setpriv cannot be started. If setpriv does not find `command`, setpriv ends at once, so
 * that `alive` returns false.
 */
export function startProgram(command: string, args: readonly string[], options: ProgramOptions) {
  const output = openSync(options.log, 'a', 0o600);
  const input = options.stdin === undefined ? 'ignore' : openSync(options.stdin, 'r');
  try {
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
      env: options.env,
      stdio: [input, output, output],
    });
    const { pid } = child;
    if (pid === undefined) throw new Error('setpriv (package util-linux) could not be started');
    // Only a call that waits for the program's end keeps the test's process alive (`child.ref`).
    child.unref();
    return {
      name: command,
      pid,
      /** False after the program has ended. */
      alive: () => !hasEnded(child),
      signal: (signal: NodeJS.Signals) => void child.kill(signal),
      /** Resolves when the program has ended, with its exit status or the signal that has ended it. */
      status: async (): Promise<number | NodeJS.Signals | null> => {
        child.ref();
        if (!hasEnded(child)) await once(child, 'exit');
        return child.exitCode ?? child.signalCode;
      },
      /** Sends a signal, and waits until the program has ended. After 5 s the program is killed. */
      end: (signal: NodeJS.Signals = 'SIGTERM') => endProgram(child, signal),
    };
  } finally {
    closeSync(output);
    if (typeof input === 'number') closeSync(input);
  }
}
