// A scripted manager for moments that no real one can be made to hit: it sends no end of a reload, answers
// late, refuses. It answers the few calls that a scope makes, and sends the signals that the test wants.

import { setImmediate as turn } from 'node:timers/promises';
import type { BusOwner, CallOptions } from '../../../src/actors/bus/bus.js';
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

/** The limit of a real connection: more calls at once are refused. */
const CALLS_MAX_AT_ONCE = 256;

/** Every job has this path. */
export const JOB_PATH = '/org/freedesktop/systemd1/job/1';

const ANSWERED: BusResult<undefined> = { ok: true, value: undefined };

/** Lets promises settle that wait for nothing outside. */
export async function settle(): Promise<void> {
  for (let each = 0; each < 20; each += 1) await turn();
}

export class ScriptedManager {
  readonly kind = 'system';
  #owner: BusOwner | undefined;
  /** Keys are units. */
  readonly units = new Map<string, Properties>();
  readonly files = new Map<string, string>();
  readonly calls: string[] = [];
  readonly matches: Match[] = [];
  /** The error for each call of a member. */
  readonly refusals = new Map<string, BusResult<never>>();
  /** The changes that calls of a member cause. */
  readonly effects = new Map<string, () => void>();
  /** The units of all calls of `StopUnit`. */
  readonly stopCalls: string[] = [];
  #gate: Promise<void> | undefined;
  stopped = false;
  #underWay = 0;

  /** For code that makes its own bus. */
  readonly busOf = (owner: BusOwner): this => {
    this.#owner = owner;
    return this;
  };

  /** The bus is there. */
  async up(): Promise<void> {
    await this.#owner?.up();
  }

  async call<Args extends readonly unknown[], Result>(
    { member }: Method<Args, Result, 'none'>,
    args: Args,
    { path }: CallOptions = {},
  ): Promise<BusResult<Result>> {
    if (this.#underWay >= CALLS_MAX_AT_ONCE) {
      return { ok: false, error: { kind: 'local', detail: 'too many calls without an answer' } };
    }
    this.#underWay += 1;
    await Promise.resolve();
    this.calls.push(member);
    this.effects.get(member)?.();
    const answer = this.refusals.get(member) ?? this.#answer(member, args, path);
    if (member === 'GetAll') await this.#gate;
    this.#underWay -= 1;
    return answer as BusResult<Result>;
  }

  async watch(match: Match): Promise<BusResult<undefined>> {
    this.matches.push(match);
    return ANSWERED;
  }

  stop(): void {
    this.stopped = true;
  }

  /** Readings wait from now on, until the returned function is called. */
  hold(): () => void {
    let open = (): void => undefined;
    this.#gate = new Promise((resolve) => {
      open = resolve;
    });
    return open;
  }

  #answer(member: string, args: readonly unknown[], path: string | undefined): BusResult<unknown> {
    if (member === 'GetAll') {
      const found = [...this.units].find(([name]) => unitPath(name) === path);
      return { ok: true, value: found?.[1] ?? { LoadState: 'not-found', ActiveState: 'inactive' } };
    }
    if (member === 'StopUnit') this.stopCalls.push(String(args[0]));
    if (member === 'StartUnit' || member === 'StopUnit') return { ok: true, value: JOB_PATH };
    if (member !== 'GetUnitFileState') return ANSWERED;
    const value = this.files.get(String(args[0]));
    const name = 'org.freedesktop.DBus.Error.FileNotFound';
    return value === undefined ? { ok: false, error: { kind: 'dbus', name, text: '' } } : { ok: true, value };
  }

  /** The number of calls of a member since the last time this was asked. */
  counted(member: string): number {
    const count = this.calls.filter((each) => each === member).length;
    this.calls.length = 0;
    return count;
  }

  unitIs(name: string, properties: Properties): void {
    this.units.set(name, { Id: name, Names: [name], LoadState: 'loaded', ...properties });
  }

  changed(name: string, properties: Properties): void {
    this.#send(PROPERTIES_CHANGED, unitPath(name), [UNIT_INTERFACE, properties, []]);
  }

  unitRemoved(name: string): void {
    this.#send(SYSTEMD_SIGNALS.unitRemoved, SYSTEMD_PATH, [name, unitPath(name)]);
  }

  jobRemoved(job: string, name: string, result: string): void {
    this.#send(SYSTEMD_SIGNALS.jobRemoved, SYSTEMD_PATH, [1, job, name, result]);
  }

  reloading(active: boolean): void {
    this.#send(SYSTEMD_SIGNALS.reloading, SYSTEMD_PATH, [active]);
  }

  #send(row: SignalRow, path: string, values: readonly unknown[]): void {
    const { interface: iface, member, signature } = row;
    this.#owner?.signal({ sender: ':1.1', path, interface: iface, member, signature, values });
  }
}
