// A scripted systemd manager, for cases that tests cannot cause in a real manager: a reload that never ends,
// a late answer, a refusal. The code under test uses this manager in place of a bus. The manager answers the
// few calls that a follower of units and the follower's owner make. It sends a signal only when a test calls
// `sendChange` or a similar method.

import { setImmediate as turn } from 'node:timers/promises';
import type { BusCallOptions, BusOwner } from '../../../src/actors/bus/bus.js';
import type { BusResult } from '../../../src/actors/bus/fault.js';
import { PROPERTIES_CHANGED } from '../../../src/protocol/dbus/daemon.js';
import type { Match, Method, SignalRow } from '../../../src/protocol/dbus/method.js';
import {
  SYSTEMD_PATH,
  SYSTEMD_SIGNALS,
  UNIT_INTERFACE,
  unitPath,
} from '../../../src/protocol/dbus/systemd.js';

type Properties = Readonly<Record<string, unknown>>;

/** A real connection to a bus has the same limit: further calls are refused. */
const CALLS_MAX_AT_ONCE = 256;

/** How many turns of the event loop `settle` waits. */
const TURNS_TO_SETTLE = 20;

/** The path of the job in each answer to StartUnit, RestartUnit and StopUnit. */
export const JOB_PATH = '/org/freedesktop/systemd1/job/1';

const ANSWERED: BusResult<undefined> = { ok: true, value: undefined };

/** Waits until promises have settled. A promise that needs a timer or another process may stay pending. */
export async function settle(): Promise<void> {
  for (let count = 0; count < TURNS_TO_SETTLE; count += 1) await turn();
}

export class ScriptedManager {
  readonly kind = 'system';
  #owner: BusOwner | undefined;
  /** The properties of each unit, by the name of the unit. */
  readonly units = new Map<string, Properties>();
  /** The state of each unit's file, such as `enabled`, by the name of the unit. */
  readonly files = new Map<string, string>();
  /** The names of the called methods, in order. */
  readonly calls: string[] = [];
  /** The match rules of all calls of `watch`, in order. */
  readonly matches: Match[] = [];
  /** The error that answers each call of a method, by the name of the method. */
  readonly refusals = new Map<string, BusResult<never>>();
  /** The function that runs at each call of a method, before the answer, by the name of the method. */
  readonly effects = new Map<string, () => void>();
  /** The unit of each call of `StopUnit`, in order. */
  readonly stopCalls: string[] = [];
  /** Settles when `GetAll` is answered again; undefined before the first pause. */
  #pauseEnd: Promise<void> | undefined;
  isStopped = false;
  #callsUnderWay = 0;

  /** The code under test calls this function where it would make a real bus. */
  readonly busOf = (owner: BusOwner): this => {
    this.#owner = owner;
    return this;
  };

  /** Reports to the owner that the bus is connected. */
  async up(): Promise<void> {
    await this.#owner?.up();
  }

  async call<Args extends readonly unknown[], Result>(
    { member }: Method<Args, Result, 'none'>,
    args: Args,
    { path }: BusCallOptions = {},
  ): Promise<BusResult<Result>> {
    if (this.#callsUnderWay >= CALLS_MAX_AT_ONCE) {
      return { ok: false, error: { kind: 'local', detail: 'too many calls without an answer' } };
    }
    this.#callsUnderWay += 1;
    // The manager receives the call only after `call` has returned its promise. A real bus does the same.
    await Promise.resolve();
    this.calls.push(member);
    this.effects.get(member)?.();
    // The answer is made before the pause, so a late answer has the properties from the time of the call.
    const answer = this.refusals.get(member) ?? this.#answer(member, args, path);
    if (member === 'GetAll') await this.#pauseEnd;
    this.#callsUnderWay -= 1;
    return answer as BusResult<Result>;
  }

  async watch(match: Match): Promise<BusResult<undefined>> {
    this.matches.push(match);
    return ANSWERED;
  }

  stop(): void {
    this.isStopped = true;
  }

  /** From now on no `GetAll` is answered, until the returned function is called. */
  pauseReadings(): () => void {
    let answerReadings = (): void => undefined;
    this.#pauseEnd = new Promise((resolve) => {
      answerReadings = resolve;
    });
    return answerReadings;
  }

  #answer(member: string, args: readonly unknown[], path: string | undefined): BusResult<unknown> {
    if (member === 'GetAll') {
      const [, properties] = [...this.units].find(([name]) => unitPath(name) === path) ?? [];
      return { ok: true, value: properties ?? { LoadState: 'not-found', ActiveState: 'inactive' } };
    }
    if (member === 'StopUnit') this.stopCalls.push(String(args[0]));
    if (['StartUnit', 'RestartUnit', 'StopUnit'].includes(member)) return { ok: true, value: JOB_PATH };
    if (member === 'GetUnitFileState') return this.#fileState(String(args[0]));
    return ANSWERED;
  }

  #fileState(unit: string): BusResult<string> {
    const state = this.files.get(unit);
    if (state !== undefined) return { ok: true, value: state };
    const name = 'org.freedesktop.DBus.Error.FileNotFound';
    return { ok: false, error: { kind: 'dbus', name, text: '' } };
  }

  /** Counts the calls of this method, and forgets all calls so far, also those of other methods. */
  takeCallCount(member: string): number {
    const count = this.calls.filter((called) => called === member).length;
    this.calls.length = 0;
    return count;
  }

  setUnit(name: string, properties: Properties): void {
    this.units.set(name, { Id: name, Names: [name], LoadState: 'loaded', ...properties });
  }

  sendChange(name: string, properties: Properties): void {
    this.#send(PROPERTIES_CHANGED, unitPath(name), [UNIT_INTERFACE, properties, []]);
  }

  sendUnitRemoved(name: string): void {
    this.#send(SYSTEMD_SIGNALS.unitRemoved, SYSTEMD_PATH, [name, unitPath(name)]);
  }

  sendJobRemoved(job: string, name: string, result: string): void {
    this.#send(SYSTEMD_SIGNALS.jobRemoved, SYSTEMD_PATH, [1, job, name, result]);
  }

  sendReloading(active: boolean): void {
    this.#send(SYSTEMD_SIGNALS.reloading, SYSTEMD_PATH, [active]);
  }

  #send(row: SignalRow, path: string, values: readonly unknown[]): void {
    const { interface: iface, member, signature } = row;
    this.#owner?.signal({ sender: ':1.1', path, interface: iface, member, signature, values });
  }
}
