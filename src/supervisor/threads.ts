// Threads for actors, from piscina: one pool, one endless task per thread, one actor in a thread's life. The only file
// that knows piscina; it decides nothing about restarts.

import type { Worker } from 'node:worker_threads';
import { Piscina, type PiscinaTask, queueOptionsSymbol } from 'piscina';
import type { ActorTask } from '../protocol/actor/port.js';
import type { Clock } from './clock.js';
import { type Death, deathOf, RETURNED } from './death.js';

export interface HeapLimits {
  readonly maxOldGenerationSizeMb: number;
}

/**
 * A guard against a leak, not a budget: an idle actor's isolate takes about 8 MB (measured) and a record some kB, so 64 MB
 * is never needed, and a leak ends one thread instead of a node of 512 MB. V8 counts only its own heap: Buffers lie outside (300 MB of them were seen
 * under a limit of 32 MB), so every actor bounds its own buffers.
 */
export const HEAP_LIMITS: HeapLimits = { maxOldGenerationSizeMb: 64 };

/** A killed thread is gone within milliseconds, unless it is stuck in a system call: then it is left behind. */
const GONE_WITHIN_MS = 250;

export interface Thread {
  /** Fulfils, and never rejects, once the task has ended and its thread has gone. */
  readonly ended: Promise<Death>;
  /** Ends the thread wherever it is; its task then ends for `reason`. */
  kill(reason: string): void;
  /** Starts a measurement of the event loop. */
  measure(): void;
  /** Utilisation of the event loop since `measure`, 0..1; undefined when the task has no thread yet. */
  utilization(): number | undefined;
}

/** Filled in when the pool gives the task a thread, which may be later than `run()`. */
interface Placement {
  worker?: Worker;
}

type Utilization = ReturnType<Worker['performance']['eventLoopUtilization']>;

export class Threads {
  readonly #pool: Piscina<ActorTask<unknown>, void>;
  /** A thread that has held an actor is never given another: timers of the dead one may still run in it. */
  readonly #used = new WeakSet<Worker>();
  readonly #clock: Clock;
  readonly #strays: unknown[] = [];
  #tellStray: (error: unknown) => void = (error) => this.#strays.push(error);

  /**
   * `count` is the number of actors at most. The first thread boots at once, on another core than whatever the caller does
   * before the first `run`: reading the configuration takes as long as a thread's start (16 ms of 87 to the first answer, measured).
   */
  constructor(count: number, limits: HeapLimits, clock: Clock) {
    this.#clock = clock;
    this.#pool = new Piscina({
      minThreads: 1,
      maxThreads: Math.max(count, 1),
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Otherwise a thread between tasks waits in Atomics.wait and runs no timers.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: limits,
      loadBalancer: (task, workers) => workers.find(({ id }) => this.#place(task, id)) ?? null,
    });
    this.#pool.on('error', (error) => this.#tellStray(error));
  }

  /** `tell` hears of errors of threads that hold no task, also of those that came before it. */
  onStrayError(tell: (error: unknown) => void): void {
    this.#tellStray = tell;
    for (const error of this.#strays.splice(0)) tell(error);
  }

  /** Runs the default export of the file `entry` in a thread of its own. `task.port` moves there. */
  run(entry: string, task: ActorTask<unknown>): Thread {
    const placement: Placement = {};
    const killer = new AbortController();
    let reason: string | undefined;
    // The file goes to run() and not to the pool: with the pool, run() never settles when the module throws as it loads.
    const run = this.#pool.run(Object.assign({ [queueOptionsSymbol]: placement }, task), {
      filename: entry,
      signal: killer.signal,
      transferList: [task.port],
    });
    const death = run.then(() => RETURNED, deathOf);
    let mark: Utilization | undefined;
    return {
      ended: death.then(async (natural) => {
        await this.#gone(placement.worker);
        return reason === undefined ? natural : { reason };
      }),
      kill: (why) => {
        reason ??= why;
        killer.abort();
      },
      measure: () => {
        mark = placement.worker?.performance.eventLoopUtilization();
      },
      utilization: () => placement.worker?.performance.eventLoopUtilization(mark).utilization,
    };
  }

  /** Ends what is left, such as threads that were made and not needed. Fulfils in any case. */
  async close(): Promise<void> {
    await this.#within(GONE_WITHIN_MS, this.#pool.destroy());
  }

  /** Whether the thread `id` is fresh; then it is taken for `task`. */
  #place(task: PiscinaTask, id: number): boolean {
    const worker = this.#pool.threads.find(({ threadId }) => threadId === id);
    if (worker === undefined || this.#used.has(worker)) return false;
    this.#used.add(worker);
    const placement: Placement | null = task[queueOptionsSymbol];
    if (placement !== null) placement.worker = worker;
    return true;
  }

  /** A task's end is not its thread's: a module that throws as it loads, or a `start` that throws, leaves the thread alive. */
  async #gone(worker: Worker | undefined): Promise<void> {
    if (worker !== undefined) await this.#within(GONE_WITHIN_MS, worker.terminate());
  }

  async #within(ms: number, end: Promise<unknown>): Promise<void> {
    let cancel: (() => void) | undefined;
    const deadline = new Promise<void>((resolve) => {
      cancel = this.#clock.after(ms, resolve);
    });
    await Promise.race([end, deadline]);
    cancel?.();
  }
}
