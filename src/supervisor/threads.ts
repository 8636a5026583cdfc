// Threads for actors, from piscina: a pool for each thread, one endless task in it, one actor in a thread's life; and why a
// thread ended. The only file that knows piscina; it decides nothing about restarts.

import type { Worker } from 'node:worker_threads';
import { Piscina } from 'piscina';
import { type Clock, within } from '../clock.js';
import type { ActorTask } from '../protocol/actor/messages.js';

/** How a thread ended. `stack` is for the log only. */
export interface Death {
  readonly reason: string;
  readonly stack?: string;
}

/** An actor's `run()` resolved although nobody asked it to stop. */
export const RETURNED: Death = { reason: 'returned without being asked to' };

const REASON_CHARS_MAX = 200;
/** Of piscina 5.3 (measured). */
const EXIT_MESSAGE = /^worker exited with code: (-?\d+)$/;

export interface HeapLimits {
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
}

/**
 * A guard against a leak, not a budget: an idle actor's isolate takes about 8 MB (measured) and a record some kB, so 64 MB
 * is never needed, and a leak ends one thread instead of a node of 512 MB. V8 counts only its own heap: Buffers lie outside (300 MB of them were seen
 * under a limit of 32 MB), so every actor bounds its own buffers.
 *
 * The young generation of a busy thread grows to 32 MB by V8's own measure, and nobody takes them back while it is at rest: they were half of
 * what a storm left behind. Three times a semi-space of 1 MB is what the unit's MemoryMax= makes of it; a storm and a change cost as much
 * CPU with it as with 16 MB (measured).
 */
export const HEAP_LIMITS: HeapLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 3 };

/** A killed thread is gone within milliseconds, unless it is stuck in a system call, as on a network disk that hangs. */
const GONE_WITHIN_MS = 250;
/** Threads of one actor that are stuck. Each holds its memory, and what held up the last one will hold up the next. */
const STUCK_MAX_THREADS = 3;

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

type Utilization = ReturnType<Worker['performance']['eventLoopUtilization']>;

/**
 * A pool for one thread. A pool for all would cost as much (84.6 MB and 84.7, measured), but piscina 5.3 keeps a task whose
 * thread could not be made, gives it to whichever thread comes next, and throws out of the event loop on the way.
 */
class Pool {
  readonly #pool: Piscina<ActorTask<unknown> | undefined, void>;
  /** A thread that dies before it takes its task settles no task (measured). */
  readonly #diedEarly: Promise<Death>;

  constructor(limits: HeapLimits) {
    this.#pool = new Piscina({
      minThreads: 0,
      maxThreads: 1,
      concurrentTasksPerWorker: 1,
      idleTimeout: Number.POSITIVE_INFINITY,
      // Otherwise a thread between tasks waits in Atomics.wait and runs no timers.
      atomics: 'disabled',
      recordTiming: false,
      resourceLimits: limits,
    });
    this.#diedEarly = new Promise((resolve) => {
      this.#pool.on('error', (error: unknown) => resolve(deathOf(error)));
    });
  }

  /** Undefined when the system has refused the thread, and before the first task. */
  get worker(): Worker | undefined {
    return this.#pool.threads[0];
  }

  /** Runs a function that the file `entry` exports. Never rejects: also a thread that cannot be had is a death. */
  run(entry: string, name: string, task?: ActorTask<unknown>, signal?: AbortSignal): Promise<Death> {
    return Promise.race([this.#diedEarly, this.#settled(entry, name, task, signal)]);
  }

  async #settled(
    entry: string,
    name: string,
    task: ActorTask<unknown> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Death> {
    try {
      // The file goes to run() and not to the pool: with the pool, run() never settles when the module throws as it loads.
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

/** A thread that boots for `entry` before its task is known. `failed` fulfils if it dies before, and never otherwise. */
interface Preloaded {
  readonly entry: string;
  readonly pool: Pool;
  readonly failed: Promise<Death>;
}

export class Threads {
  readonly #limits: HeapLimits;
  readonly #clock: Clock;
  /** Threads that run a task, or were to go; and whose they are. */
  readonly #living = new Map<Worker, string>();
  /** Entry -> how many of its threads were to go and are still there long after. */
  readonly #lingering = new Map<string, number>();
  /** Their ends, which may never come. */
  readonly #late = new Set<Promise<void>>();
  #preloaded: Preloaded | undefined;

  constructor(limits: HeapLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Whether a thread that was to go is still there. Node cannot end a process in which one is: it waits for it (measured). */
  get stuck(): boolean {
    return this.#lingering.size > 0;
  }

  /** Fulfils when none is: where many share the processor, a thread may only be late. */
  async unstuck(): Promise<void> {
    await Promise.all(this.#late);
  }

  /**
   * Boots a thread for the `run` of `entry` to come, and calls its `warmUp`. It boots on another core than whatever the caller
   * does meanwhile: reading the configuration takes as long (16 ms of 87 until the first answer, measured).
   */
  preload(entry: string): void {
    const pool = new Pool(this.#limits);
    const warm = pool.run(entry, 'warmUp');
    // piscina tells the end of a thread to the task that runs, not to those that wait for it (measured).
    const failed = new Promise<Death>((resolve) => {
      warm.then((death) => {
        if (death !== RETURNED) resolve(death);
      });
    });
    this.#preloaded = { entry, pool, failed };
  }

  /** Runs the default export of the file `entry` in a thread of its own. `task.port` moves there. Never throws. */
  run(entry: string, task: ActorTask<unknown>): Thread {
    const lingering = this.#lingering.get(entry) ?? 0;
    if (lingering >= STUCK_MAX_THREADS) return noThread(`${lingering} threads of before are still stuck`);
    const preloaded = this.#takePreloaded(entry);
    const pool = preloaded?.pool ?? new Pool(this.#limits);
    const killer = new AbortController();
    const ran = pool.run(entry, 'default', task, killer.signal);
    const { worker } = pool;
    if (worker !== undefined) this.#living.set(worker, entry);
    let reason: string | undefined;
    let mark: Utilization | undefined;
    return {
      ended: (preloaded === undefined ? ran : Promise.race([preloaded.failed, ran])).then(async (natural) => {
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

  /** Ends the thread that has booted ahead, unless a `run` has taken it. */
  async endPreloaded(): Promise<void> {
    const preloaded = this.#preloaded;
    this.#preloaded = undefined;
    if (preloaded !== undefined) await this.#gone(preloaded.entry, preloaded.pool.worker);
  }

  /** Ends every thread, whatever it does. Fulfils when they have gone, or are known to be stuck. */
  async endAll(): Promise<void> {
    const living = [...this.#living].map(([worker, entry]) => this.#gone(entry, worker));
    await Promise.all([this.endPreloaded(), ...living]);
  }

  /** One that was meant for another task is ended: what its module does must not be another one's trouble. */
  #takePreloaded(entry: string): Preloaded | undefined {
    const preloaded = this.#preloaded;
    if (preloaded?.entry !== entry) {
      void this.endPreloaded();
      return undefined;
    }
    this.#preloaded = undefined;
    return preloaded;
  }

  /** A task's end is not its thread's: a module that throws as it loads, or a `start` that throws, leaves the thread alive. */
  async #gone(entry: string, worker: Worker | undefined): Promise<void> {
    if (worker === undefined) return;
    const gone = worker.terminate().then(() => this.#living.delete(worker));
    if ((await within(this.#clock, GONE_WITHIN_MS, gone)) !== undefined) return;
    this.#count(entry, 1);
    const late = gone.then(() => {
      this.#count(entry, -1);
      this.#late.delete(late);
    });
    this.#late.add(late);
  }

  #count(entry: string, change: number): void {
    const lingering = (this.#lingering.get(entry) ?? 0) + change;
    if (lingering > 0) this.#lingering.set(entry, lingering);
    else this.#lingering.delete(entry);
  }
}

/** A task that has ended before it began. */
function noThread(reason: string): Thread {
  const nothing = () => undefined;
  return { ended: Promise.resolve({ reason }), kill: nothing, measure: nothing, utilization: nothing };
}

function firstLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > REASON_CHARS_MAX ? `${line.slice(0, REASON_CHARS_MAX)}...` : line;
}

/** `error` is anything: an actor may throw what it likes. */
export function deathOf(error: unknown): Death {
  if (!(error instanceof Error)) return { reason: firstLine(`threw ${String(error)}`) };
  if ('code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY') return { reason: 'out of memory' };
  const exit = EXIT_MESSAGE.exec(error.message);
  if (exit) return { reason: `exit code ${exit[1]}` };
  const reason = firstLine(error.message) || error.name;
  return error.stack === undefined ? { reason } : { reason, stack: error.stack };
}
