// Publishes the upgrade: status, run, progress, check, and whether the backend is up. It uses neither systemd
// nor files, only their results.

import { type Clock, Timers } from '../../host/clock.js';
import type { Collection } from '../../protocol/actor/collections.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import type { RunFacts } from '../units/facts.js';
import { NO_STATUS, type ResultReading } from './result-file.js';
import { initialRun, isAtWork, publishedRun, type Run, utcSeconds } from './run.js';

/** Parts that may fail while the rest works; their problems are in `/health`. */
export type Part = 'result file' | 'progress socket' | 'state file';

type UpgradeCollection = Extract<Collection, 'upgrade' | 'upgrade.info' | 'upgrade.check'>;

/** The pause between two records of percent and step: scripts may send thousands of lines a second. */
const PROGRESS_THROTTLE_MS = 100;

export class UpgradePublisher {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #clock: Clock;
  readonly #timers: Timers<'throttle'>;
  readonly #problems = new Map<Part, string>();
  /** The texts that clients have, by collection and key. */
  readonly #published = new Map<string, string>();
  #status = NO_STATUS;
  #run = initialRun();
  #check: LastCheck | undefined;
  #isUp = false;

  constructor(settings: UpgradeSettings, publish: Publisher, clock: Clock) {
    this.#settings = settings;
    this.#publish = publish;
    this.#clock = clock;
    this.#timers = new Timers(clock);
  }

  /** True if everything is published, and commands can be run. */
  get isUp(): boolean {
    return this.#isUp;
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  progress(text: string): void {
    this.#publish.put('upgrade.progress', '', text);
  }

  result(result: ResultReading): void {
    if (result.ok) this.#status = result.value;
    this.noteProblem('result file', result.ok ? undefined : result.error);
    this.#publishChanges();
  }

  run(run: Run): void {
    const { state } = this.#run;
    this.#run = run;
    const { origin, invocation } = run;
    const fields = {
      ...(origin !== undefined && { origin }),
      ...(invocation !== undefined && { invocation }),
    };
    if (run.state !== state) this.#publish.log('info', `the upgrade run is ${run.state}`, fields);
    this.#publishChanges();
  }

  check(facts: RunFacts): void {
    const before = this.#check;
    this.#check = nextCheck(before, facts, this.#clock.date());
    if (this.#check.state === 'failed' && before?.state === 'running')
      this.#publish.log('warn', 'the check unit failed', { result: facts.result });
    this.#publishChanges();
  }

  /** systemd is reachable and the units are read, or none is needed. */
  up(run: Run): void {
    if (this.#isUp) return;
    this.#isUp = true;
    this.#run = run;
    // While it was not up, nothing was published.
    this.#published.clear();
    this.#publishChanges();
    this.#publish.status('up', this.#detail());
  }

  down(reason: string): void {
    this.#isUp = false;
    this.#timers.cancelAll();
    this.#publish.status('connecting', reason);
  }

  /** Notes a part's problem or its end; only changes are published. */
  noteProblem(part: Part, problem: string | undefined): void {
    if (this.#problems.get(part) === problem) return;
    this.#problems.delete(part);
    if (problem !== undefined) {
      this.#problems.set(part, problem);
      this.#publish.log('warn', `problem with the ${part}`, { problem });
    }
    if (this.#isUp) this.#publish.status('up', this.#detail());
  }

  /**
   * Publishes a change of percent and step alone at once, and the changes of the next moment together: a
   * script may send many.
   */
  #publishChanges(): void {
    if (!this.#isUp) return;
    const { checkUnit, upgradeUnit } = this.#settings;
    const { percent, step } = this.#run;
    const run = publishedRun(this.#run);
    const check = checkUnit && publishedCheck(this.#check ?? NEVER_CHECKED);
    const isEvent = [
      this.#put('upgrade.info', 'status', this.#status),
      this.#put('upgrade.info', 'run', JSON.stringify(run)),
      check !== undefined && this.#put('upgrade.check', '', JSON.stringify(check)),
    ].includes(true);
    if (!isEvent && this.#timers.has('throttle')) return;
    const abilities = { can_check: checkUnit !== undefined, can_upgrade: upgradeUnit !== undefined };
    const more = JSON.stringify({ run: { ...run, percent, step }, ...abilities, check });
    // The result file's members keep their spelling.
    if (!this.#put('upgrade', '', `{${this.#status.slice(1, -1)},${more.slice(1, -1)}}`)) return;
    this.#timers.set('throttle', PROGRESS_THROTTLE_MS, () => this.#publishChanges());
  }

  /** False if clients have this text already. */
  #put(collection: UpgradeCollection, key: string, text: string): boolean {
    const name = `${collection} ${key}`;
    if (this.#published.get(name) === text) return false;
    this.#published.set(name, text);
    this.#publish.put(collection, key, text);
    return true;
  }

  #detail(): string | undefined {
    const { resultFile, progressSocket, stateFile } = this.#settings;
    const paths = { 'result file': resultFile, 'progress socket': progressSocket, 'state file': stateFile };
    const all = [...this.#problems].map(([part, problem]) => `${part} ${paths[part]}: ${problem}`);
    return all.join('; ') || undefined;
  }
}

/** The last known run of the check unit (docs/http-api.md, "Upgrade"). */
export interface LastCheck {
  readonly state: 'idle' | 'running' | 'failed';
  /** The invocation of its last run; '' if it has not run. */
  readonly invocation: string;
  /** Milliseconds since the epoch; undefined if the end is unknown. */
  readonly finishedMs?: number | undefined;
  readonly detail?: string;
}

const NEVER_CHECKED: LastCheck = { state: 'idle', invocation: '' };

/** `before` is the previous state; undefined if there is none, as after a start. */
export function nextCheck(before: LastCheck | undefined, facts: RunFacts, nowMs: number): LastCheck {
  const { activeState, result, reset } = facts;
  // An unloaded unit has lost its invocation id.
  const invocation = facts.invocation || (before?.invocation ?? '');
  if (isAtWork(facts)) return { state: 'running', invocation };
  const hasEnded = before !== undefined && (before.state === 'running' || before.invocation !== invocation);
  const finishedMs = hasEnded ? nowMs : before?.finishedMs;
  const hasFailed = activeState === 'failed' || (result !== 'success' && !reset);
  if (!hasFailed) return { state: 'idle', invocation, finishedMs };
  return { state: 'failed', invocation, finishedMs, detail: `its result is ${result}` };
}

export function publishedCheck({ state, finishedMs, detail }: LastCheck): object {
  return { state, finished_at: utcSeconds(finishedMs), detail };
}
