// Keeps the run: feeds the state machine, saves its transitions, decides which lines may begin a run, and ends a silent run of the
// socket. publisher.ts decides what is published.

import { type Clock, Timers } from '../../clock.js';
import { NOTHING_RAN, type RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';
import { beginsSocketRun, initialRun, isAtWork, nextRun, QUIET_MS, type Run, type RunInput } from './run.js';
import type { Circumstances, SavedRun } from './run-store.js';

/**
 * The last line of a systemd run may come on a new connection that is accepted just after systemd's signal that the run is over. A line
 * that would begin a new run within this time is taken for such a line; a new script sends more lines later.
 */
const LEFTOVER_GRACE_MS = 1_000;
/** Lines that wait until the unit has been read; consecutive progress lines of one connection are merged. */
const UNDECIDED_MAX_LINES = 64;
/** Pause before asking again whether a run has finally failed, if the unit could not be read. */
const CONFIRM_AGAIN_MS = 1_000;

export interface RunKeeperOwner {
  /** The run differs from `before` in some field. */
  changed(run: Run, before: Run): void;
  save(saved: SavedRun): void;
  /** The unit's present facts; undefined if it cannot be asked: then `read` is called once it can. */
  askUnit(): Promise<RunFacts | undefined>;
}

/** Times are monotonic ms: when the line came, and when its connection was accepted. */
interface UndecidedLine {
  readonly content: ProgressEvent;
  readonly atMs: number;
  readonly sinceMs: number;
}

export class RunKeeper {
  readonly #owner: RunKeeperOwner;
  readonly #clock: Clock;
  #circumstances: Circumstances;
  #run: Run;
  /** Monotonic: older connections belong to a systemd run that is over. */
  #systemdEndedMs = Number.NEGATIVE_INFINITY;
  #undecided: UndecidedLine[] = [];
  #asking = false;
  #stopped = false;
  #connections = 0;
  #lastLineMs: number;
  readonly #timers: Timers<'quiet' | 'confirm'>;

  /** `now` are the present circumstances as far as known: the manager comes with the first `read`. */
  constructor(saved: SavedRun | undefined, now: Circumstances, owner: RunKeeperOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#circumstances = saved?.circumstances ?? now;
    this.#run = initialRun(saved?.record);
    this.#lastLineMs = clock.monotonic();
    // Scripts end with a reboot.
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

  read(facts: RunFacts, now: Circumstances): void {
    const { boot, manager, unit } = this.#circumstances;
    const sameManager = boot === now.boot && manager === now.manager && unit === now.unit;
    this.#circumstances = now;
    this.feed({ kind: 'read', facts, sameManager });
    this.#decide(facts);
  }

  /** No unit is configured: a run of systemd is not followed any more. */
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

  /** systemd sends its reply after its signals: by then a unit that will be restarted shows that. */
  async #confirm(): Promise<void> {
    const facts = await this.#owner.askUnit();
    if (!this.#run.doubtful) return;
    if (facts !== undefined) this.feed({ kind: 'confirmed', facts });
    else if (!this.#stopped) this.#timers.set('confirm', CONFIRM_AGAIN_MS, () => void this.#confirm());
  }

  /** Handles a valid line. `sinceMs`: when its connection was accepted, monotonic. */
  line(content: ProgressEvent, sinceMs: number): void {
    const line = { content, sinceMs, atMs: this.#clock.monotonic() };
    this.#lastLineMs = line.atMs;
    const undecided = this.#asking || this.#undecided.length > 0;
    if (undecided || beginsSocketRun(this.#run, content, this.#isLeftover(line))) {
      this.#hold(line);
      void this.#askUnit();
    } else {
      this.feed({ kind: 'line', content, leftover: this.#isLeftover(line) });
    }
  }

  connections(count: number): void {
    this.#connections = count;
    if (count > 0) return;
    // The last client may have been silent for long before it left.
    this.#timers.cancel('quiet');
    this.#expectQuiet();
  }

  #isLeftover({ sinceMs, atMs }: UndecidedLine): boolean {
    return sinceMs < this.#systemdEndedMs || atMs < this.#systemdEndedMs + LEFTOVER_GRACE_MS;
  }

  #hold(line: UndecidedLine): void {
    const last = this.#undecided.at(-1);
    const merges = last?.content.event === 'progress' && line.content.event === 'progress';
    if (merges && last.sinceMs === line.sinceMs) this.#undecided.pop();
    this.#undecided.push(line);
    if (this.#undecided.length <= UNDECIDED_MAX_LINES) return;
    // A run's beginning, end and last progress matter more than the lines in between.
    const dropped = this.#undecided.findIndex(({ content }) => content.event === 'progress');
    this.#undecided.splice(Math.max(dropped, 0), 1);
  }

  /**
   * Before a line begins a run of the socket, the unit is read: the unit's own script may send lines before the signal that it has been
   * started.
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
      this.feed({ kind: 'line', content: line.content, leftover: this.#isLeftover(line) });
    }
  }

  #save(): void {
    this.#owner.save({ record: this.#run, circumstances: this.#circumstances });
  }

  /** Waits for the silence that ends a run of the socket. One timer checks again when it fires, so that lines set none. */
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
