// A scripted systemd on a real bus: it starts, stops, enables and disables units, and announces that as
// systemd does. A unit of the kind `oneshot` stays `activating` until the test ends its run.

import { Variant } from 'dbus-next';
import {
  MANAGER_INTERFACE,
  SYSTEMD_ERRORS,
  SYSTEMD_NAME,
  SYSTEMD_PATH,
  UNIT_INTERFACE,
  unitPath,
} from '../../../src/protocol/dbus/systemd.js';
import type { Ending } from '../daemon.js';
import { type BusAnswer, type BusAnswers, type BusCall, BusService } from './bus-service.js';

const PROPERTIES = 'org.freedesktop.DBus.Properties';
const JOBS = `${SYSTEMD_PATH}/job`;
const ID_BYTES = 16;
/** The time at which this systemd has started. Another time would mean that it has started anew. */
const STARTED_US = 17n;

interface Unit {
  readonly name: string;
  readonly isOneshot: boolean;
  state: readonly [active: string, sub: string];
  fileState: string;
  result: string;
  /** The number of runs so far. The invocation's id is made of this number. */
  runs: number;
  /** The id of the job that is under way, or 0. */
  job: number;
}

export class UnitManager {
  readonly #units: readonly Unit[];
  #jobCount = 0;
  #service: BusService | undefined;

  private constructor(units: readonly Unit[]) {
    this.#units = units;
  }

  /**
   * Starts a systemd that has these units. `services` and `oneshots` are names, separated by spaces. A unit
   * of `oneshots` is of the kind `oneshot`.
   */
  static async start(t: Ending, address: string, services: string, oneshots = ''): Promise<UnitManager> {
    const splitNames = (names: string) => names.split(' ').filter((name) => name !== '');
    const oneshotNames = splitNames(oneshots);
    const units = splitNames(`${services} ${oneshots}`).map((name): Unit => {
      const isOneshot = oneshotNames.includes(name);
      const state = ['inactive', 'dead'] as const;
      return { name, isOneshot, state, fileState: 'disabled', result: 'success', runs: 0, job: 0 };
    });
    const manager = new UnitManager(units);
    await manager.#serve(t, address);
    return manager;
  }

  get calls(): readonly string[] {
    return this.#service?.calls ?? [];
  }

  /** Changes the state of a unit, as if something else than the daemon had started or stopped it. */
  set(name: string, active: string, sub: string): void {
    const unit = this.#unit(name);
    unit.state = [active, sub];
    this.#announceState(unit);
  }

  /** Ends the run of a unit of the kind `oneshot`. */
  endRun(name: string): void {
    const unit = this.#unit(name);
    const { job } = unit;
    unit.state = ['inactive', 'dead'];
    unit.job = 0;
    this.#announceState(unit);
    this.#announceEndOfJob(unit, job);
  }

  async #serve(t: Ending, address: string): Promise<void> {
    this.#service = await BusService.start(t, address, SYSTEMD_NAME, this.#answers());
  }

  #unit(name: string): Unit {
    const found = this.#units.find((unit) => unit.name === name);
    if (found === undefined) throw new Error(`there is no unit ${name}`);
    return found;
  }

  #answers(): BusAnswers {
    // An empty signature: the answer has no value.
    const emptyAnswer = (): BusAnswer => [''];
    // `EnableUnitFiles` and `DisableUnitFiles` begin with a list of names, other calls with one name.
    const unitNameOf = ({ values: [first] }: BusCall): string =>
      String(Array.isArray(first) ? first[0] : first);
    const fileStateHandler = (fileState: string, answer: BusAnswer) => (call: BusCall) => {
      this.#unit(unitNameOf(call)).fileState = fileState;
      setImmediate(() => this.#service?.emit(SYSTEMD_PATH, MANAGER_INTERFACE, 'UnitFilesChanged', ''));
      return answer;
    };
    const jobHandler = (act: (unit: Unit) => void) => (call: BusCall) =>
      this.#beginJob(this.#unit(unitNameOf(call)), act);
    return {
      Subscribe: emptyAnswer,
      Reload: emptyAnswer,
      ResetFailedUnit: emptyAnswer,
      GetAll: ({ path }) => ['a{sv}', this.#propertiesAt(path)],
      GetUnitFileState: (call) => {
        const unit = this.#units.find(({ name }) => name === unitNameOf(call));
        return unit === undefined ? { error: SYSTEMD_ERRORS.fileNotFound } : ['s', unit.fileState];
      },
      StartUnit: jobHandler((unit) => this.#run(unit)),
      RestartUnit: jobHandler((unit) => this.#run(unit)),
      StopUnit: jobHandler((unit) => {
        unit.state = ['inactive', 'dead'];
      }),
      // `true` is systemd's `carries_install_info`. The empty lists are those of the changed links.
      EnableUnitFiles: fileStateHandler('enabled', ['ba(sss)', true, []]),
      DisableUnitFiles: fileStateHandler('disabled', ['a(sss)', []]),
    };
  }

  #run(unit: Unit): void {
    unit.runs += 1;
    unit.state = unit.isOneshot ? ['activating', 'start'] : ['active', 'running'];
  }

  /** Begins a job. The effect of the job is announced after the answer to the call, as systemd does it. */
  #beginJob(unit: Unit, act: (unit: Unit) => void): BusAnswer {
    this.#jobCount += 1;
    const job = this.#jobCount;
    setImmediate(() => {
      act(unit);
      // The job of a `oneshot` lasts until `endRun`. Every other job is over at once.
      if (unit.isOneshot) unit.job = job;
      this.#announceState(unit);
      if (!unit.isOneshot) this.#announceEndOfJob(unit, job);
    });
    return ['o', `${JOBS}/${job}`];
  }

  #announceEndOfJob({ name }: Unit, job: number): void {
    const values = [job, `${JOBS}/${job}`, name, 'done'];
    this.#service?.emit(SYSTEMD_PATH, MANAGER_INTERFACE, 'JobRemoved', 'uoss', ...values);
  }

  #announceState(unit: Unit): void {
    const values = [UNIT_INTERFACE, this.#stateOf(unit), []];
    this.#service?.emit(unitPath(unit.name), PROPERTIES, 'PropertiesChanged', 'sa{sv}as', ...values);
  }

  #stateOf({ state: [active, sub], runs, job }: Unit): Record<string, Variant> {
    const id = runs === 0 ? [] : Array.from({ length: ID_BYTES }, () => runs);
    return {
      ActiveState: new Variant('s', active),
      SubState: new Variant('s', sub),
      InvocationID: new Variant('ay', Buffer.from(id)),
      Job: new Variant('(uo)', [job, job === 0 ? '/' : `${JOBS}/${job}`]),
      ConditionResult: new Variant('b', true),
    };
  }

  #propertiesAt(path: string): Record<string, Variant> {
    if (path === SYSTEMD_PATH) return { UserspaceTimestampMonotonic: new Variant('t', STARTED_US) };
    const unit = this.#units.find(({ name }) => unitPath(name) === path);
    if (unit === undefined) return { LoadState: new Variant('s', 'not-found') };
    return {
      ...this.#stateOf(unit),
      Id: new Variant('s', unit.name),
      Names: new Variant('as', [unit.name]),
      Description: new Variant('s', `The unit ${unit.name}`),
      LoadState: new Variant('s', 'loaded'),
      Result: new Variant('s', unit.result),
    };
  }
}
