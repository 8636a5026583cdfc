// The built daemon under a fuzzer: it must answer at any time, and in the end it must have the backends,
// descriptors and threads that it had at the beginning.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { Daemon, type DaemonOptions, type Health } from '../contract/daemon.js';
import { until } from '../until.js';

/**
 * The daemon may have so many more than at the beginning: threads that libuv and V8 start when they need them
 * first, and files that a backend has open just then.
 */
const SLACK = 8;
/** A backend whose threads died too often rests for 60 s (docs/http-api.md, "Backends that are away"). */
const RECOVERY_MS = 90_000;

const countOf = (pid: number, what: 'fd' | 'task'): number => readdirSync(`/proc/${pid}/${what}`).length;

/** Resolves when these backends are up. */
export async function startSurvivor(options: DaemonOptions, backends: readonly string[]) {
  const daemon = await Daemon.start(options);
  for (const name of backends) await daemon.backend(name, 'up');
  const descriptors = countOf(daemon.pid, 'fd');
  const tasks = countOf(daemon.pid, 'task');
  /** Demands that the daemon lives and answers; resolves with its health. */
  const answers = async (): Promise<Health> => {
    assert.ok(daemon.alive(), `the daemon has ended\n${daemon.log.slice(-4000)}`);
    assert.equal((await daemon.get('/server')).status, 200);
    return daemon.read<Health>('/health');
  };
  /**
   * Waits until every backend is up again, and descriptors and threads are as few as at the beginning.
   * Demands that no request has failed inside the daemon.
   */
  const recovers = async (): Promise<void> => {
    await until(
      'every backend is up again',
      async () => {
        const health = await answers();
        const down = backends.filter((name) => health.backends[name]?.state !== 'up');
        if (down.length === 0) return true;
        throw new Error(down.map((name) => `${name}: ${JSON.stringify(health.backends[name])}`).join(', '));
      },
      RECOVERY_MS,
    );
    assert.doesNotMatch(daemon.log, /a request failed inside the gateway|could not be answered/);
    await until('descriptors and threads are as few as before', () => {
      const files = countOf(daemon.pid, 'fd');
      const threads = countOf(daemon.pid, 'task');
      if (files <= descriptors + SLACK && threads <= tasks + SLACK) return true;
      throw new Error(`${files} files, at first ${descriptors}; ${threads} threads, at first ${tasks}`);
    });
  };
  return { daemon, answers, recovers };
}
