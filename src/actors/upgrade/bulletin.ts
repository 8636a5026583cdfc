// What is told of the upgrade, and when: status, run and step, and whether the backend is up. It knows neither systemd nor
// files, only what came of them.

import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { Publisher } from '../runtime.js';
import { NO_STATUS, type Result, type StatusBody } from './result-text.js';
import { initialRun, type Run } from './run.js';
import { utcSeconds } from './time-text.js';

/** Parts that can be in trouble while the rest works; each says so in `/health`. */
export type Part = 'result file' | 'progress socket' | 'state file';

/** What the record of the run is made of. */
const RUN_FIELDS = ['state', 'origin', 'startedMs', 'finishedMs'] as const;

/** `unknown`: systemd has not been met yet. */
type Systemd = 'unknown' | 'there' | 'away';

export class UpgradeBulletin {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #troubles = new Map<Part, string>();
  #body: StatusBody = NO_STATUS;
  #run = initialRun();
  #systemd: Systemd = 'unknown';

  constructor(settings: UpgradeSettings, publish: Publisher) {
    this.#settings = settings;
    this.#publish = publish;
  }

  /** Everything is published, and commands can be carried out. */
  get isUp(): boolean {
    return this.#systemd === 'there';
  }

  /** A line of the progress socket, as it came. */
  progress(text: string): void {
    this.#publish.event('upgrade.progress', text);
  }

  /** The result file was read. */
  result(result: Result): void {
    if (result.ok) this.#body = result.body;
    this.trouble('result file', result.ok ? undefined : result.problem);
    if (!result.ok || !this.isUp) return;
    this.#putStatus();
  }

  /** The run is another one than `before`, in whatever respect. */
  run(run: Run, before: Run): void {
    this.#run = run;
    if (run.state !== before.state) this.#publish.log('info', `the upgrade run is ${run.state}`, logged(run));
    if (!this.isUp) return;
    if (run.percent !== before.percent || run.step !== before.step) this.#putStep();
    if (RUN_FIELDS.some((field) => run[field] !== before[field])) this.#putRun();
  }

  checkEnded(result: string): void {
    if (result !== 'done') this.#publish.log('warn', 'the check unit failed', { result });
  }

  /** systemd is there and has been asked, or is not needed. */
  up(run: Run): void {
    // Whatever changed has been told as it came.
    if (this.isUp) return;
    this.#run = run;
    if (this.#systemd === 'away') this.#publish.log('info', "connected to the user's systemd");
    this.#systemd = 'there';
    const { checkUnit, upgradeUnit } = this.#settings;
    const abilities = { can_check: checkUnit !== undefined, can_upgrade: upgradeUnit !== undefined };
    this.#publish.put('upgrade.abilities', '', JSON.stringify(abilities));
    this.#putStatus();
    this.#putStep();
    this.#putRun();
    this.#publish.status('up', this.#detail());
  }

  down(reason: string): void {
    if (this.#systemd !== 'away') {
      this.#publish.log('warn', "not connected to the user's systemd", { reason });
    }
    this.#systemd = 'away';
    this.#publish.status('connecting', reason);
  }

  /** Notes a part's trouble or its end; only what is new is said. */
  trouble(part: Part, problem: string | undefined): void {
    if (this.#troubles.get(part) === problem) return;
    if (problem === undefined) this.#troubles.delete(part);
    else {
      this.#troubles.set(part, problem);
      this.#publish.log('warn', `trouble with the ${part}`, { problem });
    }
    if (this.isUp) this.#publish.status('up', this.#detail());
  }

  #putStatus(): void {
    this.#publish.put('upgrade.status', '', `{${this.#body}}`);
  }

  #putStep(): void {
    const { percent, step } = this.#run;
    this.#publish.put('upgrade.step', '', JSON.stringify({ percent, step }));
  }

  #putRun(): void {
    this.#publish.put('upgrade.run', '', runJson(this.#run));
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

/** The run as a state. Percent and step change too often to be events of it: they are a record of their own. */
export function runJson({ state, origin, startedMs, finishedMs }: Run): string {
  return JSON.stringify({
    state,
    origin,
    ...(startedMs !== undefined && { started_at: utcSeconds(startedMs) }),
    ...(finishedMs !== undefined && { finished_at: utcSeconds(finishedMs) }),
  });
}

function logged({ origin, invocation }: Run): Record<string, string> {
  return { ...(origin !== undefined && { origin }), ...(invocation !== undefined && { invocation }) };
}
