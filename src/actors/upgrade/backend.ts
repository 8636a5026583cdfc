// The upgrade backend. It makes the parts for the result file, the units, the progress socket and the state
// file, connects these parts, and runs the commands. publisher.ts decides what is published.

import { readFileSync } from 'node:fs';
import { type Clock, systemClock, within } from '../../host/clock.js';
import { type Answer, DONE, type UpgradeCommand } from '../../protocol/actor/commands.js';
import { failure } from '../../protocol/actor/faults.js';
import type { UpgradeSettings } from '../../protocol/actor/settings.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { FILE_WAIT_MAX_MS } from '../small-file.js';
import { NOTHING_RAN } from '../units/facts.js';
import { UnitLogs } from '../units/unit-logs.js';
import type { ProgressLine } from './progress-line.js';
import { ProgressSocket } from './progress-socket.js';
import { UpgradePublisher } from './publisher.js';
import { ResultFile, type ResultReading } from './result-file.js';
import { RunKeeper, type RunKeeperOwner } from './run-keeper.js';
import { RunStore } from './run-store.js';
import { type UpgradeContext, UpgradeUnits } from './upgrade-units.js';

/**
 * The longest wait of a stop for journalctl, the progress socket and the state file. The supervisor's limit
 * for a stop is longer.
 */
const STOP_MAX_MS = 800;

const NOT_CONNECTED = failure('unavailable', "The user's systemd is not connected");
const IN_PROGRESS = failure('run-in-progress', 'An upgrade run is in progress');

export class UpgradeBackend implements Actor<UpgradeCommand> {
  readonly #clock: Clock;
  readonly #store: RunStore;
  readonly #publisher: UpgradePublisher;
  readonly #keeper: RunKeeper;
  readonly #resultFile: ResultFile | undefined;
  readonly #socket: ProgressSocket;
  /** Undefined if no unit is configured, because systemd is not needed then. */
  readonly #units: UpgradeUnits | undefined;
  readonly #logs: UnitLogs;
  /** The answer to the start that is under way; undefined if no start is under way. */
  #starting: Promise<Answer> | undefined;

  constructor(settings: UpgradeSettings, publish: Publisher, context: UpgradeContext) {
    const { clock } = context;
    const { progressSocket, stateFile, resultFile, checkUnit, upgradeUnit } = settings;
    this.#clock = clock;
    this.#logs = new UnitLogs(clock);
    const publisher = new UpgradePublisher(settings, publish, clock);
    this.#publisher = publisher;
    this.#store = new RunStore(stateFile, (problem) => publisher.noteProblem('state file', problem), clock);
    const runOwner: RunKeeperOwner = {
      changed: (run) => publisher.setRun(run),
      save: (saved) => this.#store.save(saved),
      readUnit: async () => (upgradeUnit === undefined ? NOTHING_RAN : this.#units?.readUpgradeUnit()),
    };
    // `manager` identifies one life of the user's systemd. It is unknown until systemd is reached.
    const circumstances = { boot: context.bootId, manager: '', unit: upgradeUnit ?? '' };
    this.#keeper = new RunKeeper(circumstances, runOwner, clock);
    /** Resolves when the keeper has the run of the state file. */
    const recalled = this.#store.recall().then((saved) => this.#keeper.recall(saved));
    const onResult = (result: ResultReading): void => publisher.setResult(result);
    this.#resultFile = resultFile === undefined ? undefined : new ResultFile(resultFile, onResult, clock);
    this.#socket = this.#openSocket(progressSocket, recalled);
    const resultFileRead = this.#resultFile?.read() ?? Promise.resolve();
    /**
     * Resolves when the daemon has tried once to read both files and to open the socket. From then on the
     * records are complete. The state file needs no time limit here, because run-store.ts has one.
     */
    const ready = Promise.all([
      recalled,
      within(clock, FILE_WAIT_MAX_MS, resultFileRead),
      this.#socket.attempted,
    ]);
    // The state file may have an unfinished run of systemd, although no upgrade unit is configured any more.
    // No reading of a unit would end this run, so NOTHING_RAN ends it.
    if (upgradeUnit === undefined)
      void recalled.then(() => this.#keeper.applyReading(NOTHING_RAN, circumstances));
    const hasUnits = checkUnit !== undefined || upgradeUnit !== undefined;
    // UpgradeUnits calls the publisher's `up` by itself. Without units, `up` is called here.
    if (hasUnits)
      this.#units = new UpgradeUnits({
        ...context,
        settings,
        keeper: this.#keeper,
        publisher,
        ready,
        wasStopped: (invocation, isOneshot) => this.#logs.wasStopped(invocation, isOneshot),
      });
    else void ready.then(() => publisher.up(this.#keeper.run));
  }

  async handle(command: UpgradeCommand): Promise<Answer> {
    if (command.do === 'log') {
      // The log has a route only if an upgrade unit is configured. So `unit` is always defined here, and is
      // checked only for the compiler.
      const unit = this.#units?.upgradeUnitId;
      return unit ? this.#logs.read({ scope: 'user', unit, lines: command.lines }) : NOT_CONNECTED;
    }
    if (this.#units === undefined || !this.#publisher.isUp) return NOT_CONNECTED;
    if (command.do === 'start') return this.#start(this.#units);
    const started = await this.#units.startCheck();
    return started.ok ? DONE : started;
  }

  async stop(): Promise<void> {
    this.#units?.stop();
    this.#keeper.stop();
    this.#publisher.stop();
    this.#resultFile?.stop();
    const ends = [this.#logs.stop(), this.#socket.stop(), this.#store.stop()];
    await within(this.#clock, STOP_MAX_MS, Promise.all(ends));
  }

  #openSocket(path: string, recalled: Promise<void>): ProgressSocket {
    const owner = {
      onLine: async ({ content, text }: ProgressLine, connectedMs: number) => {
        await recalled;
        await this.#keeper.applyLine(content, connectedMs, () => this.#publisher.publishProgress(text));
      },
      onConnections: (count: number) => this.#keeper.setConnections(count),
      onProblem: (problem: string | undefined) => this.#publisher.noteProblem('progress socket', problem),
    };
    return new ProgressSocket(path, owner, this.#clock);
  }

  async #start(units: UpgradeUnits): Promise<Answer> {
    if (this.#keeper.run.state === 'running') return IN_PROGRESS;
    // If several starts come at the same time, only the first one starts the unit. Nothing may be awaited
    // before `#starting` is set. Otherwise another start could pass these checks meanwhile.
    if (this.#starting !== undefined) {
      const firstAnswer = await this.#starting;
      return firstAnswer.ok ? IN_PROGRESS : firstAnswer;
    }
    this.#starting = this.#startUnit(units).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #startUnit(units: UpgradeUnits): Promise<Answer> {
    // Both values are read before the call, because the signals of the new run may overtake systemd's reply.
    const { begunRuns: begunBefore, facts: factsBefore } = this.#keeper.run;
    const started = await units.startUpgrade();
    if (!started.ok) return started;
    const invocationBefore = factsBefore.invocation;
    this.#keeper.applyInput({ ...started.value, kind: 'accepted', begunBefore, invocationBefore });
    // The answer waits until the run is saved, so that a restart of the daemon does not lose the run.
    await this.#store.whenWritten();
    return DONE;
  }
}

/** This file has an id that is new after each boot of the kernel (random(4)). */
const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';

export default actorThread<'upgrade'>((settings, publish) => {
  const bootId = readFileSync(BOOT_ID_PATH, 'utf8').trim();
  return new UpgradeBackend(settings, publish, { bus: {}, bootId, clock: systemClock });
});
