// Changes units of the user: asks the manager, waits for the job, looks at what has become of the unit. It is made over a
// scope on the user's bus, and no other type of bus takes the calls that it makes.

import type { Answer, SystemdCommand } from '../../protocol/actor/commands.js';
import { SYSTEMD_ERRORS, SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { UserBus } from '../bus/bus.js';
import { type BusError, faultOf, type Outcome } from '../bus/fault.js';
import { isAtRest } from '../bus/units.js';
import { type Clock, delay } from '../clock.js';
import type { JobEnd } from './jobs.js';
import { type Aim, judgeJob } from './judge.js';
import type { Scope } from './scope.js';
import type { ServiceFacts } from './service-facts.js';
import type { Row } from './unit-table.js';
import type { Watched } from './whitelist.js';

/** Below the supervisor's 10 s, so that our own answer arrives (contract, section 3). */
const COMMAND_MAX_MS = 9_000;
/**
 * A service counts as started before its program has been executed, and a missing one shows a moment after the job's end
 * (below 1 ms, measured on a fast machine).
 */
const FIRST_BREATH_MS = 200;

type Verb = SystemdCommand['do'];

interface Plan {
  /** For people: what is done to the unit. */
  readonly noun: string;
  readonly files?: 'enable' | 'disable';
  readonly job: 'startUnit' | 'stopUnit' | 'restartUnit';
  readonly aim: Aim;
}

/** enable and disable are as with `systemctl --now`. */
const PLANS: Readonly<Record<Verb, Plan>> = {
  start: { noun: 'start', job: 'startUnit', aim: 'started' },
  stop: { noun: 'stop', job: 'stopUnit', aim: 'stopped' },
  restart: { noun: 'restart', job: 'restartUnit', aim: 'started' },
  enable: { noun: 'enabling', files: 'enable', job: 'startUnit', aim: 'started' },
  disable: { noun: 'disabling', files: 'disable', job: 'stopUnit', aim: 'stopped' },
};

const OK: Answer = { ok: true };

export class UnitCommands {
  readonly #scope: Scope<UserBus>;
  readonly #clock: Clock;

  constructor(scope: Scope<UserBus>, clock: Clock) {
    this.#scope = scope;
    this.#clock = clock;
  }

  /** Resolves when the unit's job is over, or at the latest after 9 s: what is still queued then was accepted. */
  async run(verb: Verb, unit: Watched): Promise<Answer> {
    const plan = PLANS[verb];
    const deadline = this.#clock.monotonic() + COMMAND_MAX_MS;
    // Before the links are changed: behind them the name may lead nowhere, while the unit that it led to runs on.
    const before = this.#scope.table.row(unit.key)?.facts;
    if (plan.files !== undefined) {
      const failed = await this.#changeFiles(plan.files, unit.name, deadline);
      // Also where it went wrong half-way: links may have been made.
      await this.#scope.refresh(unit.key);
      if (failed !== undefined) return refusal(plan, unit, failed);
    }
    return this.#carryOut(plan, unit, before, deadline);
  }

  /** As systemctl does it: the links, then a reload, so that the manager knows them. */
  async #changeFiles(
    how: 'enable' | 'disable',
    name: string,
    deadline: number,
  ): Promise<BusError | undefined> {
    const { bus } = this.#scope;
    const { enableUnitFiles, disableUnitFiles, reload } = SYSTEMD_METHODS;
    const within = (): { deadlineMs: number } => ({ deadlineMs: this.#left(deadline) });
    const changed: Outcome<unknown> =
      how === 'enable'
        ? await bus.call(enableUnitFiles, [[name], false, false], within())
        : await bus.call(disableUnitFiles, [[name], false], within());
    if (!changed.ok) return changed.error;
    const reloaded = await bus.call(reload, [], within());
    return reloaded.ok ? undefined : reloaded.error;
  }

  async #carryOut(
    plan: Plan,
    unit: Watched,
    before: ServiceFacts | undefined,
    deadline: number,
  ): Promise<Answer> {
    const { key, name } = unit;
    const { bus, table } = this.#scope;
    const lost = plan.files === 'disable' ? this.#lostUnit(key, before) : undefined;
    const call = await bus.call(SYSTEMD_METHODS[plan.job], [lost ?? name, 'replace'], {
      deadlineMs: this.#left(deadline),
    });
    if (!call.ok) return isGoneAlready(plan, before, call.error) ? OK : refusal(plan, unit, call.error);
    const end = await this.#jobEnd(call.value, lost ?? key, deadline);
    if (end === undefined) return OK;
    if (end.kind === 'away') return refusal(plan, unit, { kind: 'closed' });
    // Signals that a job caused come before its end. Without signals, or with those of another unit, there is only looking.
    if (!this.#scope.hasSignals || lost !== undefined) await this.#scope.refresh(key);
    if (plan.aim === 'started') await this.#firstBreath(key, before?.invocation, deadline);
    const row = table.row(key);
    return row === undefined ? OK : judgeJob(plan.aim, end.result, row.facts);
  }

  /** The unit that an alias led to until its link was taken away; undefined for a name that leads where it did. */
  #lostUnit(key: string, before: ServiceFacts | undefined): string | undefined {
    return before?.id === this.#scope.table.row(key)?.facts.id ? undefined : before?.id;
  }

  /** How the job ended; undefined when it has not. `whose` is the key of a listed unit, or the name of another one. */
  async #jobEnd(job: string, whose: string, deadline: number): Promise<JobEnd | undefined> {
    const { end, forget } = this.#scope.jobs.wait(job, whose);
    const timeout = delay(this.#clock, this.#left(deadline));
    const first = await Promise.race([end, timeout.passed.then(() => undefined)]);
    forget();
    timeout.cancel();
    return first;
  }

  async #firstBreath(key: string, before: string | undefined, deadline: number): Promise<void> {
    const row = this.#scope.table.row(key);
    if (row === undefined || !isRunning(row) || row.facts.invocation === before) return;
    const wait = Math.min(FIRST_BREATH_MS, this.#left(deadline));
    await this.#scope.points.until(row, (now) => !isRunning(now), wait);
  }

  #left(deadline: number): number {
    return Math.max(1, deadline - this.#clock.monotonic());
  }
}

function refusal({ noun }: Plan, { name }: Watched, error: BusError): Answer {
  return { ok: false, ...faultOf(error, `The ${noun} of ${name} failed`) };
}

function isRunning({ watched, facts }: Row): boolean {
  return watched.name.endsWith('.service') && facts.activeState === 'active' && facts.subState === 'running';
}

/** A linked unit whose link was taken away is not there to be stopped. While it runs it stays there. */
function isGoneAlready({ files }: Plan, before: ServiceFacts | undefined, error: BusError): boolean {
  if (files !== 'disable' || before === undefined || !isAtRest(before)) return false;
  return error.kind === 'dbus' && error.name === SYSTEMD_ERRORS.noSuchUnit;
}
