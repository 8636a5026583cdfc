// Starts and ends the threads of actors, and decides what is reported as the reason of an end. Each thread
// is a piscina pool of its own, whose only task runs one actor. Only this file knows piscina. It does not
// decide about restarts.

import type { ResourceLimits, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type Clock, within } from '../host/clock.js';
import { errorText } from '../printable.js';
import type { ActorTask } from '../protocol/actor/messages.js';

/** Why a thread has ended. `stack` is for the log only. */
export interface Death {
  readonly reason: string;
  readonly stack?: string;
}

/** The death of a thread whose task has resolved. After a requested stop this is no fault of the actor. */
export const RETURNED: Death = { reason: 'returned without being asked to' };

const REASON_CHARS_MAX = 200;
/** The message of piscina 5.3 for a thread that ended itself with an exit code (measured). */
const EXIT_MESSAGE = /^worker exited with code: (-?\d+)$/;

/**
 * The old generation's limit guards against leaks: an idle actor's isolate takes about 8 MB (measured) and a
 * record a few kB, so 64 MB are never needed, and a leak ends one thread instead of a node of 512 MB. V8
 * counts only its own heap, without Buffers (300 MB of them were measured under a limit of 32 MB), so every
 * actor bounds its own buffers.
 *
 * Without its own limit, the young generation of a busy thread grows to 32 MB and does not shrink at rest.
 * It was half of the memory left after a storm. 3 MB are three semi-spaces of 1 MB, which V8 also chooses
 * itself under the unit's MemoryMax=. A storm and a change cost as much CPU with 3 MB as with 16 MB
 * (measured).
 */
export const HEAP_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 3 };

/**
 * A killed thread ends within milliseconds, unless it is stuck in a system call, for instance on a network
 * disk that hangs.
 */
const GONE_WITHIN_MS = 250;
/**
 * If this many threads of one actor are stuck, no further one is started. Each stuck thread keeps its
 * memory, and a further one would most likely be stuck for the same reason.
 */
const STUCK_MAX_THREADS = 3;

export interface Thread {
  /** Resolves, and never rejects, when the task and its thread have ended. */
  readonly ended: Promise<Death>;
  /** Ends the thread wherever it is; `reason` becomes the reason of its death. */
  kill(reason: string): void;
  /** Begins to measure the utilization of the thread's event loop. */
  measure(): void;
  /** The utilization since the last `measure`, 0..1; undefined if the task never got a thread. */
  utilization(): number | undefined;
}

type Task = ActorTask<unknown>;

/**
 * A pool for one thread. A pool for all would not save memory (84.7 MB instead of 84.6, measured), and has a
 * fault: if a thread cannot be created, piscina 5.3 keeps its task, gives it to the next thread, and throws
 * an exception out of the event loop.
 */
class Pool {
  readonly #pool: Piscina<Task | undefined, void>;
  /** Needed because a thread that dies before it takes its task does not settle the task (measured). */
  readonly #diedEarly: Promise<Death>;

  /** The thread boots at once if `warmUpEntry` is given: it calls the `warmUp` of that file. */
  constructor(limits: ResourceLimits, warmUpEntry?: string) {
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
      if (warmUpEntry === undefined) return;
      // piscina reports the end of a thread to the task that runs, not to waiting tasks (measured).
      this.#settled(warmUpEntry, 'warmUp').then((death) => {
        if (death !== RETURNED) resolve(death);
      });
    });
  }

  /** Undefined if the system has refused the thread, and before the first task. */
  get worker(): Worker | undefined {
    return this.#pool.threads[0];
  }

  /**
   * Runs the default export of the file `entry`. Never rejects: a thread that cannot be created is a death.
   */
  run(entry: string, task: Task, signal: AbortSignal): Promise<Death> {
    return Promise.race([this.#diedEarly, this.#settled(entry, 'default', task, signal)]);
  }

  async #settled(entry: string, name: string, task?: Task, signal?: AbortSignal): Promise<Death> {
    try {
      // The file name is an argument of run(). If it were an option of the pool, run() would never settle
      // when the module throws while it loads.
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
  /** Threads that have got a task and have not ended, with the entries that they run. */
  readonly #living = new Map<Worker, string>();
  /** Stuck threads: the promise of the end of each, which may never settle, with the thread's entry. */
  readonly #stuck = new Map<Promise<unknown>, string>();
  /** A thread that boots for `entry` before its task is known. */
  #preloaded: { readonly entry: string; readonly pool: Pool } | undefined;

  constructor(limits: ResourceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * True if a thread did not end within the time for it. Node cannot end the process then, because it waits
   * for the thread (measured).
   */
  get hasStuck(): boolean {
    return this.#stuck.size > 0;
  }

  /** Resolves when all stuck threads have ended. On a busy processor a thread may only be late. */
  async whenNoneIsStuck(): Promise<void> {
    await Promise.all(this.#stuck.keys());
  }

  /**
   * Boots a thread for the next `run` of `entry`, and calls its `warmUp`. The caller reads the configuration
   * meanwhile, on another core. Each of the two takes 16 of the 87 ms until the first answer (measured).
   */
  preload(entry: string): void {
    this.#preloaded = { entry, pool: new Pool(this.#limits, entry) };
  }

  /** Runs the default export of `entry` in a thread, to which `task.port` is transferred. Never throws. */
  run(entry: string, task: Task): Thread {
    const stuck = [...this.#stuck.values()].filter((stuckEntry) => stuckEntry === entry).length;
    if (stuck >= STUCK_MAX_THREADS) return noThread(`${stuck} earlier threads are still stuck`);
    const pool = this.#takePreloaded(entry) ?? new Pool(this.#limits);
    const killer = new AbortController();
    const ran = pool.run(entry, task, killer.signal);
    const { worker } = pool;
    if (worker !== undefined) this.#living.set(worker, entry);
    let killReason: string | undefined;
    let measuredFrom: ReturnType<Worker['performance']['eventLoopUtilization']> | undefined;
    return {
      ended: ran.then(async (death) => {
        await this.#terminate(entry, worker);
        return killReason === undefined ? death : { reason: killReason };
      }),
      kill: (reason) => {
        killReason ??= reason;
        killer.abort();
      },
      measure: () => {
        measuredFrom = worker?.performance.eventLoopUtilization();
      },
      utilization: () => worker?.performance.eventLoopUtilization(measuredFrom).utilization,
    };
  }

  /** Ends the preloaded thread, unless a `run` has taken it. */
  async endPreloaded(): Promise<void> {
    const preloaded = this.#preloaded;
    this.#preloaded = undefined;
    if (preloaded !== undefined) await this.#terminate(preloaded.entry, preloaded.pool.worker);
  }

  /** Ends every thread, whatever it does. Resolves when they have ended, or are known to be stuck. */
  async endAll(): Promise<void> {
    const living = [...this.#living].map(([worker, entry]) => this.#terminate(entry, worker));
    await Promise.all([this.endPreloaded(), ...living]);
  }

  /**
   * Takes the preloaded thread if it is for `entry`. Else ends it, because its module may have had effects.
   */
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
   * Resolves when the thread has ended, or counts as stuck. Needed after each task, because the end of a task
   * does not end its thread: if a module throws while it loads, or `start` throws, the thread stays alive.
   */
  async #terminate(entry: string, worker: Worker | undefined): Promise<void> {
    if (worker === undefined) return;
    const end = worker.terminate().then(() => this.#living.delete(worker));
    if ((await within(this.#clock, GONE_WITHIN_MS, end)) !== undefined) return;
    this.#stuck.set(end, entry);
    void end.then(() => this.#stuck.delete(end));
  }
}

function noThread(reason: string): Thread {
  const doNothing = () => undefined;
  return { ended: Promise.resolve({ reason }), kill: doNothing, measure: doNothing, utilization: doNothing };
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}...` : line;
}

/** The death of a thread whose task failed with `error`, which may be anything that an actor throws. */
export function deathOf(error: unknown): Death {
  if (!(error instanceof Error)) return { reason: firstLine(`threw ${errorText(error)}`) };
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'out of memory' };
  const exit = EXIT_MESSAGE.exec(error.message);
  if (exit) return { reason: `exit code ${exit[1]}` };
  const reason = firstLine(errorText(error));
  return error.stack === undefined ? { reason } : { reason, stack: error.stack };
}
