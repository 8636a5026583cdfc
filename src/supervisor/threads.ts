// Starts and ends the threads of actors, and decides which reason is reported for the end of a thread. Only
// this file uses the library piscina, which calls the work of a thread a *task*.

import type { ResourceLimits, Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type Clock, within } from '../host/clock.js';
import { clipped, errorText } from '../printable.js';
import type { ActorTask } from '../protocol/actor/messages.js';

/** Why a thread has ended. `stack` is for the log only. */
export interface Death {
  readonly reason: string;
  readonly stack?: string;
}

/**
 * The end of a thread whose task has resolved. If the thread had to stop, this end is expected. Otherwise it
 * counts as a death with this reason.
 */
export const RETURNED: Death = { reason: 'returned without being asked to' };

const REASON_MAX_CHARACTERS = 200;
/**
 * The message of piscina 5.3 for a thread that ended itself, such as `worker exited with code: 1`
 * (docs/development/what-we-learnt.md, "piscina and pino").
 */
const EXIT_MESSAGE = /^worker exited with code: (-?\d+)$/;

/**
 * With a limit of the old generation, a leak ends only the thread that leaks, and does not fill the 512 MB of
 * a small node. A thread without a leak never needs 64 MB: an idle thread takes 6 to 8 MB (bench/FIGURES.md,
 * "Memory at rest"), and a record takes a few kB. V8 does not count Buffers, so every actor bounds its own
 * Buffers (what-we-learnt.md, "Node and V8").
 *
 * Without a limit, the young generation of a busy thread grows to 32 MB and does not shrink at rest. The
 * limit saves 30 MB after a storm (10 s of changes without a pause). The limit of 3 MB means three
 * semi-spaces of 1 MB. In tonearm.service V8 would choose this size by itself, because of MemoryMax=. Without
 * this unit V8 would choose a larger size. With 16 MB instead of 3 MB, neither a storm nor a single change
 * costs less CPU (bench/FIGURES.md, "After a storm").
 */
export const HEAP_LIMITS: ResourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 3 };

/**
 * A killed thread usually ends within a few milliseconds. A thread that takes longer than this time counts as
 * stuck: it is probably in a system call that does not return, for instance on a network disk that hangs.
 */
const GONE_WITHIN_MS = 250;
/**
 * If this many threads of one actor are stuck, no further thread of this actor is started. A further thread
 * would probably get stuck for the same reason, and each stuck thread keeps its memory.
 */
const STUCK_MAX_THREADS = 3;

export interface Thread {
  /** Resolves when the task has ended, and its thread has ended or counts as stuck. Never rejects. */
  readonly ended: Promise<Death>;
  /** Ends the thread, even if it is busy. The first call's `reason` becomes the reason of the death. */
  kill(reason: string): void;
  /** Begins to measure the utilization of the thread's event loop. */
  measure(): void;
  /** The utilization since the last `measure` or the start, 0..1; undefined if no thread was created. */
  utilization(): number | undefined;
}

type Task = ActorTask<unknown>;

/**
 * A pool for one thread, which runs one actor. A common pool for all threads would not save memory
 * (docs/development/what-we-learnt.md, "piscina and pino"). If a thread could not be created, a common pool
 * of piscina 5.3 would give the task of this thread to the next thread, and throw an exception that nobody
 * can catch.
 */
class Pool {
  readonly #pool: Piscina<Task | undefined, void>;
  /** Resolves if the thread dies before it takes its task. Piscina does not settle the task then. */
  readonly #diedEarly: Promise<Death>;

  /** With a `warmUpFile`, the thread boots at once and calls the function `warmUp` that this file exports. */
  constructor(limits: ResourceLimits, warmUpFile?: string) {
    this.#pool = new Piscina({
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // With atomics, an idle thread would block in Atomics.wait and run no timers.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: limits,
    });
    this.#diedEarly = new Promise((resolve) => {
      this.#pool.on('error', (error: unknown) => resolve(deathOf(error)));
      if (warmUpFile === undefined) return;
      // If the thread dies during the warm-up, piscina rejects only the warm-up's task. The actor's task may
      // already wait for the thread, and would never settle.
      this.#runTask(warmUpFile, 'warmUp').then((death) => {
        // A warm-up without an error ends with `RETURNED`.
        if (death !== RETURNED) resolve(death);
      });
    });
  }

  /** Undefined before the first task, and if the system has refused to create the thread. */
  get worker(): Worker | undefined {
    return this.#pool.threads[0];
  }

  /** Runs the default export of the file. Never rejects, even if the thread cannot be created. */
  run(actorFile: string, task: Task, signal: AbortSignal): Promise<Death> {
    return Promise.race([this.#diedEarly, this.#runTask(actorFile, 'default', task, signal)]);
  }

  async #runTask(actorFile: string, exportName: string, task?: Task, signal?: AbortSignal): Promise<Death> {
    try {
      const signalIfAny = signal === undefined ? {} : { signal };
      const transferIfAny = task === undefined ? {} : { transferList: [task.port] };
      // The file name must not be an option of the pool. If it were, run() would never settle when the module
      // throws while it loads.
      await this.#pool.run(task, { filename: actorFile, name: exportName, ...signalIfAny, ...transferIfAny });
      return RETURNED;
    } catch (error) {
      return deathOf(error);
    }
  }
}

type Utilization = ReturnType<Worker['performance']['eventLoopUtilization']>;

/** A thread that runs an actor. */
class ActorThread implements Thread {
  /** Undefined if the system has refused to create the thread. */
  readonly worker: Worker | undefined;
  readonly ended: Promise<Death>;
  readonly #killer = new AbortController();
  #killReason: string | undefined;
  #measuredFrom: Utilization | undefined;

  /** `terminate` resolves when the worker has ended, or counts as stuck. */
  constructor(
    pool: Pool,
    actorFile: string,
    task: Task,
    terminate: (worker: Worker | undefined) => Promise<void>,
  ) {
    const taskEnded = pool.run(actorFile, task, this.#killer.signal);
    // `run` has created the worker if the pool had none.
    this.worker = pool.worker;
    this.ended = taskEnded.then(async (death) => {
      await terminate(this.worker);
      return this.#killReason === undefined ? death : { reason: this.#killReason };
    });
  }

  kill(reason: string): void {
    this.#killReason ??= reason;
    this.#killer.abort();
  }

  measure(): void {
    this.#measuredFrom = this.worker?.performance.eventLoopUtilization();
  }

  utilization(): number | undefined {
    return this.worker?.performance.eventLoopUtilization(this.#measuredFrom).utilization;
  }
}

export class Threads {
  readonly #limits: ResourceLimits;
  readonly #clock: Clock;
  /** Threads that have got a task and have not ended, each with the file that it runs. */
  readonly #living = new Map<Worker, string>();
  /** The files that stuck threads run. Each key is a promise of a thread's end, which may never come. */
  readonly #stuck = new Map<Promise<unknown>, string>();
  /** A thread that boots before its task is known. */
  #preloaded: { readonly actorFile: string; readonly pool: Pool } | undefined;

  constructor(limits: ResourceLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** While a thread is stuck, Node cannot end the process, because Node waits for the thread. */
  get hasStuck(): boolean {
    return this.#stuck.size > 0;
  }

  /**
   * Resolves when all threads that now count as stuck have ended. They may end soon, because on a busy
   * processor even a thread that is only late counts as stuck.
   */
  async whenNoneIsStuck(): Promise<void> {
    await Promise.all(this.#stuck.keys());
  }

  /**
   * Boots a thread for the next `run` of this file, and calls the file's `warmUp`. The caller reads the
   * configuration while the thread boots on another core. Both take the same time
   * (bench/FIGURES.md, "The start").
   */
  preload(actorFile: string): void {
    this.#preloaded = { actorFile, pool: new Pool(this.#limits, actorFile) };
  }

  /** Runs the default export of the file in a thread, to which `task.port` is transferred. Never throws. */
  run(actorFile: string, task: Task): Thread {
    const stuckCount = [...this.#stuck.values()].filter((stuckFile) => stuckFile === actorFile).length;
    if (stuckCount >= STUCK_MAX_THREADS)
      return refusedThread(`${stuckCount} earlier threads are still stuck`);
    const pool = this.#takePreloaded(actorFile) ?? new Pool(this.#limits);
    const thread = new ActorThread(pool, actorFile, task, (worker) => this.#terminate(actorFile, worker));
    if (thread.worker !== undefined) this.#living.set(thread.worker, actorFile);
    return thread;
  }

  /** Ends the preloaded thread. Does nothing if there is none, or if a `run` has taken it. */
  async endPreloaded(): Promise<void> {
    const preloaded = this.#preloaded;
    this.#preloaded = undefined;
    if (preloaded !== undefined) await this.#terminate(preloaded.actorFile, preloaded.pool.worker);
  }

  /** Ends all threads, even busy ones. Resolves when each thread has ended, or counts as stuck. */
  async endAll(): Promise<void> {
    const living = [...this.#living].map(([worker, actorFile]) => this.#terminate(actorFile, worker));
    await Promise.all([this.endPreloaded(), ...living]);
  }

  /**
   * Returns undefined if no thread was preloaded for this file. A thread that was preloaded for another file
   * is ended. It must not run this file, because the other file's module may have changed the thread's state.
   */
  #takePreloaded(actorFile: string): Pool | undefined {
    const preloaded = this.#preloaded;
    if (preloaded?.actorFile !== actorFile) {
      void this.endPreloaded();
      return undefined;
    }
    this.#preloaded = undefined;
    return preloaded.pool;
  }

  /**
   * Resolves when the thread has ended, or counts as stuck. A thread stays alive after the end of its task,
   * even if the task has failed.
   */
  async #terminate(actorFile: string, worker: Worker | undefined): Promise<void> {
    if (worker === undefined) return;
    const end = worker.terminate().then(() => this.#living.delete(worker));
    // `end` resolves with a boolean. So `within` resolves with undefined only if the thread takes too long.
    const hasEnded = (await within(this.#clock, GONE_WITHIN_MS, end)) !== undefined;
    if (hasEnded) return;
    this.#stuck.set(end, actorFile);
    void end.then(() => this.#stuck.delete(end));
  }
}

function refusedThread(reason: string): Thread {
  const doNothing = () => undefined;
  return { ended: Promise.resolve({ reason }), kill: doNothing, measure: doNothing, utilization: doNothing };
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return clipped(line, REASON_MAX_CHARACTERS);
}

/** `error` may have any type, because an actor can throw anything. */
export function deathOf(error: unknown): Death {
  if (!(error instanceof Error)) return { reason: firstLine(`threw ${errorText(error)}`) };
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'out of memory' };
  const exitCode = EXIT_MESSAGE.exec(error.message)?.[1];
  if (exitCode !== undefined) return { reason: `exit code ${exitCode}` };
  const reason = firstLine(errorText(error));
  return error.stack === undefined ? { reason } : { reason, stack: error.stack };
}
