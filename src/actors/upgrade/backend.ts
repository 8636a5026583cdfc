// The upgrade backend: connects result file, units, progress socket and state file, and runs the commands. publisher.ts decides what is
// published.

import { type Clock, within } from '../../clock.js';
import type { Answer, UpgradeCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import type { BusOptions } from '../bus/bus.js';
import type { Actor, Publisher } from '../runtime.js';
import { READ_MAX_MS } from '../small-file.js';
import { NOTHING_RAN, type RunFacts } from '../units/facts.js';
import { UnitLogs } from '../units/unit-logs.js';
import { ProgressSocket } from './progress-socket.js';
import { UpgradePublisher } from './publisher.js';
import { ResultFile } from './result-file.js';
import type { Run } from './run.js';
import { RunKeeper } from './run-keeper.js';
import { type Circumstances, RunStore, type SavedRun } from './run-store.js';
import { UpgradeUnits } from './upgrade-units.js';

/** The machine's facts and services, passed in so that nothing here asks the machine itself. */
export interface UpgradeContext {
  readonly bus: BusOptions;
  readonly bootId: string;
  readonly clock: Clock;
}

/** For files and sockets that hang; below the supervisor's deadline for the whole stop. */
const STOP_MAX_MS = 800;

const NOT_CONNECTED = failure('unavailable', "The user's systemd is not connected");
const IN_PROGRESS = failure('run-in-progress', 'An upgrade run is in progress');

/** Reads the last run, then makes the backend. Commands and the stop wait for that; the time is bounded. */
export function openUpgrade(
  settings: UpgradeSettings,
  publish: Publisher,
  surroundings: UpgradeContext,
): Actor<UpgradeCommand> {
  const opening = openWithSavedRun(settings, publish, surroundings);
  return {
    handle: async (command) => (await opening).handle(command),
    stop: async () => (await within(surroundings.clock, STOP_MAX_MS, opening))?.stop(),
  };
}

async function openWithSavedRun(
  settings: UpgradeSettings,
  publish: Publisher,
  surroundings: UpgradeContext,
): Promise<UpgradeBackend> {
  const publisher = new UpgradePublisher(settings, publish, surroundings.clock);
  const troubled = (problem: string | undefined) => publisher.trouble('state file', problem);
  const store = new RunStore(settings.stateFile, troubled, surroundings.clock);
  const found = await store.recall();
  if (!found.ok) troubled(`it is ignored: ${found.problem}`);
  const saved = found.ok ? found.saved : undefined;
  return new UpgradeBackend(settings, surroundings, { publisher, store, saved });
}

interface UpgradeParts {
  readonly publisher: UpgradePublisher;
  readonly store: RunStore;
  readonly saved: SavedRun | undefined;
}

class UpgradeBackend implements Actor<UpgradeCommand> {
  readonly #settings: UpgradeSettings;
  readonly #bootId: string;
  readonly #clock: Clock;
  readonly #store: RunStore;
  readonly #publisher: UpgradePublisher;
  readonly #keeper: RunKeeper;
  readonly #resultFile: ResultFile | undefined;
  readonly #socket: ProgressSocket;
  /** Resolves after the first attempts to read the result file and to open the socket; from then on the state is complete. */
  readonly #ready: Promise<unknown>;
  readonly #units: UpgradeUnits | undefined;
  readonly #logs: UnitLogs;
  #starting: Promise<Answer> | undefined;

  constructor(
    settings: UpgradeSettings,
    { bus, bootId, clock }: UpgradeContext,
    { publisher, store, saved }: UpgradeParts,
  ) {
    this.#settings = settings;
    this.#bootId = bootId;
    this.#clock = clock;
    this.#store = store;
    this.#logs = new UnitLogs(clock);
    this.#publisher = publisher;
    this.#keeper = this.#makeKeeper(saved, clock);
    const { resultFile, progressSocket } = settings;
    if (resultFile !== undefined) {
      this.#resultFile = new ResultFile(resultFile, (result) => publisher.result(result), clock);
    }
    this.#socket = new ProgressSocket(
      progressSocket,
      {
        line: ({ content, text }, { sinceMs }) => {
          publisher.progress(text);
          this.#keeper.line(content, sinceMs);
        },
        connections: (count) => this.#keeper.connections(count),
        problem: (problem) => publisher.trouble('progress socket', problem),
      },
      clock,
    );
    const read = this.#resultFile?.read() ?? Promise.resolve();
    this.#ready = Promise.all([within(clock, READ_MAX_MS, read), this.#socket.attempted()]);
    this.#units = this.#makeUnits(bus);
  }

  async handle(command: UpgradeCommand): Promise<Answer> {
    if (command.do === 'log') return this.#log(command.lines);
    return command.do === 'check' ? this.#check() : this.#start();
  }

  async stop(): Promise<void> {
    this.#units?.stop();
    this.#keeper.stop();
    this.#publisher.stop();
    const ends = [this.#logs.stop(), this.#socket.stop(), this.#resultFile?.stop(), this.#store.stop()];
    await within(this.#clock, STOP_MAX_MS, Promise.all(ends));
  }

  #makeKeeper(saved: SavedRun | undefined, clock: Clock): RunKeeper {
    const owner = {
      changed: (run: Run, before: Run) => this.#publisher.run(run, before),
      save: (next: SavedRun) => this.#store.save(next),
      askUnit: () => this.#askUnit(),
    };
    return new RunKeeper(saved, this.#circumstances(''), owner, clock);
  }

  #makeUnits(bus: BusOptions): UpgradeUnits | undefined {
    const { checkUnit, upgradeUnit } = this.#settings;
    if (upgradeUnit === undefined) this.#keeper.noUnit(this.#circumstances(''));
    if (checkUnit === undefined && upgradeUnit === undefined) {
      // Read-only: there is nothing to connect to.
      void this.#ready.then(() => this.#publisher.up(this.#keeper.run));
      return undefined;
    }
    const owner = {
      up: (facts: RunFacts, managerLife: string) => {
        if (upgradeUnit !== undefined) this.#keeper.read(facts, this.#circumstances(managerLife));
        this.#publisher.up(this.#keeper.run);
      },
      // The first status, too, is sent after the socket's attempt, because it marks the end of the start.
      down: (reason: string) => void this.#ready.then(() => this.#publisher.down(reason)),
      unit: (facts: RunFacts) => this.#keeper.feed({ kind: 'unit', facts }),
      jobEnded: (job: string, result: string) => this.#keeper.feed({ kind: 'job-ended', job, result }),
      check: (facts: RunFacts) => this.#publisher.check(facts),
    };
    return new UpgradeUnits(this.#settings, owner, bus, this.#ready, this.#clock);
  }

  #circumstances(manager: string): Circumstances {
    return { boot: this.#bootId, manager, unit: this.#settings.upgradeUnit ?? '' };
  }

  async #askUnit(): Promise<RunFacts | undefined> {
    if (this.#settings.upgradeUnit === undefined) return NOTHING_RAN;
    return this.#units?.readUpgradeUnit();
  }

  async #log(lines: number): Promise<Answer> {
    const unit = this.#units?.upgradeUnitId;
    return unit === undefined ? NOT_CONNECTED : this.#logs.read({ scope: 'user', unit, lines });
  }

  async #check(): Promise<Answer> {
    if (this.#units === undefined) return NOT_CONNECTED;
    const started = await this.#units.startCheck();
    return started.ok ? { ok: true } : started;
  }

  async #start(): Promise<Answer> {
    if (!this.#publisher.isUp || this.#units === undefined) return NOT_CONNECTED;
    if (this.#keeper.run.state === 'running') return IN_PROGRESS;
    // The first of several simultaneous starts decides for all: nothing is awaited up to here.
    if (this.#starting !== undefined) {
      const first = await this.#starting;
      return first.ok ? IN_PROGRESS : first;
    }
    this.#starting = this.#startUnit(this.#units);
    try {
      return await this.#starting;
    } finally {
      this.#starting = undefined;
    }
  }

  async #startUnit(units: UpgradeUnits): Promise<Answer> {
    const { count: sinceCount, facts } = this.#keeper.run;
    const started = await units.startUpgrade();
    if (!started.ok) return started;
    this.#keeper.feed({ ...started, kind: 'accepted', sinceCount, before: facts.invocation });
    await this.#store.settledInTime();
    return { ok: true };
  }
}
