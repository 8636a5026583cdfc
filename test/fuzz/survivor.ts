// The built daemon under a fuzzer: it must answer at any time. In the end all backends must be up, and the
// daemon must have hardly more descriptors and threads than at the beginning.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { Daemon, type DaemonOptions, type Health } from '../contract/daemon.js';
import { until } from '../until.js';

/**
 * At the end the daemon may have this many more threads than at the beginning, and as many more descriptors.
 * libuv and V8 start some threads only when they need them, and a backend may have a file open while the
 * test counts.
 */
const EXTRA_MAX = 8;
/** A backend whose threads died too often rests for 60 s (docs/http-api.md, "Backends that are away"). */
const RECOVERY_MS = 90_000;

const countOf = (pid: number, folder: 'fd' | 'task'): number => readdirSync(`/proc/${pid}/${folder}`).length;

/** Starts the daemon, and resolves when these backends are up. */
export async function startSurvivor(options: DaemonOptions, backends: readonly string[]) {
  const daemon = await Daemon.start(options);
  for (const name of backends) await daemon.untilBackend(name, 'up');
  const descriptorsAtStart = countOf(daemon.pid, 'fd');
  const threadsAtStart = countOf(daemon.pid, 'task');
  /** Demands that the daemon lives and answers; resolves with its health. */
  const answers = async (): Promise<Health> => {
    assert.ok(daemon.isAlive(), `the daemon has ended\n${daemon.log.slice(-4000)}`);
    assert.equal((await daemon.get('/server')).status, 200);
    return daemon.read<Health>('/health');
  };
  /**
   * Waits until every backend is up again, and descriptors and threads are about as few as at the beginning
   * (EXTRA_MAX). Demands that no request has failed inside the daemon.
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
      const descriptors = countOf(daemon.pid, 'fd');
      const threads = countOf(daemon.pid, 'task');
      const hasFewDescriptors = descriptors <= descriptorsAtStart + EXTRA_MAX;
      const hasFewThreads = threads <= threadsAtStart + EXTRA_MAX;
      if (hasFewDescriptors && hasFewThreads) return true;
      throw new Error(
        `${descriptors} descriptors, at first ${descriptorsAtStart}; ${threads} threads, at first ${threadsAtStart}`,
      );
    });
  };
  return { daemon, answers, recovers };
}
