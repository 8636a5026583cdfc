// The power backend: decides whether the node may be switched off or restarted, and gives logind the order.
// Each command asks logind anew, because a polkit rule, a lock or a login can change the answer, and no
// signal reports the new answer.

import { clipped } from '../../printable.js';
import { type Answer, DONE, type PowerCommand } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { success } from '../../protocol/actor/result.js';
import type { PowerSettings } from '../../protocol/actor/settings.js';
import { LOGIND_ERRORS, LOGIND_METHODS } from '../../protocol/dbus/logind.js';
import { type Signal, signalValues } from '../../protocol/dbus/method.js';
import type { Values } from '../../protocol/dbus/signatures.js';
import { SYSTEMD_NAME, SYSTEMD_PATH, SYSTEMD_SIGNALS } from '../../protocol/dbus/systemd.js';
import { Bus, type BusOptions, type BusOwner } from '../bus/bus.js';
import { type BusError, type BusResult, busFault } from '../bus/fault.js';
import { type Actor, actorThread, type Publisher } from '../runtime.js';

/**
 * The deadline of each call to logind. A power action has two steps, one after the other: the questions to
 * logind, and the order. So both steps together stay below the 10 s after which a client gets a timeout
 * (docs/http-api.md, "Limits").
 */
const CALL_DEADLINE_MS = 4_500;

/** The argument of both orders to logind. It is false, so polkit asks no user for a password. */
const IS_INTERACTIVE = false;

/** If the configuration disables an action, this result takes the place of logind's answer. */
const DISABLED = { ok: true, value: 'no' } as const;
/** If logind refuses the question, messages to people have this text in place of logind's answer. */
const NO_POLKIT = 'access denied, as without polkit';

type PowerAction = Exclude<PowerCommand['do'], 'status'>;

interface ActionRow {
  /** The action's name in messages to people. */
  readonly noun: string;
  readonly question: (typeof LOGIND_METHODS)['canReboot'];
  readonly order: (typeof LOGIND_METHODS)['reboot'];
  /** The permission that polkit checks. */
  readonly permission: string;
  /** While other users have a session, polkit checks this permission instead. */
  readonly permissionAmongOthers: string;
}

const ACTIONS: { readonly [A in PowerAction]: ActionRow } = {
  reboot: {
    noun: 'reboot',
    question: LOGIND_METHODS.canReboot,
    order: LOGIND_METHODS.reboot,
    permission: 'org.freedesktop.login1.reboot',
    permissionAmongOthers: 'org.freedesktop.login1.reboot-multiple-sessions',
  },
  poweroff: {
    noun: 'power-off',
    question: LOGIND_METHODS.canPowerOff,
    order: LOGIND_METHODS.powerOff,
    permission: 'org.freedesktop.login1.power-off',
    permissionAmongOthers: 'org.freedesktop.login1.power-off-multiple-sessions',
  },
};

export class PowerBackend implements Actor<PowerCommand>, BusOwner {
  readonly #settings: PowerSettings;
  readonly #publish: Publisher;
  readonly #logind: Bus<'power'>;
  /** Why there is no bus; undefined while there is one. */
  #absence: string | undefined = 'not connected yet';
  /**
   * The power action that is under way; undefined if there is none. The action is forgotten when its command
   * has an answer: after logind has accepted an action, logind itself refuses further ones.
   */
  #requestedAction: PowerAction | undefined;
  /**
   * The target that systemd has begun to start since the last order to logind: `reboot.target` or
   * `poweroff.target`.
   */
  #startedTarget: string | undefined;

  constructor(settings: PowerSettings, publish: Publisher, bus: BusOptions = {}) {
    this.#settings = settings;
    this.#publish = publish;
    this.#logind = new Bus('power', { callDeadlineMs: CALL_DEADLINE_MS, ...bus }, this);
  }

  /**
   * The backend is up when it has subscribed to the signals about new jobs of `reboot.target` and
   * `poweroff.target`. If logind's reply to an order is lost, only such a job proves that logind has accepted
   * the order (`#isAccepted`).
   */
  async up(): Promise<void> {
    const { interface: iface, member } = SYSTEMD_SIGNALS.jobNew;
    const newJob = { sender: SYSTEMD_NAME, path: SYSTEMD_PATH, interface: iface, member };
    // `arg2` is the unit of the new job.
    const matches = Object.keys(ACTIONS).map((action) => ({ ...newJob, arg2: `${action}.target` }));
    const subscriptions = await Promise.all(matches.map((match) => this.#logind.watch(match)));
    if (!subscriptions.every(({ ok }) => ok)) return this.#logind.reconnect('systemd cannot be watched');
    this.#absence = undefined;
    this.#publish.status('up');
  }

  down(reason: string): void {
    this.#absence = reason;
    this.#publish.status('connecting', reason);
  }

  signal(signal: Signal): void {
    const [, , unit] = signalValues(SYSTEMD_SIGNALS.jobNew, signal) ?? [];
    if (unit !== undefined) this.#startedTarget = unit;
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
    if (this.#absence !== undefined)
      return failure('unavailable', `Not connected to the system bus: ${this.#absence}`);
    if (command.do === 'status') return this.#status();
    if (this.#requestedAction !== undefined)
      return failure('in-progress', `A ${ACTIONS[this.#requestedAction].noun} is under way already`);
    this.#requestedAction = command.do;
    return this.#act(command.do).finally(() => {
      this.#requestedAction = undefined;
    });
  }

  /** A disabled action is not available, whatever logind would answer. */
  async #status(): Promise<Answer> {
    const askIfEnabled = async (action: PowerAction) =>
      this.#settings.capabilities[action] ? this.#availability(action) : DISABLED;
    const [reboot, powerOff] = await Promise.all([askIfEnabled('reboot'), askIfEnabled('poweroff')]);
    if (!reboot.ok) return questionFault(reboot.error);
    if (!powerOff.ok) return questionFault(powerOff.error);
    const record = { reboot: reboot.value === 'yes', power_off: powerOff.value === 'yes' };
    return success({ text: JSON.stringify(record) });
  }

  /**
   * Asks logind whether the action is possible. Without polkit, logind refuses this question. The refusal
   * counts as an answer like `no`, because logind would refuse the action, too.
   */
  async #availability(action: PowerAction): Promise<BusResult<string>> {
    const reply = await this.#logind.call(ACTIONS[action].question, []);
    if (reply.ok || reply.error.kind !== 'dbus') return reply;
    return reply.error.name === LOGIND_ERRORS.accessDenied ? success(NO_POLKIT) : reply;
  }

  /**
   * After logind has accepted the order, nothing may be awaited: the event `power.action` and the answer must
   * leave in one batch.
   */
  async #act(action: PowerAction): Promise<Answer> {
    const row = ACTIONS[action];
    const [availability, inhibitors] = await Promise.all([
      this.#availability(action),
      this.#logind.call(LOGIND_METHODS.listInhibitors, []),
    ]);
    if (!availability.ok) return questionFault(availability.error);
    if (!inhibitors.ok) return questionFault(inhibitors.error);
    // While another user has a lock, logind answers `challenge` instead of `yes`. Locks are checked first,
    // so that the client gets `inhibited` then, and not `not-granted`.
    const locks = blockingLocks(inhibitors.value);
    if (locks.length > 0) return inhibitedFault(row, locks);
    if (availability.value !== 'yes') return notGrantedFault(row, availability.value);
    this.#startedTarget = undefined;
    const ordered = await this.#logind.call(row.order, [IS_INTERACTIVE]);
    if (!ordered.ok && !this.#isAccepted(action, ordered.error))
      return busFault(ordered.error, `The ${row.noun} was not accepted by logind`, { byName: ORDER_FAULTS });
    this.#publish.put('power.action', '', JSON.stringify({ action }));
    this.#publish.log('warn', 'logind accepted a power action', { action });
    return DONE;
  }

  /**
   * True if logind has accepted an order although no reply has arrived: during a shutdown systemd stops
   * logind and the bus (docs/development/what-we-learnt.md, "systemd, logind and Avahi"). The proof is a new
   * job of the action's target: systemd announces this job before logind can reply. An error that logind
   * itself has sent is a refusal, even after such a job: then somebody else has started the target. The
   * client gets its answer although the shutdown has begun, because the gateway waits for this answer before
   * the daemon ends (gateway/shut-down.ts).
   */
  #isAccepted(action: PowerAction, error: BusError): boolean {
    const hasLogindEnded = error.kind === 'dbus' && error.name === LOGIND_ERRORS.noReply;
    const hasNoReply = hasLogindEnded || error.kind === 'timeout' || error.kind === 'closed';
    return hasNoReply && this.#startedTarget === `${action}.target`;
  }
}

/** A lock of logind: what it forbids, who has it, why, its mode, the user's id, and the process's id. */
type Inhibitor = Values<'a(ssssuu)'>[0][number];

/** Another program's text is cut to this length before a client gets it. */
const QUOTED_MAX_CHARACTERS = 200;
/** A message names at most this many locks. */
const NAMED_MAX_INHIBITORS = 5;

/**
 * Since systemd 257 there is also `block-weak`. It means what `block` meant before: only root and the lock's
 * user may shut the node down.
 */
const BLOCKING_MODES: readonly string[] = ['block', 'block-weak'];

/**
 * The locks that forbid a shutdown. Locks of the daemon's own user count, too, because an upgrade script may
 * have such a lock while the node must stay up. Before systemd 257, logind itself ignores a user's own locks.
 */
function blockingLocks(inhibitors: readonly Inhibitor[]): readonly Inhibitor[] {
  return inhibitors.filter(
    ([what, , , mode]) => what.split(':').includes('shutdown') && BLOCKING_MODES.includes(mode),
  );
}

/** Another program's text as a quoted line of bounded length. */
function shortQuote(text: string): string {
  return JSON.stringify(clipped(text, QUOTED_MAX_CHARACTERS));
}

function inhibitedFault({ noun }: ActionRow, locks: readonly Inhibitor[]): Answer {
  const namedLocks = locks
    .slice(0, NAMED_MAX_INHIBITORS)
    .map(([, who, why, , , processId]) => `${shortQuote(who)} (process ${processId}): ${shortQuote(why)}`);
  if (locks.length > namedLocks.length) namedLocks.push(`and ${locks.length - namedLocks.length} more`);
  return failure('inhibited', `The ${noun} is blocked by ${namedLocks.join('; ')}`);
}

/** `reply` is any value of `#availability` except `yes`. */
function notGrantedFault(row: ActionRow, reply: string): Answer {
  const { noun, permission, permissionAmongOthers } = row;
  const impossible = `The ${noun} is not possible: logind reports that this machine cannot do it`;
  if (reply === 'na') return failure('not-granted', impossible);
  const requirement = `the service's user needs the polkit permission ${permission}, and ${permissionAmongOthers} while others are logged in`;
  const refusal = `The ${noun} is not granted by logind (its answer: ${shortQuote(reply)})`;
  return failure('not-granted', `${refusal}: ${requirement}`);
}

const QUESTION_FAULTS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.operationInProgress]: 'in-progress',
  'org.freedesktop.systemd1.ShuttingDown': 'in-progress',
  // logind or polkit is masked, missing, or broken.
  'org.freedesktop.systemd1.UnitMasked': 'unavailable',
  'org.freedesktop.systemd1.NoSuchUnit': 'unavailable',
  'org.freedesktop.systemd1.LoadFailed': 'unavailable',
};

const ORDER_FAULTS: Readonly<Record<string, FaultCode>> = {
  ...QUESTION_FAULTS,
  // The next two errors mean that the permission was withdrawn between the question to logind and the order.
  [LOGIND_ERRORS.accessDenied]: 'not-granted',
  [LOGIND_ERRORS.interactiveAuthorizationRequired]: 'not-granted',
  [LOGIND_ERRORS.blockedByInhibitorLock]: 'inhibited',
};

/**
 * The fault if a question to logind failed. A D-Bus error that neither `QUESTION_FAULTS` nor bus/fault.ts
 * lists becomes `unavailable`: if logind cannot start, or if polkit is masked, many different errors are
 * possible.
 */
function questionFault(error: BusError): Answer {
  const overrides = { byName: QUESTION_FAULTS, otherwise: 'unavailable' } as const;
  return busFault(error, 'The login manager (logind) could not be asked', overrides);
}

export default actorThread<'power'>((settings, publish) => new PowerBackend(settings, publish));
