// The built daemon under a fuzzer: it must answer at any time, and have back in the end what it had at the
// beginning.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { Daemon, type DaemonOptions, type Health } from '../contract/daemon.js';
import { until } from '../until.js';

/**
 * Threads of libuv and V8 that come with the first work of their kind, and files that a backend happens to
 * hold.
 */
const SLACK = 8;
/** A backend whose threads died too often rests for 60 s (docs/http-api.md, "Backends that are away"). */
const RECOVERY_MS = 90_000;

const countOf = (pid: number, what: 'fd' | 'task'): number => readdirSync(`/proc/${pid}/${what}`).length;

/** Begins when these backends are up. */
export async function startSurvivor(options: DaemonOptions, backends: readonly string[]) {
  const daemon = await Daemon.start(options);
  for (const name of backends) await daemon.backend(name, 'up');
  const descriptors = countOf(daemon.pid, 'fd');
  const tasks = countOf(daemon.pid, 'task');
  /** Whatever happens to it just now. */
  const answers = async (): Promise<Health> => {
    assert.ok(daemon.alive(), `the daemon has ended\n${daemon.log.slice(-4000)}`);
    assert.equal((await daemon.get('/server')).status, 200);
    return daemon.read<Health>('/health');
  };
  /**
   * Every backend is up again, nothing has failed inside, and descriptors and threads are as many as at
   * first.
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
