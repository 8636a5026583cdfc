// The power backend: asks logind what it would grant, and orders the action. It caches no verdict, because a rule, a lock or a login may
// change it at any time without a signal. refusals.ts decides what an error means.

import type { Answer, PowerCommand } from '../../protocol/actor/commands.js';
import { type Fault, failure } from '../../protocol/actor/faults.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { LOGIND_METHODS } from '../../protocol/dbus/logind.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import { SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_SIGNALS } from '../../protocol/dbus/systemd.js';
import type { BusOptions, BusOwner } from '../bus/bus.js';
import { LogindBus } from '../bus/logind.js';
import type { Actor, Publisher } from '../runtime.js';
import {
  ACTIONS,
  type ActionRow,
  blockingLocks,
  inhibitedFault,
  isOutcomeUnknown,
  notGrantedFault,
  orderFault,
  type PowerAction,
  questionFault,
} from './refusals.js';

/** Question and order together stay below the 10 s after which a client gets a timeout (docs/http-api.md, "Limits"). */
const CALL_DEADLINE_MS = 4_500;

const { jobNew: JOB_NEW } = SYSTEMD_SIGNALS;

type GrantVerdict = { readonly verdict: string } | { readonly failed: Fault };

export class PowerBackend implements Actor<PowerCommand>, BusOwner {
  readonly #settings: PowerSettings;
  readonly #publish: Publisher;
  readonly #logind: LogindBus;
  /** Why there is no bus; undefined while there is one. */
  #away: string | undefined = 'not connected yet';
  /** The action that is being requested. Once logind has accepted one, it refuses others by itself. */
  #underWay: PowerAction | undefined;
  /** The target that systemd has begun to start since the last order to logind. */
  #begun: string | undefined;

  constructor(settings: PowerSettings, publish: Publisher, bus: BusOptions = {}) {
    this.#settings = settings;
    this.#publish = publish;
    this.#logind = new LogindBus({ callDeadlineMs: CALL_DEADLINE_MS, ...bus }, this);
  }

  async up(): Promise<void> {
    const { interface: iface, member } = JOB_NEW;
    const begun = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: iface, member };
    const matches = Object.values(ACTIONS).map(({ target }) => ({ ...begun, arg2: target }));
    const watched = await Promise.all(matches.map((match) => this.#logind.watch(match)));
    if (!watched.every(({ ok }) => ok)) throw new Error('systemd cannot be watched');
    this.#away = undefined;
    this.#publish.status('up');
  }

  down(reason: string): void {
    this.#away = reason;
    this.#publish.status('connecting', reason);
  }

  signal(signal: Signal): void {
    this.#begun = signalValues(JOB_NEW, signal)?.[2] ?? this.#begun;
  }

  async stop(): Promise<void> {
    this.#logind.stop();
  }

  async handle(command: PowerCommand): Promise<Answer> {
    if (command.do !== 'status' && !this.#enabled(ACTIONS[command.do])) {
      const { noun, capability } = ACTIONS[command.do];
      const detail = `The ${noun} is switched off: power.capabilities.${capability} is false`;
      return failure('capability-off', detail);
    }
    if (this.#away !== undefined) {
      return failure('unavailable', `Not connected to the system bus: ${this.#away}`);
    }
    return command.do === 'status' ? this.#status() : this.#actOnce(command.do);
  }

  #enabled({ capability }: ActionRow): boolean {
    return this.#settings.capabilities[capability];
  }

  async #status(): Promise<Answer> {
    const [reboot, powerOff] = await Promise.all([
      this.#askPermission(ACTIONS.reboot),
      this.#askPermission(ACTIONS.poweroff),
    ]);
    if ('failed' in reboot) return { ok: false, ...reboot.failed };
    if ('failed' in powerOff) return { ok: false, ...powerOff.failed };
    const record = { reboot: reboot.verdict === 'yes', power_off: powerOff.verdict === 'yes' };
    return { ok: true, text: JSON.stringify(record) };
  }

  /** A disabled action is not asked for: it is unavailable whatever logind would answer. */
  async #askPermission(row: ActionRow): Promise<GrantVerdict> {
    if (!this.#enabled(row)) return { verdict: 'no' };
    const outcome = await this.#logind.call(row.question, []);
    return outcome.ok ? { verdict: outcome.value } : { failed: questionFault(outcome.error) };
  }

  async #actOnce(action: PowerAction): Promise<Answer> {
    if (this.#underWay !== undefined) {
      const { noun } = ACTIONS[this.#underWay];
      return failure('in-progress', `A ${noun} is under way already`);
    }
    this.#underWay = action;
    try {
      const fault = await this.#act(action);
      return fault === undefined ? { ok: true } : { ok: false, ...fault };
    } finally {
      this.#underWay = undefined;
    }
  }

  /** Undefined if logind has accepted. Nothing may be awaited after that, so that the event and the answer are sent in the same batch. */
  async #act(action: PowerAction): Promise<Fault | undefined> {
    const row = ACTIONS[action];
    const refusal = await this.#refusal(row);
    if (refusal !== undefined) return refusal;
    const failure = await this.#order(row);
    if (failure !== undefined) return failure;
    this.#publish.put('power.action', '', JSON.stringify({ action }));
    this.#publish.log('warn', 'logind accepted a power action', { action });
    return undefined;
  }

  /**
   * Undefined if accepted. logind's reply decides: a shutdown alone may be somebody else's, with ours refused. But while systemd stops
   * services, logind and the bus among them, the reply may never arrive (seen on a busy machine): then the job that systemd has begun
   * decides, which it announces before logind can reply. A stop by SIGTERM waits for this (gateway/shutdown.ts).
   */
  async #order(row: ActionRow): Promise<Fault | undefined> {
    this.#begun = undefined;
    const outcome = await this.#logind.call(row.order, [false]);
    if (outcome.ok || (isOutcomeUnknown(outcome.error) && this.#begun === row.target)) return undefined;
    return orderFault(row, outcome.error);
  }

  /** Why logind would refuse now, as far as this can be known before the order. */
  async #refusal(row: ActionRow): Promise<Fault | undefined> {
    const [asked, listed] = await Promise.all([
      this.#askPermission(row),
      this.#logind.call(LOGIND_METHODS.listInhibitors, []),
    ]);
    if ('failed' in asked) return asked.failed;
    if (!listed.ok) return questionFault(listed.error);
    // Locks are checked first: another user's lock turns a `yes` into a `challenge`.
    const locks = blockingLocks(listed.value);
    if (locks.length > 0) return inhibitedFault(row, locks);
    return asked.verdict === 'yes' ? undefined : notGrantedFault(row, asked.verdict);
  }
}
