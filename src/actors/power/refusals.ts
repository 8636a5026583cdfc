// The power actions as a table, and the faults for logind's verdicts, locks and errors. Pure; sends nothing.

import type { Answer, PowerCommand } from '../../protocol/actor/commands.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { LOGIND_ERRORS, LOGIND_METHODS } from '../../protocol/dbus/logind.js';
import type { Values } from '../../protocol/dbus/method.js';
import { type BusError, faultOf } from '../bus/fault.js';
import { clipped } from '../text.js';

export type PowerAction = Exclude<PowerCommand['do'], 'status'>;

export interface ActionRow {
  /** The action's name in messages to people. */
  readonly noun: string;
  readonly question: (typeof LOGIND_METHODS)['canReboot'];
  readonly order: (typeof LOGIND_METHODS)['reboot'];
  /** The unit that systemd starts when logind has accepted. */
  readonly target: string;
  /** The polkit action, and the one that is checked instead while other users have a session. */
  readonly permissions: readonly [alone: string, amongOthers: string];
}

export const ACTIONS: { readonly [A in PowerAction]: ActionRow } = {
  reboot: {
    noun: 'reboot',
    question: LOGIND_METHODS.canReboot,
    order: LOGIND_METHODS.reboot,
    target: 'reboot.target',
    permissions: ['org.freedesktop.login1.reboot', 'org.freedesktop.login1.reboot-multiple-sessions'],
  },
  poweroff: {
    noun: 'power-off',
    question: LOGIND_METHODS.canPowerOff,
    order: LOGIND_METHODS.powerOff,
    target: 'poweroff.target',
    permissions: ['org.freedesktop.login1.power-off', 'org.freedesktop.login1.power-off-multiple-sessions'],
  },
};

type Inhibitor = Values<'(ssssuu)'>[0];

/** Longest text of a lock's holder that is repeated to a client. */
const QUOTED_MAX_CHARACTERS = 200;
const NAMED_MAX_INHIBITORS = 5;

/** `block-weak` (systemd 257) is the former `block`: it stops everybody except root. */
const BLOCKING_MODES: readonly string[] = ['block', 'block-weak'];

/**
 * The locks that forbid a shutdown. logind before 257 ignores a user's own locks for that user; here they count as well, because a program
 * that takes one, above all an upgrade script of the same user, means that the node must stay up.
 */
export function blockingLocks(inhibitors: readonly Inhibitor[]): readonly Inhibitor[] {
  return inhibitors.filter(
    ([what, , , mode]) => what.split(':').includes('shutdown') && BLOCKING_MODES.includes(mode),
  );
}

/** Another program's text as a quoted line, cut to a short length. */
function shortQuote(text: string): string {
  return JSON.stringify(clipped(text, QUOTED_MAX_CHARACTERS));
}

export function inhibitedFault({ noun }: ActionRow, locks: readonly Inhibitor[]): Answer {
  const named = locks
    .slice(0, NAMED_MAX_INHIBITORS)
    .map(([, who, why, , , processId]) => `${shortQuote(who)} (process ${processId}): ${shortQuote(why)}`);
  const more = locks.length - named.length;
  const others = more > 0 ? `; and ${more} more` : '';
  return failure('inhibited', `The ${noun} is blocked by ${named.join('; ')}${others}`);
}

/** `verdict` is logind's, and not `yes`. */
export function notGrantedFault({ noun, permissions }: ActionRow, verdict: string): Answer {
  const [alone, amongOthers] = permissions;
  const detail =
    verdict === 'na'
      ? `The ${noun} is not possible: logind reports that this machine cannot do it`
      : `The ${noun} is not granted by logind (its answer: ${shortQuote(verdict)}): the service's user needs the polkit permission ` +
        `${alone}, and ${amongOthers} while others are logged in`;
  return failure('not-granted', detail);
}

const ORDER_ERRORS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.accessDenied]: 'not-granted',
  // The permission was withdrawn between question and order.
  [LOGIND_ERRORS.interactiveAuthorizationRequired]: 'not-granted',
  [LOGIND_ERRORS.blockedByInhibitorLock]: 'inhibited',
};

const COMMON_ERRORS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.operationInProgress]: 'in-progress',
  'org.freedesktop.systemd1.ShuttingDown': 'in-progress',
  // logind or polkit is masked, missing, or broken.
  'org.freedesktop.systemd1.UnitMasked': 'unavailable',
  'org.freedesktop.systemd1.NoSuchUnit': 'unavailable',
  'org.freedesktop.systemd1.LoadFailed': 'unavailable',
};

/**
 * The fault if it is unknown whether the action is allowed. Any error counts: without polkit logind denies even the question, and a logind
 * that does not start has as many errors as systemd has reasons.
 */
export function questionFault(error: BusError): Answer {
  const overrides = { byName: COMMON_ERRORS, otherwise: 'unavailable' } as const;
  return faultOf(error, 'The login manager (logind) could not be asked', overrides);
}

/** True if logind itself has neither accepted nor refused the order. */
export function isOutcomeUnknown(error: BusError): boolean {
  return error.kind === 'dbus' ? error.name === LOGIND_ERRORS.noReply : error.kind !== 'local';
}

export function orderFault({ noun }: ActionRow, error: BusError): Answer {
  const byName = { ...COMMON_ERRORS, ...ORDER_ERRORS };
  return faultOf(error, `The ${noun} was not accepted by logind`, { byName });
}
