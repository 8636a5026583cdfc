// The built daemon under a fuzzer: it must answer at any time, and have back in the end what it had at the beginning.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { Daemon, type DaemonOptions, type Health } from '../contract/daemon.js';
import { until } from '../until.js';

/** Threads of libuv and V8 that come with the first work of their kind, and files that a backend happens to hold. */
const SLACK = 8;
/** A backend whose threads died too often rests for 60 s (docs/http-api.md, "Backends that are away"). */
const RECOVERY_MS = 90_000;

const countOf = (pid: number, what: 'fd' | 'task'): number => readdirSync(`/proc/${pid}/${what}`).length;

export class Survivor {
  readonly daemon: Daemon;
  readonly #backends: readonly string[];
  readonly #descriptors: number;
  readonly #threads: number;

  private constructor(daemon: Daemon, backends: readonly string[]) {
    this.daemon = daemon;
    this.#backends = backends;
    this.#descriptors = countOf(daemon.pid, 'fd');
    this.#threads = countOf(daemon.pid, 'task');
  }

  /** Begins when these backends are up. */
  static async start(options: DaemonOptions, backends: readonly string[]): Promise<Survivor> {
    const daemon = await Daemon.start(options);
    for (const name of backends) await daemon.backend(name, 'up');
    return new Survivor(daemon, backends);
  }

  /** Whatever happens to it just now. */
  async answers(): Promise<Health> {
    assert.ok(this.daemon.alive(), `the daemon has ended\n${this.daemon.log.slice(-4000)}`);
    assert.equal((await this.daemon.get('/server')).status, 200);
    return this.daemon.read<Health>('/health');
  }

  /** Every backend is up again, nothing has failed inside, and descriptors and threads are as many as at first. */
  async recovers(): Promise<void> {
    await until(
      'every backend is up again',
      async () => {
        const health = await this.answers();
        const down = this.#backends.filter((name) => health.backends[name]?.state !== 'up');
        if (down.length > 0) {
          throw new Error(down.map((name) => `${name}: ${JSON.stringify(health.backends[name])}`).join(', '));
        }
        return true;
      },
      RECOVERY_MS,
    );
    assert.doesNotMatch(this.daemon.log, /a request failed inside the gateway|could not be answered/);
    await until('descriptors and threads are as few as before', () => {
      const [files, threads] = [countOf(this.daemon.pid, 'fd'), countOf(this.daemon.pid, 'task')];
      if (files <= this.#descriptors + SLACK && threads <= this.#threads + SLACK) return true;
      throw new Error(
        `${files} files, at first ${this.#descriptors}; ${threads} threads, at first ${this.#threads}`,
      );
    });
  }
}
