// Keeps the run: feeds the state machine, saves its transitions, decides which lines may begin a run, and ends a run of the
// socket that has fallen silent. What is published of it is publisher.ts's.

import { type Clock, Timers } from '../../clock.js';
import { NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';
import { initialRun, isAtWork, nextRun, QUIET_MS, type Run, type RunInput, wouldAdopt } from './run.js';
import type { Circumstances, SavedRun } from './run-store.js';

/**
 * The last line of a systemd run may come on a connection of its own that is accepted just behind systemd's word that the
 * run is over. A line that would begin a new run so soon is taken for such a one; a new script's next line comes later.
 */
const LEFTOVER_GRACE_MS = 1_000;
/** Lines that wait until the unit has been asked; neighbouring progress lines of one connection are one. */
const UNDECIDED_MAX_LINES = 64;
/** A unit that could not be asked whether a run has failed for good is asked again. */
const CONFIRM_AGAIN_MS = 1_000;

export interface RunKeeperOwner {
  /** The run is another one than `before`, in whatever respect. */
  changed(run: Run, before: Run): void;
  save(saved: SavedRun): void;
  /** The unit as it is now; undefined when it cannot be asked, and `read` will be called when it can. */
  askUnit(): Promise<RunFacts | undefined>;
}

/** Times are monotonic ms: when the line came, and when its connection was accepted. */
interface Undecided {
  readonly says: ProgressEvent;
  readonly atMs: number;
  readonly sinceMs: number;
}

export class RunKeeper {
  readonly #owner: RunKeeperOwner;
  readonly #clock: Clock;
  #circumstances: Circumstances;
  #run: Run;
  /** Monotonic: connections from before belong to a systemd run that is over. */
  #systemdEndedMs = Number.NEGATIVE_INFINITY;
  #undecided: Undecided[] = [];
  #asking = false;
  #stopped = false;
  #connections = 0;
  #lastLineMs: number;
  readonly #timers: Timers<'quiet' | 'confirm'>;

  /** `now` are the circumstances now, as far as they are known: the manager is told with the first `read`. */
  constructor(saved: SavedRun | undefined, now: Circumstances, owner: RunKeeperOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#circumstances = saved?.circumstances ?? now;
    this.#run = initialRun(saved?.record);
    this.#lastLineMs = clock.monotonic();
    // With the node's life its scripts have ended.
    if (this.#circumstances.boot !== now.boot && this.#run.origin === 'socket')
      this.feed({ kind: 'abandoned' });
    this.#expectQuiet();
  }

  get run(): Run {
    return this.#run;
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.cancelAll();
    this.#undecided = [];
  }

  /** The unit was read anew. */
  read(facts: RunFacts, now: Circumstances): void {
    const { boot, manager, unit } = this.#circumstances;
    const sameManager = boot === now.boot && manager === now.manager && unit === now.unit;
    this.#circumstances = now;
    this.feed({ kind: 'read', facts, sameManager });
    this.#decide(facts);
  }

  /** There is no unit to be followed: a run of systemd is nobody's any more. */
  noUnit(now: Circumstances): void {
    this.#circumstances = now;
    this.feed({ kind: 'read', facts: NOTHING_RAN, sameManager: false });
  }

  feed(input: RunInput): void {
    const before = this.#run;
    const run = nextRun(before, input, this.#clock.date());
    if (run === before) return;
    this.#run = run;
    const ended = before.state === 'running' && run.state !== 'running';
    if (ended && before.origin === 'systemd') this.#systemdEndedMs = this.#clock.monotonic();
    const began = run.count !== before.count || (!ended && run.invocation !== before.invocation);
    if (began || ended) this.#save();
    this.#owner.changed(run, before);
    if (run.doubtful && !before.doubtful) void this.#confirm();
    this.#expectQuiet();
  }

  /** Systemd answers behind what it has said: a unit that is to be started again says so now. */
  async #confirm(): Promise<void> {
    const facts = await this.#owner.askUnit();
    if (!this.#run.doubtful) return;
    if (facts !== undefined) this.feed({ kind: 'confirmed', facts });
    else if (!this.#stopped) this.#timers.set('confirm', CONFIRM_AGAIN_MS, () => void this.#confirm());
  }

  /** A valid line. `sinceMs`: when its connection was accepted, monotonic. */
  line(says: ProgressEvent, sinceMs: number): void {
    const line = { says, sinceMs, atMs: this.#clock.monotonic() };
    this.#lastLineMs = line.atMs;
    const undecided = this.#asking || this.#undecided.length > 0;
    if (undecided || wouldAdopt(this.#run, says, this.#isLeftover(line))) {
      this.#hold(line);
      void this.#askUnit();
    } else {
      this.feed({ kind: 'line', says, leftover: this.#isLeftover(line) });
    }
  }

  connections(count: number): void {
    this.#connections = count;
    if (count > 0) return;
    // Who was connected may have been silent for long.
    this.#timers.cancel('quiet');
    this.#expectQuiet();
  }

  #isLeftover({ sinceMs, atMs }: Undecided): boolean {
    return sinceMs < this.#systemdEndedMs || atMs < this.#systemdEndedMs + LEFTOVER_GRACE_MS;
  }

  #hold(line: Undecided): void {
    const last = this.#undecided.at(-1);
    const merges = last?.says.event === 'progress' && line.says.event === 'progress';
    if (merges && last.sinceMs === line.sinceMs) this.#undecided.pop();
    this.#undecided.push(line);
    if (this.#undecided.length <= UNDECIDED_MAX_LINES) return;
    // How a run began and how it ended, or how far it is, matters more than what lies between.
    const dropped = this.#undecided.findIndex(({ says }) => says.event === 'progress');
    this.#undecided.splice(Math.max(dropped, 0), 1);
  }

  /**
   * Before a line begins a run of the socket, systemd is asked whether the unit is at work: the unit's own script may be
   * quicker than the signal that it has been started.
   */
  async #askUnit(): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const facts = await this.#owner.askUnit();
    this.#asking = false;
    // Otherwise the bus is away, and `read` decides when it is back.
    if (facts !== undefined) this.#decide(facts);
  }

  #decide(facts: RunFacts): void {
    const lines = this.#undecided;
    if (lines.length === 0) return;
    this.#undecided = [];
    if (isAtWork(facts)) this.feed({ kind: 'unit', facts });
    for (const line of lines) {
      this.feed({ kind: 'line', says: line.says, leftover: this.#isLeftover(line) });
    }
  }

  #save(): void {
    this.#owner.save({ record: this.#run, circumstances: this.#circumstances });
  }

  /** Waits for the silence that ends a run of the socket. One timer that looks anew when it fires: lines set none. */
  #expectQuiet(): void {
    if (this.#run.state !== 'running' || this.#run.origin !== 'socket') {
      this.#timers.cancel('quiet');
    } else if (!this.#timers.has('quiet')) {
      this.#timers.set('quiet', this.#quietLeft(), () => this.#lookForQuiet());
    }
  }

  #quietLeft(): number {
    const quietFor = this.#clock.monotonic() - this.#lastLineMs;
    return this.#connections > 0 ? QUIET_MS : Math.max(QUIET_MS - quietFor, 0);
  }

  #lookForQuiet(): void {
    if (this.#quietLeft() === 0) this.feed({ kind: 'abandoned' });
    else this.#expectQuiet();
  }
}
