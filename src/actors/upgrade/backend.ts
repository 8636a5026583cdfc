// The upgrade backend: puts result file, unit, progress socket and state file together, and publishes what comes of them.

import type { Answer, UpgradeCommand } from '../../protocol/actor/commands.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { BusOptions } from '../bus.js';
import type { Actor, Publisher } from '../runtime.js';
import { ProgressSocket } from './progress-socket.js';
import { ResultReader } from './result-reader.js';
import { NO_STATUS, type Result, type StatusBody } from './result-text.js';
import type { Run } from './run.js';
import { type KeeperClock, RunKeeper } from './run-keeper.js';
import type { Circumstances, SavedRun } from './run-record.js';
import { RunStore } from './run-store.js';
import { NO_FACTS, type UnitFacts } from './unit-facts.js';
import { UnitFollower } from './unit-follower.js';
import { runEventJson, runJson, statusJson, viewJson } from './view.js';

/** Between two changes of percent or step that `GET /upgrade` shows: the whole answer is encoded each time. */
const VIEW_INTERVAL_MS = 100;

/** What the backend would otherwise ask the machine for. */
export interface Surroundings {
  readonly bus: BusOptions;
  /** Of this life of the kernel. */
  readonly bootId: string;
  readonly clock: KeeperClock;
}

/** Parts that can be in trouble while the rest works; each says so in `/health`. */
type Part = 'result file' | 'progress socket' | 'state file';

export class UpgradeBackend implements Actor<UpgradeCommand> {
  readonly #settings: UpgradeSettings;
  readonly #publish: Publisher;
  readonly #surroundings: Surroundings;
  readonly #store: RunStore;
  readonly #troubles = new Map<Part, string>();
  readonly #opening: Promise<void>;
  #reader: ResultReader | undefined;
  #socket: ProgressSocket | undefined;
  #follower: UnitFollower | undefined;
  #keeper: RunKeeper | undefined;
  #body: StatusBody = NO_STATUS;
  #up = false;
  /** The bus is known to be away, and that has been logged. */
  #away = false;
  #starting = false;
  #stopped = false;
  #viewTimer: NodeJS.Timeout | undefined;
  #viewStale = false;

  constructor(settings: UpgradeSettings, publish: Publisher, surroundings: Surroundings) {
    this.#settings = settings;
    this.#publish = publish;
    this.#surroundings = surroundings;
    this.#store = new RunStore(settings.stateFile, (problem) => this.#trouble('state file', problem));
    this.#opening = this.#open();
  }

  async handle(command: UpgradeCommand): Promise<Answer> {
    return command.do === 'check' ? this.#check() : this.#start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#opening;
    this.#follower?.stop();
    this.#keeper?.stop();
    clearTimeout(this.#viewTimer);
    await this.#socket?.stop();
    await this.#reader?.stop();
    await this.#store.settled();
  }

  async #open(): Promise<void> {
    const recalled = await this.#store.recall();
    if (!recalled.ok) {
      this.#publish.log('warn', 'the state file is ignored', { problem: recalled.problem });
    }
    this.#keeper = this.#makeKeeper(recalled.ok ? recalled.saved : undefined);
    const { resultFile, progressSocket } = this.#settings;
    if (resultFile !== undefined) {
      this.#reader = new ResultReader(resultFile, (result) => this.#took(result));
      await this.#reader.read();
    }
    if (this.#stopped) return;
    this.#socket = new ProgressSocket(progressSocket, {
      line: ({ says, text }, { sinceMs }) => {
        this.#publish.event('upgrade.progress', text);
        this.#keeper?.line(says, sinceMs);
      },
      connections: (count) => this.#keeper?.connections(count),
      problem: (problem) => this.#trouble('progress socket', problem),
    });
    await this.#socket.placed();
    if (!this.#stopped) this.#followUnits(this.#keeper);
  }

  #makeKeeper(saved: SavedRun | undefined): RunKeeper {
    const owner = {
      changed: (run: Run, before: Run) => this.#runChanged(run, before),
      save: (next: SavedRun) => this.#store.save(next),
      askUnit: () => this.#askUnit(),
    };
    return new RunKeeper(saved, this.#circumstances(''), owner, this.#surroundings.clock);
  }

  #circumstances(manager: string): Circumstances {
    return { boot: this.#surroundings.bootId, manager, unit: this.#settings.upgradeUnit ?? '' };
  }

  #followUnits(keeper: RunKeeper): void {
    const { checkUnit: check, upgradeUnit: upgrade } = this.#settings;
    if (upgrade === undefined) keeper.noUnit(this.#circumstances(''));
    if (check === undefined && upgrade === undefined) {
      // Read-only: there is nothing to be connected to.
      this.#goUp();
      return;
    }
    const units = { ...(check !== undefined && { check }), ...(upgrade !== undefined && { upgrade }) };
    this.#follower = new UnitFollower(
      units,
      {
        up: (facts, manager) => {
          if (upgrade !== undefined) keeper.read(facts, this.#circumstances(manager));
          this.#goUp();
        },
        down: (reason) => this.#goDown(reason),
        unit: (facts) => keeper.feed({ kind: 'unit', facts }),
        jobEnded: (result) => keeper.feed({ kind: 'job-ended', result }),
        checkEnded: (result) => this.#checkEnded(result),
      },
      this.#surroundings.bus,
    );
  }

  async #askUnit(): Promise<UnitFacts | undefined> {
    if (this.#settings.upgradeUnit === undefined) return NO_FACTS;
    return this.#up ? this.#follower?.ask() : undefined;
  }

  async #check(): Promise<Answer> {
    if (this.#follower === undefined) return this.#notConnected();
    return accepted(await this.#follower.startCheck());
  }

  #checkEnded(result: string): void {
    if (result !== 'done') this.#publish.log('warn', 'the check unit failed', { result });
  }

  async #start(): Promise<Answer> {
    const keeper = this.#keeper;
    if (!this.#up || this.#follower === undefined || keeper === undefined) return this.#notConnected();
    // Of two at once the second finds the first under way: nothing is awaited in between.
    if (this.#starting || keeper.run.state === 'running') {
      return { ok: false, fault: 'run-in-progress', detail: 'An upgrade run is in progress' };
    }
    this.#starting = true;
    const sinceCount = keeper.run.count;
    try {
      const started = await this.#follower.startUpgrade();
      if (started.ok) keeper.feed({ ...started, kind: 'accepted', sinceCount });
      return accepted(started);
    } finally {
      this.#starting = false;
    }
  }

  #notConnected(): Answer {
    return { ok: false, fault: 'unavailable', detail: "The user's systemd is not connected" };
  }

  #took(result: Result): void {
    if (result.ok) this.#body = result.body;
    this.#trouble('result file', result.ok ? undefined : result.problem);
    if (!result.ok || !this.#up) return;
    this.#publish.put('upgrade.status', '', statusJson(this.#body));
    this.#putView();
  }

  #runChanged(run: Run, before: Run): void {
    if (run.state !== before.state) this.#publish.log('info', `the upgrade run is ${run.state}`, logged(run));
    if (!this.#up) return;
    if (runEventJson(run) !== runEventJson(before)) {
      this.#publish.put('upgrade.run', '', runEventJson(run));
      this.#putView();
    } else if (runJson(run) !== runJson(before)) {
      this.#putViewSoon();
    }
  }

  #goUp(): void {
    const { run } = this.#keeper ?? {};
    if (run === undefined) return;
    if (this.#away) this.#publish.log('info', "connected to the user's systemd");
    this.#away = false;
    this.#up = true;
    this.#publish.put('upgrade.status', '', statusJson(this.#body));
    this.#publish.put('upgrade.run', '', runEventJson(run));
    this.#putView();
    this.#publish.status('up', this.#detail());
  }

  #goDown(reason: string): void {
    if (this.#stopped) return;
    if (!this.#away) this.#publish.log('warn', "not connected to the user's systemd", { reason });
    this.#away = true;
    this.#up = false;
    this.#publish.status('connecting', reason);
  }

  /** The first change at once, the others of a burst together. */
  #putViewSoon(): void {
    if (this.#viewTimer === undefined) this.#putView();
    else this.#viewStale = true;
  }

  #putView(): void {
    if (!this.#up || this.#keeper === undefined) return;
    this.#viewStale = false;
    const abilities = {
      canCheck: this.#settings.checkUnit !== undefined,
      canUpgrade: this.#settings.upgradeUnit !== undefined,
    };
    this.#publish.put('upgrade.view', '', viewJson(this.#body, this.#keeper.run, abilities));
    this.#viewTimer ??= setTimeout(() => {
      this.#viewTimer = undefined;
      if (this.#viewStale) this.#putView();
    }, VIEW_INTERVAL_MS);
  }

  /** Notes a part's trouble or its end; only what is new is said. */
  #trouble(part: Part, problem: string | undefined): void {
    if (this.#troubles.get(part) === problem) return;
    if (problem === undefined) this.#troubles.delete(part);
    else this.#troubles.set(part, problem);
    if (problem !== undefined) this.#publish.log('warn', `trouble with the ${part}`, { problem });
    if (this.#up) this.#publish.status('up', this.#detail());
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

function accepted(started: Awaited<ReturnType<UnitFollower['startCheck']>>): Answer {
  return started.ok ? { ok: true } : started;
}

function logged({ origin, invocation }: Run): Record<string, string> {
  return { ...(origin !== undefined && { origin }), ...(invocation !== undefined && { invocation }) };
}
