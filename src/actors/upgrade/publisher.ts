// Publishes the upgrade: status, run and its progress, the check, and whether the backend is up. It uses neither systemd nor files, only
// their results.

import { type Clock, Timers } from '../../clock.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import type { RunFacts } from '../units/facts.js';
import { NO_STATUS, type ResultReading } from './result-file.js';
import { initialRun, type Run, shownRun, utcSeconds } from './run.js';

/** Parts that may fail while the rest works; their problems are shown in `/health`. */
export type Part = 'result file' | 'progress socket' | 'state file';

/** Fields whose changes are events of the run. Percent and step change too often for that. */
const RUN_FIELDS = ['state', 'origin', 'startedMs', 'finishedMs'] as const;
/** Between two records of percent and step: scripts may send thousands of lines a second. */
const PROGRESS_THROTTLE_MS = 100;

export class UpgradePublisher {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #troubles = new Map<Part, string>();
  readonly #timers: Timers<'throttle'>;
  readonly #clock: Clock;
  #body = NO_STATUS;
  #run = initialRun();
  #check: LastCheck | undefined;
  /** `unknown` until systemd was reached for the first time. */
  #systemd: 'unknown' | 'there' | 'away' = 'unknown';
  #publishedCheck = '';
  /** True while the throttle holds back newer progress. */
  #isStale = false;

  constructor(settings: UpgradeSettings, publish: Publisher, clock: Clock) {
    this.#settings = settings;
    this.#publish = publish;
    this.#timers = new Timers(clock);
    this.#clock = clock;
  }

  /** True if everything is published, and commands can be run. */
  get isUp(): boolean {
    return this.#systemd === 'there';
  }

  stop(): void {
    this.#timers.cancelAll();
  }

  progress(text: string): void {
    this.#publish.put('upgrade.progress', '', text);
  }

  result(result: ResultReading): void {
    if (result.ok) this.#body = result.body;
    this.trouble('result file', result.ok ? undefined : result.problem);
    if (!result.ok || !this.isUp) return;
    this.#putStatus();
    this.#putWhole();
  }

  run(run: Run, before: Run): void {
    this.#run = run;
    if (run.state !== before.state)
      this.#publish.log('info', `the upgrade run is ${run.state}`, logFields(run));
    if (!this.isUp) return;
    if (RUN_FIELDS.some((field) => run[field] !== before[field])) {
      this.#putRun();
      this.#putWhole();
    } else if (run.percent !== before.percent || run.step !== before.step) {
      this.#throttleProgress();
    }
  }

  check(facts: RunFacts): void {
    const before = this.#check;
    this.#check = nextCheck(before, facts, this.#clock.date());
    if (this.#check.state === 'failed' && before?.state === 'running')
      this.#publish.log('warn', 'the check unit failed', { result: facts.result });
    if (!this.isUp || this.#shownCheck() === this.#publishedCheck) return;
    this.#putCheck();
    this.#putWhole();
  }

  /** systemd is reachable and the units are read, or none is needed. */
  up(run: Run): void {
    // Changes were published as they came.
    if (this.isUp) return;
    this.#run = run;
    if (this.#systemd === 'away') this.#publish.log('info', "connected to the user's systemd");
    this.#systemd = 'there';
    this.#putStatus();
    this.#putRun();
    if (this.#settings.checkUnit !== undefined) this.#putCheck();
    this.#putWhole();
    this.#publish.status('up', this.#detail());
  }

  down(reason: string): void {
    if (this.#systemd !== 'away') {
      this.#publish.log('warn', "not connected to the user's systemd", { reason });
    }
    this.#systemd = 'away';
    this.#timers.cancelAll();
    this.#publish.status('connecting', reason);
  }

  /** Notes a part's problem or its end; only changes are published. */
  trouble(part: Part, problem: string | undefined): void {
    if (this.#troubles.get(part) === problem) return;
    if (problem === undefined) this.#troubles.delete(part);
    else {
      this.#troubles.set(part, problem);
      this.#publish.log('warn', `problem with the ${part}`, { problem });
    }
    if (this.isUp) this.#publish.status('up', this.#detail());
  }

  #putStatus(): void {
    this.#publish.put('upgrade.info', 'status', `{${this.#body}}`);
  }

  #putRun(): void {
    this.#publish.put('upgrade.info', 'run', JSON.stringify(shownRun(this.#run)));
  }

  #putCheck(): void {
    this.#publishedCheck = this.#shownCheck();
    this.#publish.put('upgrade.info', 'check', `{"check":${this.#publishedCheck}}`);
  }

  #shownCheck(): string {
    return JSON.stringify(shownCheck(this.#check ?? NEVER_CHECKED));
  }

  /** Publishes the first change at once, and those of the next moment together. */
  #throttleProgress(): void {
    this.#isStale = true;
    if (!this.#timers.has('throttle')) this.#putWhole();
  }

  /** The answer to `GET /upgrade`. The result file's members keep their spelling. */
  #putWhole(): void {
    this.#isStale = false;
    const { checkUnit, upgradeUnit } = this.#settings;
    const { percent, step } = this.#run;
    const run = JSON.stringify({ ...shownRun(this.#run), percent, step });
    const abilities = `"can_check":${checkUnit !== undefined},"can_upgrade":${upgradeUnit !== undefined}`;
    const check = checkUnit === undefined ? '' : `,"check":${this.#shownCheck()}`;
    this.#publish.put('upgrade', '', `{${this.#body},"run":${run},${abilities}${check}}`);
    this.#timers.set('throttle', PROGRESS_THROTTLE_MS, () => {
      if (this.#isStale) this.#putWhole();
    });
  }

  #detail(): string | undefined {
    const paths = {
      'result file': this.#settings.resultFile,
      'progress socket': this.#settings.progressSocket,
      'state file': this.#settings.stateFile,
    };
    const all = [...this.#troubles].map(([part, problem]) => `${part} ${paths[part]}: ${problem}`);
    return all.length === 0 ? undefined : all.join('; ');
  }
}

function logFields({ origin, invocation }: Run): Record<string, string> {
  return { ...(origin !== undefined && { origin }), ...(invocation !== undefined && { invocation }) };
}

/** The last known run of the check unit (docs/http-api.md, "Upgrade"). */
export interface LastCheck {
  readonly state: 'idle' | 'running' | 'failed';
  /** The invocation of its last run; '' if it has not run. */
  readonly invocation: string;
  /** Milliseconds since the epoch; undefined if the end was not seen. */
  readonly finishedMs?: number;
  readonly detail?: string;
}

const NEVER_CHECKED: LastCheck = { state: 'idle', invocation: '' };

/** States in which the unit works, or stops. */
const AT_WORK: readonly string[] = ['activating', 'reloading', 'deactivating'];

/** `before` is the previous state; undefined if there is none, as after a start. */
export function nextCheck(before: LastCheck | undefined, facts: RunFacts, nowMs: number): LastCheck {
  const { activeState, subState, result, reset } = facts;
  // An unloaded unit has lost its invocation id.
  const invocation = facts.invocation === '' ? (before?.invocation ?? '') : facts.invocation;
  const isRunning = AT_WORK.includes(activeState) || (activeState === 'active' && subState !== 'exited');
  if (isRunning) return { state: 'running', invocation };
  const hasEnded = before !== undefined && (before.state === 'running' || before.invocation !== invocation);
  const finishedMs = hasEnded ? nowMs : before?.finishedMs;
  const ended = { invocation, ...(finishedMs !== undefined && { finishedMs }) };
  const hasFailed = activeState === 'failed' || (result !== 'success' && !reset);
  return hasFailed
    ? { ...ended, state: 'failed', detail: `its result is ${result}` }
    : { ...ended, state: 'idle' };
}

export function shownCheck({ state, finishedMs, detail }: LastCheck): object {
  return { state, finished_at: utcSeconds(finishedMs), detail };
}
