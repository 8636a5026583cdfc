// Child processes that cannot outlive this process, not even when it is killed. Knows nothing of what they run.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';

const SETPRIV = '/usr/bin/setpriv';

/**
 * Like spawn(), but the kernel sends `deathSignal` to the child when this process ends, however it ends.
 * Without setpriv (part of every Debian) it is a plain spawn.
 */
export function spawnBound(command, args, { deathSignal = 'KILL', ...options } = {}) {
  return existsSync(SETPRIV)
    ? spawn(SETPRIV, ['--pdeathsig', deathSignal, '--', command, ...args], options)
    : spawn(command, args, options);
}

/** How a child ended: its status, or 128 and the signal's number as a shell has it; 127 when it could not be started. */
export function ending(child) {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ status: 127, reason: error.message }));
    child.once('exit', (code, signal) =>
      resolve(
        signal === null
          ? { status: code, reason: `status ${code}` }
          : { status: 128 + constants.signals[signal], reason: signal },
      ),
    );
  });
}
