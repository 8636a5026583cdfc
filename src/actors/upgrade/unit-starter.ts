// Starts units on the user's bus, and finds out whether the upgrade unit comes to run by it. What becomes of it then is told by
// unit-follower.ts, whose eyes this file sees with.

import type { Fault } from '../../protocol/actor/faults.js';
import { SYSTEMD_METHODS } from '../../protocol/dbus/systemd.js';
import type { UserBus } from '../bus/bus.js';
import { faultOf } from '../bus/fault.js';
import type { JobEnds } from '../bus/units.js';
import { type Clock, within } from '../clock.js';
import { isExited, type UpgradeFacts } from './unit-facts.js';

/** From the call on; a job that is queued still was accepted. With the writing of the state file behind it within a command's 10 s. */
const START_MAX_MS = 8_000;

/** What is known of the upgrade unit by now. */
export interface Sight {
  readonly facts: UpgradeFacts;
  readonly jobEnds: JobEnds;
}

/** `job`: its path; `jobResult` when it has ended already. */
export type Started =
  | { readonly ok: true; readonly job: string; readonly jobResult?: string }
  | ({ readonly ok: false } & Fault);

export class UnitStarter {
  readonly #bus: UserBus;
  readonly #sight: () => Sight;
  readonly #clock: Clock;
  /** Who waits for what becomes of a job. */
  #look: (() => void) | undefined;

  constructor(bus: UserBus, sight: () => Sight, clock: Clock) {
    this.#bus = bus;
    this.#sight = sight;
    this.#clock = clock;
  }

  /** To be called whenever something else may be in sight. */
  stirred(): void {
    this.#look?.();
  }

  async start(unit: string, method: 'startUnit' | 'restartUnit' = 'startUnit'): Promise<Started> {
    const outcome = await this.#bus.call(SYSTEMD_METHODS[method], [unit, 'replace']);
    if (!outcome.ok) return { ok: false, ...faultOf(outcome.error, `The start of ${unit} failed`) };
    return { ok: true, job: outcome.value };
  }

  /**
   * Starts the upgrade unit, again if it has done its work and remembers it (RemainAfterExit). Resolves when it runs, has been
   * kept from running, or is queued for long. One call at a time.
   */
  async startUpgrade(unit: string): Promise<Started> {
    const endMs = this.#clock.monotonic() + START_MAX_MS;
    const { facts: before } = this.#sight();
    const started = await this.start(unit, isExited(before) ? 'restartUnit' : 'startUnit');
    return started.ok ? this.#begun(unit, started.job, before.invocation, endMs) : started;
  }

  /** "done" is also the result of a job whose condition was not met (measured, systemd 252): only an invocation is a run. */
  async #begun(unit: string, job: string, before: string, endMs: number): Promise<Started> {
    const hasRun = () => !['', before].includes(this.#sight().facts.invocation);
    const result = () => this.#sight().jobEnds.resultOf(job);
    const decided = new Promise<void>((resolve) => {
      this.#look = () => {
        if (hasRun() || result() !== undefined) resolve();
      };
      this.#look();
    });
    await within(this.#clock, Math.max(endMs - this.#clock.monotonic(), 0), decided);
    this.#look = undefined;
    const jobResult = result();
    if (jobResult === undefined) return { ok: true, job };
    return hasRun() ? { ok: true, job, jobResult } : didNotRun(unit, jobResult, this.#sight().facts);
  }
}

function didNotRun(unit: string, jobResult: string, { result, conditionMet }: UpgradeFacts): Started {
  const why = conditionMet ? '' : ', a condition of the unit is not met';
  const detail = `${unit} did not run: the job's result is ${jobResult}, the unit's Result ${result}${why}`;
  return { ok: false, fault: 'refused', detail };
}
