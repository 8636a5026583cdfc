// What is told of the upgrade, and when: status, run and view, and whether the backend is up. It knows neither systemd nor
// files, only what came of them.

import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { Clock } from '../clock.js';
import type { Publisher } from '../runtime.js';
import { NO_STATUS, type Result, type StatusBody } from './result-text.js';
import { initialRun, type Run } from './run.js';
import { runEventJson, runJson, statusJson, viewJson } from './view.js';
import { ViewPacer } from './view-pacer.js';

/** Parts that can be in trouble while the rest works; each says so in `/health`. */
export type Part = 'result file' | 'progress socket' | 'state file';

/** `unknown`: systemd has not been met yet. */
type Systemd = 'unknown' | 'there' | 'away';

export class UpgradeBulletin {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #troubles = new Map<Part, string>();
  readonly #view: ViewPacer;
  #body: StatusBody = NO_STATUS;
  #run = initialRun();
  #systemd: Systemd = 'unknown';

  constructor(settings: UpgradeSettings, publish: Publisher, clock: Clock) {
    this.#settings = settings;
    this.#publish = publish;
    this.#view = new ViewPacer(clock, () => this.#putView());
  }

  /** Everything is published, and commands can be carried out. */
  get isUp(): boolean {
    return this.#systemd === 'there';
  }

  stop(): void {
    this.#view.stop();
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
    this.#publish.put('upgrade.status', '', statusJson(this.#body));
    this.#view.now();
  }

  /** The run is another one than `before`, in whatever respect. */
  run(run: Run, before: Run): void {
    this.#run = run;
    if (run.state !== before.state) this.#publish.log('info', `the upgrade run is ${run.state}`, logged(run));
    if (!this.isUp) return;
    if (runEventJson(run) !== runEventJson(before)) {
      this.#publish.put('upgrade.run', '', runEventJson(run));
      this.#view.now();
    } else if (runJson(run) !== runJson(before)) {
      this.#view.soon();
    }
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
    this.#publish.put('upgrade.status', '', statusJson(this.#body));
    this.#publish.put('upgrade.run', '', runEventJson(this.#run));
    this.#view.now();
    this.#publish.status('up', this.#detail());
  }

  down(reason: string): void {
    if (this.#systemd !== 'away') {
      this.#publish.log('warn', "not connected to the user's systemd", { reason });
    }
    this.#systemd = 'away';
    this.#view.stop();
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

  #putView(): void {
    const abilities = {
      canCheck: this.#settings.checkUnit !== undefined,
      canUpgrade: this.#settings.upgradeUnit !== undefined,
    };
    this.#publish.put('upgrade.view', '', viewJson(this.#body, this.#run, abilities));
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

function logged({ origin, invocation }: Run): Record<string, string> {
  return { ...(origin !== undefined && { origin }), ...(invocation !== undefined && { invocation }) };
}
