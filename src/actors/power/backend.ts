// The power backend: asks logind what it would grant, and orders the action. It caches no verdict, because a
// rule, a lock or a login may change it at any time without a signal.

import { type Answer, DONE, type PowerCommand } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { LOGIND_ERRORS, LOGIND_METHODS } from '../../protocol/dbus/logind.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Values } from '../../protocol/dbus/signatures.js';
import { SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_SIGNALS } from '../../protocol/dbus/systemd.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { type BusError, faultOf } from '../bus/fault.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';
import { clipped } from '../text.js';

/**
 * Question and order together stay below the 10 s after which a client gets a timeout (docs/http-api.md,
 * "Limits").
 */
const CALL_DEADLINE_MS = 4_500;

/** logind's verdict on what is switched off here. */
const NO = { ok: true, value: 'no' } as const;

type PowerAction = Exclude<PowerCommand['do'], 'status'>;

interface ActionRow {
  /** The action's name in messages to people. */
  readonly noun: string;
  readonly question: (typeof LOGIND_METHODS)['canReboot'];
  readonly order: (typeof LOGIND_METHODS)['reboot'];
  /** The polkit action, and the one that is checked instead while other users have a session. */
  readonly permissions: readonly [alone: string, amongOthers: string];
}

const ACTIONS: { readonly [A in PowerAction]: ActionRow } = {
  reboot: {
    noun: 'reboot',
    question: LOGIND_METHODS.canReboot,
    order: LOGIND_METHODS.reboot,
    permissions: ['org.freedesktop.login1.reboot', 'org.freedesktop.login1.reboot-multiple-sessions'],
  },
  poweroff: {
    noun: 'power-off',
    question: LOGIND_METHODS.canPowerOff,
    order: LOGIND_METHODS.powerOff,
    permissions: ['org.freedesktop.login1.power-off', 'org.freedesktop.login1.power-off-multiple-sessions'],
  },
};

export class PowerBackend implements Actor<PowerCommand>, BusOwner {
  readonly #settings: PowerSettings;
  readonly #publish: Publisher;
  readonly #logind: Bus<'power'>;
  /** Why there is no bus; undefined while there is one. */
  #away: string | undefined = 'not connected yet';
  /** The action that is being requested. Once logind has accepted one, it refuses others by itself. */
  #underWay: PowerAction | undefined;
  /**
   * The target that systemd has begun to start since the last order to logind; each has the name of its
   * action.
   */
  #begun: string | undefined;

  constructor(settings: PowerSettings, publish: Publisher, bus: BusOptions = {}) {
    this.#settings = settings;
    this.#publish = publish;
    this.#logind = new Bus('power', { callDeadlineMs: CALL_DEADLINE_MS, ...bus }, this);
  }

  async up(): Promise<void> {
    const { interface: iface, member } = SYSTEMD_SIGNALS.jobNew;
    const begun = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: iface, member };
    const matches = Object.keys(ACTIONS).map((action) => ({ ...begun, arg2: `${action}.target` }));
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
    this.#begun = signalValues(SYSTEMD_SIGNALS.jobNew, signal)?.[2] ?? this.#begun;
  }

  async stop(): Promise<void> {
    this.#logind.stop();
  }

  async handle(command: PowerCommand): Promise<Answer> {
    const { capabilities } = this.#settings;
    if (command.do !== 'status' && !capabilities[command.do]) {
      const detail = `The ${ACTIONS[command.do].noun} is switched off: power.capabilities.${command.do} is false`;
      return failure('capability-off', detail);
    }
    if (this.#away !== undefined)
      return failure('unavailable', `Not connected to the system bus: ${this.#away}`);
    if (command.do === 'status') return this.#status();
    if (this.#underWay !== undefined)
      return failure('in-progress', `A ${ACTIONS[this.#underWay].noun} is under way already`);
    this.#underWay = command.do;
    return this.#act(command.do).finally(() => {
      this.#underWay = undefined;
    });
  }

  /** logind is not asked about a disabled action: it is unavailable, whatever logind would answer. */
  async #status(): Promise<Answer> {
    const ask = async (action: PowerAction) =>
      this.#settings.capabilities[action] ? this.#logind.call(ACTIONS[action].question, []) : NO;
    const [reboot, powerOff] = await Promise.all([ask('reboot'), ask('poweroff')]);
    if (!reboot.ok) return questionFault(reboot.error);
    if (!powerOff.ok) return questionFault(powerOff.error);
    const record = { reboot: reboot.value === 'yes', power_off: powerOff.value === 'yes' };
    return success({ text: JSON.stringify(record) });
  }

  /**
   * Nothing may be awaited after logind has accepted, so that the event and the answer are sent in the same
   * batch.
   */
  async #act(action: PowerAction): Promise<Answer> {
    const row = ACTIONS[action];
    const [permission, inhibitors] = await Promise.all([
      this.#logind.call(row.question, []),
      this.#logind.call(LOGIND_METHODS.listInhibitors, []),
    ]);
    if (!permission.ok) return questionFault(permission.error);
    if (!inhibitors.ok) return questionFault(inhibitors.error);
    // Locks are checked first: another user's lock turns a `yes` into a `challenge`.
    const locks = blockingLocks(inhibitors.value);
    if (locks.length > 0) return inhibitedFault(row, locks);
    if (permission.value !== 'yes') return notGrantedFault(row, permission.value);
    this.#begun = undefined;
    const ordered = await this.#logind.call(row.order, [false]);
    if (!ordered.ok && !this.#isAccepted(action, ordered.error))
      return faultOf(ordered.error, `The ${row.noun} was not accepted by logind`, { byName: ORDER_ERRORS });
    this.#publish.put('power.action', '', JSON.stringify({ action }));
    this.#publish.log('warn', 'logind accepted a power action', { action });
    return DONE;
  }

  /**
   * logind's reply decides. That a shutdown begins is not enough: somebody else may have ordered it, while
   * our order was refused. But systemd stops logind and the bus, too, so the reply may never arrive
   * (docs/development/what-we-learnt.md, "systemd, logind and Avahi"). Then the job that systemd has begun
   * decides: systemd announces it before logind can reply. A stop by SIGTERM waits for this
   * (gateway/gateway.ts).
   */
  #isAccepted(action: PowerAction, error: BusError): boolean {
    const isSilent = error.kind === 'dbus' ? error.name === LOGIND_ERRORS.noReply : error.kind !== 'local';
    return isSilent && this.#begun === `${action}.target`;
  }
}

type Inhibitor = Values<'a(ssssuu)'>[0][number];

/** Longest text of a lock's holder that is repeated to a client. */
const QUOTED_MAX_CHARACTERS = 200;
const NAMED_MAX_INHIBITORS = 5;

/** `block-weak` (systemd 257) is the former `block`: it stops everybody except root. */
const BLOCKING_MODES: readonly string[] = ['block', 'block-weak'];

/**
 * The locks that forbid a shutdown. A user's own count too, which logind before 257 ignores: an upgrade
 * script needs the node to stay up.
 */
function blockingLocks(inhibitors: readonly Inhibitor[]): readonly Inhibitor[] {
  return inhibitors.filter(
    ([what, , , mode]) => what.split(':').includes('shutdown') && BLOCKING_MODES.includes(mode),
  );
}

/** Another program's text as a quoted line, cut to a short length. */
function shortQuote(text: string): string {
  return JSON.stringify(clipped(text, QUOTED_MAX_CHARACTERS));
}

function inhibitedFault({ noun }: ActionRow, locks: readonly Inhibitor[]): Answer {
  const named = locks
    .slice(0, NAMED_MAX_INHIBITORS)
    .map(([, who, why, , , processId]) => `${shortQuote(who)} (process ${processId}): ${shortQuote(why)}`);
  if (locks.length > named.length) named.push(`and ${locks.length - named.length} more`);
  return failure('inhibited', `The ${noun} is blocked by ${named.join('; ')}`);
}

/** `verdict` is logind's, and not `yes`. */
function notGrantedFault({ noun, permissions: [alone, amongOthers] }: ActionRow, verdict: string): Answer {
  const impossible = `The ${noun} is not possible: logind reports that this machine cannot do it`;
  if (verdict === 'na') return failure('not-granted', impossible);
  const needed = `the service's user needs the polkit permission ${alone}, and ${amongOthers} while others are logged in`;
  const answer = `The ${noun} is not granted by logind (its answer: ${shortQuote(verdict)})`;
  return failure('not-granted', `${answer}: ${needed}`);
}

const COMMON_ERRORS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.operationInProgress]: 'in-progress',
  'org.freedesktop.systemd1.ShuttingDown': 'in-progress',
  // logind or polkit is masked, missing, or broken.
  'org.freedesktop.systemd1.UnitMasked': 'unavailable',
  'org.freedesktop.systemd1.NoSuchUnit': 'unavailable',
  'org.freedesktop.systemd1.LoadFailed': 'unavailable',
};

const ORDER_ERRORS: Readonly<Record<string, FaultCode>> = {
  ...COMMON_ERRORS,
  [LOGIND_ERRORS.accessDenied]: 'not-granted',
  // The permission was withdrawn between question and order.
  [LOGIND_ERRORS.interactiveAuthorizationRequired]: 'not-granted',
  [LOGIND_ERRORS.blockedByInhibitorLock]: 'inhibited',
};

/**
 * The fault if it is unknown whether the action is allowed. Any error counts: logind without polkit, or one
 * that cannot start, has many.
 */
function questionFault(error: BusError): Answer {
  const overrides = { byName: COMMON_ERRORS, otherwise: 'unavailable' } as const;
  return faultOf(error, 'The login manager (logind) could not be asked', overrides);
}

export default actorThread<'power'>((settings, publish) => new PowerBackend(settings, publish));
