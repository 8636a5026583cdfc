// Keeps the run: feeds the state machine, saves its transitions, decides which lines may begin a run, and
// ends a run of the progress socket when no line has come for a while. publisher.ts decides what is
// published.

import { type Clock, Timers } from '../../host/clock.js';
import { Turns } from '../turns.js';
import type { RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';
import { beginsSocketRun, initialRun, isAtWork, nextRun, QUIET_MS, type Run, type RunInput } from './run.js';
import type { Circumstances, SavedRun } from './run-store.js';

/**
 * A systemd run's last line may come on a connection that begins just after its end: a line within this time
 * begins no run of its own.
 */
const LEFTOVER_GRACE_MS = 1_000;
/** The pause before the unit of a doubtful run is read again, where the last reading failed. */
const CONFIRM_AGAIN_MS = 1_000;

export interface RunKeeperOwner {
  changed(run: Run): void;
  save(saved: SavedRun): void;
  /**
   * The unit's present facts; undefined if it cannot be read. `read` is called as soon as that is possible.
   */
  askUnit(): Promise<RunFacts | undefined>;
}

export class RunKeeper {
  readonly #owner: RunKeeperOwner;
  readonly #clock: Clock;
  readonly #timers: Timers<'quiet' | 'confirm'>;
  #circumstances: Circumstances;
  #run = initialRun();
  /** When the last systemd run ended, monotonic: connections from before belong to that run. */
  #systemdEndedMs = Number.NEGATIVE_INFINITY;
  /** The lines of all connections are applied one after the other. Each connection waits for its own. */
  readonly #turns = new Turns();
  #connections = 0;
  #stopped = false;

  /** `now` are the present circumstances as far as known: the manager comes with the first `read`. */
  constructor(now: Circumstances, owner: RunKeeperOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#circumstances = now;
  }

  /** To be called before any other method. */
  recall(saved: SavedRun | undefined): void {
    if (saved === undefined) return;
    const { boot } = this.#circumstances;
    this.#circumstances = saved.circumstances;
    this.#run = initialRun(saved.record);
    // Scripts end with a reboot.
    if (saved.circumstances.boot !== boot) this.feed({ kind: 'abandoned' });
    this.#expectQuiet();
  }

  get run(): Run {
    return this.#run;
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.cancelAll();
  }

  /**
   * Takes the facts of the unit after a new connection to systemd. Without a unit these are empty, and a run
   * of systemd is not followed any more.
   */
  read(facts: RunFacts, now: Circumstances, wasStopped = false): void {
    const { boot, manager, unit } = this.#circumstances;
    const sameManager = boot === now.boot && manager === now.manager && unit === now.unit;
    this.#circumstances = now;
    this.feed({ kind: 'read', facts, sameManager, wasStopped });
  }

  feed(input: RunInput): void {
    const before = this.#run;
    const run = nextRun(before, input, this.#clock.date());
    if (run === before || this.#stopped) return;
    this.#run = run;
    const ended = before.state === 'running' && run.state !== 'running';
    if (ended && before.origin === 'systemd') this.#systemdEndedMs = this.#clock.monotonic();
    const hasBegun = run.count !== before.count;
    const hasNewInvocation = !ended && run.invocation !== before.invocation;
    const isTransition = hasBegun || hasNewInvocation || ended;
    if (isTransition) this.#owner.save({ record: run, circumstances: this.#circumstances });
    this.#owner.changed(run);
    if (run.doubtful && !before.doubtful) void this.#confirm();
    if (isTransition) this.#expectQuiet();
  }

  /** Applies a valid line, and resolves then. `sinceMs`: when its connection was accepted, monotonic. */
  line(content: ProgressEvent, sinceMs: number): Promise<void> {
    const atMs = this.#clock.monotonic();
    return this.#turns.run(() => this.#apply(content, sinceMs, atMs));
  }

  connections(count: number): void {
    this.#connections = count;
    this.#expectQuiet();
  }

  async #apply(content: ProgressEvent, sinceMs: number, atMs: number): Promise<void> {
    // A function, as the run may end while the unit is read.
    const isLeftover = () =>
      sinceMs < this.#systemdEndedMs || atMs < this.#systemdEndedMs + LEFTOVER_GRACE_MS;
    if (beginsSocketRun(this.#run, content, isLeftover())) {
      // The unit's own script may send lines before the signal that it has been started. Without the bus, the
      // facts that are known already must be enough.
      const facts = await this.#owner.askUnit();
      if (facts !== undefined && isAtWork(facts)) this.feed({ kind: 'unit', facts });
    }
    this.feed({ kind: 'line', content, leftover: isLeftover() });
  }

  /**
   * Reads a doubtful unit. systemd sends its reply after its signals, so the reply shows whether it restarts
   * the unit.
   */
  async #confirm(): Promise<void> {
    const facts = await this.#owner.askUnit();
    if (!this.#run.doubtful || this.#stopped) return;
    if (facts !== undefined) this.feed({ kind: 'confirmed', facts });
    else this.#timers.set('confirm', CONFIRM_AGAIN_MS, () => void this.#confirm());
  }

  /**
   * Waits for the silence that ends a run of the socket. A line comes by a connection, so only the
   * connections count.
   */
  #expectQuiet(): void {
    const { state, origin } = this.#run;
    if (state !== 'running' || origin !== 'socket' || this.#connections > 0) this.#timers.cancel('quiet');
    else this.#timers.set('quiet', QUIET_MS, () => this.feed({ kind: 'abandoned' }));
  }
}
