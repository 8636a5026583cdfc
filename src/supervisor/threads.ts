// Threads for actors, from piscina: one pool per thread, with one endless task that runs one actor; and why a
// thread ended. The only file that knows piscina; it does not decide about restarts.

import type { ResourceLimits, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type Clock, within } from '../host/clock.js';
import { errorText } from '../printable.js';
import type { ActorTask } from '../protocol/actor/messages.js';

/** How a thread ended. `stack` is for the log only. */
export interface Death {
  readonly reason: string;
  readonly stack?: string;
}

/** An actor's `run()` resolved although it was not asked to stop. */
export const RETURNED: Death = { reason: 'returned without being asked to' };

const REASON_CHARS_MAX = 200;
/** The text of piscina 5.3 (measured). */
const EXIT_MESSAGE = /^worker exited with code: (-?\d+)$/;

/**
 * A guard against leaks, not a budget: an idle actor's isolate takes about 8 MB (measured) and a record a few
 * kB, so 64 MB is never needed, and a leak ends one thread instead of a node of 512 MB. V8 counts only its
 * own heap without Buffers (300 MB of them were measured under a limit of 32 MB), so every actor bounds its
 * own buffers. Without a limit V8 lets a busy thread's young generation grow to 32 MB and does not shrink it
 * at rest: that was half of the memory left after a storm. 3 MB are three semi-spaces of 1 MB, as V8 chooses
 * itself under the unit's MemoryMax=; a storm and a change cost as much CPU with it as with 16 MB (measured).
 */
export const HEAP_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 3 };

/**
 * A killed thread ends within milliseconds, unless it is stuck in a system call, for instance on a network
 * disk that hangs.
 */
const GONE_WITHIN_MS = 250;
/**
 * Stuck threads per actor. Each keeps its memory, and the next would most likely be stuck for the same
 * reason.
 */
const STUCK_MAX_THREADS = 3;

export interface Thread {
  /** Resolves, and never rejects, when the task and its thread have ended. */
  readonly ended: Promise<Death>;
  /** Ends the thread wherever it is; `reason` becomes the reason of its death. */
  kill(reason: string): void;
  measure(): void;
  /** Utilization of the event loop since `measure`, 0..1; undefined if the task has no thread yet. */
  utilization(): number | undefined;
}

type Task = ActorTask<unknown>;

/**
 * A pool for one thread. A common pool costs as much (84.6 MB and 84.7, measured), but if a thread cannot be
 * created, piscina 5.3 keeps its task, gives it to the next thread, and throws an exception out of the event
 * loop.
 */
class Pool {
  readonly #pool: Piscina<Task | undefined, void>;
  /** A thread that dies before it takes its task does not settle the task (measured). */
  readonly #diedEarly: Promise<Death>;

  /** The thread boots at once, and calls the `warmUp` of the file `warmFor`, if that is given. */
  constructor(limits: ResourceLimits, warmFor?: string) {
    this.#pool = new Piscina({
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Otherwise an idle thread blocks in Atomics.wait and runs no timers.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: limits,
    });
    this.#diedEarly = new Promise((resolve) => {
      this.#pool.on('error', (error: unknown) => resolve(deathOf(error)));
      if (warmFor === undefined) return;
      // piscina reports the end of a thread to the task that runs, not to tasks that wait for it (measured).
      this.#settled(warmFor, 'warmUp').then((death) => {
        if (death !== RETURNED) resolve(death);
      });
    });
  }

  /** Undefined if the system has refused the thread, and before the first task. */
  get worker(): Worker | undefined {
    return this.#pool.threads[0];
  }

  /**
   * Runs the default export of the file `entry`. Never rejects: a thread that cannot be created counts as a
   * death too.
   */
  run(entry: string, task: Task, signal: AbortSignal): Promise<Death> {
    return Promise.race([this.#diedEarly, this.#settled(entry, 'default', task, signal)]);
  }

  async #settled(entry: string, name: string, task?: Task, signal?: AbortSignal): Promise<Death> {
    try {
      // The file name is given to run(): if the pool has it, run() never settles when the module throws while
      // it loads.
      await this.#pool.run(task, {
        filename: entry,
        name,
        ...(signal === undefined ? {} : { signal }),
        ...(task === undefined ? {} : { transferList: [task.port] }),
      });
      return RETURNED;
    } catch (error) {
      return deathOf(error);
    }
  }
}

export class Threads {
  readonly #limits: ResourceLimits;
  readonly #clock: Clock;
  /** Threads that run a task or were asked to end, with the entries that they run. */
  readonly #living = new Map<Worker, string>();
  /**
   * The ends, which may never happen, of threads that are still there long after they were asked to end; with
   * their entries.
   */
  readonly #late = new Map<Promise<unknown>, string>();
  /** A thread that boots for `entry` before its task is known. */
  #preloaded: { readonly entry: string; readonly pool: Pool } | undefined;

  constructor(limits: ResourceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * True if a thread that was asked to end is still there. Node cannot end the process then: it waits for the
   * thread (measured).
   */
  get stuck(): boolean {
    return this.#late.size > 0;
  }

  /** Resolves when no thread is stuck: on a busy processor a thread may only be late. */
  async unstuck(): Promise<void> {
    await Promise.all(this.#late.keys());
  }

  /**
   * Boots a thread for the next `run` of `entry`, and calls its `warmUp`. Meanwhile the caller can work on
   * another core: reading the configuration takes as long (16 ms of 87 until the first answer, measured).
   */
  preload(entry: string): void {
    this.#preloaded = { entry, pool: new Pool(this.#limits, entry) };
  }

  /**
   * Runs the default export of the file `entry` in its own thread. `task.port` is transferred to it. Never
   * throws.
   */
  run(entry: string, task: Task): Thread {
    const stuck = [...this.#late.values()].filter((of) => of === entry).length;
    if (stuck >= STUCK_MAX_THREADS) return noThread(`${stuck} earlier threads are still stuck`);
    const pool = this.#takePreloaded(entry) ?? new Pool(this.#limits);
    const killer = new AbortController();
    const ran = pool.run(entry, task, killer.signal);
    const { worker } = pool;
    if (worker !== undefined) this.#living.set(worker, entry);
    let reason: string | undefined;
    let mark: ReturnType<Worker['performance']['eventLoopUtilization']> | undefined;
    return {
      ended: ran.then(async (natural) => {
        await this.#gone(entry, worker);
        return reason === undefined ? natural : { reason };
      }),
      kill: (why) => {
        reason ??= why;
        killer.abort();
      },
      measure: () => {
        mark = worker?.performance.eventLoopUtilization();
      },
      utilization: () => worker?.performance.eventLoopUtilization(mark).utilization,
    };
  }

  /** Ends the preloaded thread, unless a `run` has taken it. */
  async endPreloaded(): Promise<void> {
    const preloaded = this.#preloaded;
    this.#preloaded = undefined;
    if (preloaded !== undefined) await this.#gone(preloaded.entry, preloaded.pool.worker);
  }

  /** Ends every thread, whatever it does. Resolves when they have ended, or are known to be stuck. */
  async endAll(): Promise<void> {
    const living = [...this.#living].map(([worker, entry]) => this.#gone(entry, worker));
    await Promise.all([this.endPreloaded(), ...living]);
  }

  /** A thread that was preloaded for another entry is ended, because its module may have had effects. */
  #takePreloaded(entry: string): Pool | undefined {
    const preloaded = this.#preloaded;
    if (preloaded?.entry !== entry) {
      void this.endPreloaded();
      return undefined;
    }
    this.#preloaded = undefined;
    return preloaded.pool;
  }

  /**
   * The end of a task does not end its thread: if a module throws while it loads, or `start` throws, the
   * thread stays alive.
   */
  async #gone(entry: string, worker: Worker | undefined): Promise<void> {
    if (worker === undefined) return;
    const gone = worker.terminate().then(() => this.#living.delete(worker));
    if ((await within(this.#clock, GONE_WITHIN_MS, gone)) !== undefined) return;
    this.#late.set(gone, entry);
    void gone.then(() => this.#late.delete(gone));
  }
}

function noThread(reason: string): Thread {
  const nothing = () => undefined;
  return { ended: Promise.resolve({ reason }), kill: nothing, measure: nothing, utilization: nothing };
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}...` : line;
}

/** `error` may be anything that an actor throws. */
export function deathOf(error: unknown): Death {
  if (!(error instanceof Error)) return { reason: firstLine(`threw ${errorText(error)}`) };
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'out of memory' };
  const exit = EXIT_MESSAGE.exec(error.message);
  if (exit) return { reason: `exit code ${exit[1]}` };
  const reason = firstLine(errorText(error));
  return error.stack === undefined ? { reason } : { reason, stack: error.stack };
}
