// Keeps the run: gives inputs to the state machine of run.ts, and saves the run at each transition. Decides
// which progress lines come too late to begin a run. A systemd run is a run of the upgrade unit. A socket run
// is a run that began with a progress line.

import { type Clock, Timers } from '../../host/clock.js';
import { Turns } from '../../host/turns.js';
import type { RunFacts } from '../units/facts.js';
import type { ProgressEvent } from './progress-line.js';
import { beginsSocketRun, initialRun, isAtWork, nextRun, QUIET_MS, type Run, type RunInput } from './run.js';
import type { Circumstances, SavedRun } from './run-store.js';

/**
 * The last line of a systemd run may come by a connection that begins just after the run has ended. So no
 * line begins a run within this time after the end.
 */
const LEFTOVER_GRACE_MS = 1_000;
/** The pause after a failed reading of the unit, while the run is doubtful (run.ts, `isDoubtful`). */
const CONFIRM_AGAIN_MS = 1_000;

export interface RunKeeperOwner {
  changed(run: Run): void;
  save(saved: SavedRun): void;
  /**
   * Reads the upgrade unit. Resolves to undefined if the unit cannot be read, for instance because the
   * connection to systemd was lost. After a lost connection, upgrade-units.ts calls `applyReading` as soon as
   * systemd is connected again.
   */
  readUnit(): Promise<RunFacts | undefined>;
}

export class RunKeeper {
  readonly #owner: RunKeeperOwner;
  readonly #clock: Clock;
  readonly #timers: Timers<'quiet' | 'confirm'>;
  /**
   * The circumstances of the last `applyReading`. Before the first `applyReading`, they are those of the
   * saved run, or the constructor's if no run was saved.
   */
  #circumstances: Circumstances;
  #run = initialRun();
  /**
   * The monotonic time at which the last systemd run ended. A progress connection that began before this
   * time counts as a connection of that run.
   */
  #systemdRunEndedMs = Number.NEGATIVE_INFINITY;
  /** Applies the lines of all connections one after the other. */
  readonly #turns = new Turns();
  #openConnections = 0;
  #isStopped = false;

  /** `circumstances` are the present ones. The manager in them is unknown until the first `applyReading`. */
  constructor(circumstances: Circumstances, owner: RunKeeperOwner, clock: Clock) {
    this.#owner = owner;
    this.#clock = clock;
    this.#timers = new Timers(clock);
    this.#circumstances = circumstances;
  }

  /** Takes over the saved run, if there is one. To be called before any input is applied. */
  recall(saved: SavedRun | undefined): void {
    if (saved === undefined) return;
    const { boot: presentBoot } = this.#circumstances;
    this.#circumstances = saved.circumstances;
    this.#run = initialRun(saved.record);
    // No upgrade script outlives a reboot, so a run from before the reboot must end. The input `abandoned`
    // ends a socket run. The first `applyReading` ends a systemd run.
    const wasRebooted = saved.circumstances.boot !== presentBoot;
    if (wasRebooted) this.applyInput({ kind: 'abandoned' });
    this.#updateQuietTimer();
  }

  get run(): Run {
    return this.#run;
  }

  stop(): void {
    this.#isStopped = true;
    this.#timers.cancelAll();
  }

  /**
   * Applies the first reading of the unit on a new connection to systemd. If no unit is configured, the facts
   * are NOTHING_RAN, and a systemd run ends. `wasStopped` is true if somebody stopped the run.
   */
  applyReading(facts: RunFacts, present: Circumstances, wasStopped = false): void {
    const { boot, manager, unit } = this.#circumstances;
    const isSameManagerAndUnit =
      boot === present.boot && manager === present.manager && unit === present.unit;
    this.#circumstances = present;
    this.applyInput({ kind: 'facts-after-gap', facts, isSameManagerAndUnit, wasStopped });
  }

  /**
   * Gives the input to the state machine. Reports each change of the run to the owner, and saves the run at
   * each transition.
   */
  applyInput(input: RunInput): void {
    const before = this.#run;
    const run = nextRun(before, input, this.#clock.date());
    if (run === before || this.#isStopped) return;
    this.#run = run;
    const hasEnded = before.state === 'running' && run.state !== 'running';
    if (hasEnded && before.origin === 'systemd') this.#systemdRunEndedMs = this.#clock.monotonic();
    const hasBegun = run.begunRuns !== before.begunRuns;
    const hasNewInvocation = run.invocation !== before.invocation;
    const isTransition = hasBegun || hasNewInvocation || hasEnded;
    if (isTransition) this.#owner.save({ record: run, circumstances: this.#circumstances });
    this.#owner.changed(run);
    if (run.isDoubtful && !before.isDoubtful) void this.#confirm();
    if (isTransition) this.#updateQuietTimer();
  }

  /**
   * Resolves when the line is applied. `connectedMs` is the monotonic time at which the line's connection
   * began. `relay` sends the line to the clients. Clients ignore progress while no run is running. So a line
   * that may end the run is relayed before it is applied. All other lines may begin a run, so they are
   * relayed after they are applied.
   */
  applyLine(content: ProgressEvent, connectedMs: number, relay: () => void): Promise<void> {
    const receivedMs = this.#clock.monotonic();
    return this.#turns.run(async () => {
      if (content.event === 'end') relay();
      await this.#applyInTurn(content, connectedMs, receivedMs);
      if (content.event !== 'end') relay();
    });
  }

  /** `count` connections to the progress socket are open. */
  setConnections(count: number): void {
    this.#openConnections = count;
    this.#updateQuietTimer();
  }

  async #applyInTurn(content: ProgressEvent, connectedMs: number, receivedMs: number): Promise<void> {
    // This is a function, because the systemd run may end while the unit is read.
    const isLeftover = () =>
      connectedMs < this.#systemdRunEndedMs || receivedMs < this.#systemdRunEndedMs + LEFTOVER_GRACE_MS;
    if (beginsSocketRun(this.#run, content, isLeftover())) {
      // The unit is read before the line is applied, because the unit's script may send a line before the
      // signal of the unit's start has come. If the unit cannot be read, its last known facts decide whether
      // the line begins a run.
      const facts = await this.#owner.readUnit();
      if (facts !== undefined && isAtWork(facts)) this.applyInput({ kind: 'facts', facts });
    }
    this.applyInput({ kind: 'line', content, isLeftover: isLeftover() });
  }

  /**
   * Reads the unit of a doubtful run. If systemd is about to restart the unit, systemd sends the signals of
   * the restart before its reply to the reading. So after the reply, the facts show whether systemd restarts
   * the unit.
   */
  async #confirm(): Promise<void> {
    const facts = await this.#owner.readUnit();
    if (!this.#run.isDoubtful || this.#isStopped) return;
    if (facts !== undefined) this.applyInput({ kind: 'facts-after-doubt', facts });
    else this.#timers.set('confirm', CONFIRM_AGAIN_MS, () => void this.#confirm());
  }

  /**
   * Sets the timer that ends the run, if this is a socket run and no connection is open. Otherwise cancels
   * the timer.
   */
  #updateQuietTimer(): void {
    const { state, origin } = this.#run;
    const isSocketRun = state === 'running' && origin === 'socket';
    if (isSocketRun && this.#openConnections === 0)
      this.#timers.set('quiet', QUIET_MS, () => this.applyInput({ kind: 'abandoned' }));
    else this.#timers.cancel('quiet');
  }
}
