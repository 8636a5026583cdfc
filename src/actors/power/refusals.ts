// Why a power action does not happen: logind's verdicts, locks and errors -> faults. Pure; asks nobody.

import type { Fault, FaultCode } from '../../protocol/actor/faults.js';
import { LOGIND_ERRORS } from '../../protocol/dbus/logind.js';
import type { BusError } from '../bus.js';
import type { ActionRow } from './actions.js';

/** A row of logind's ListInhibitors. */
export type Inhibitor = readonly [
  what: string,
  who: string,
  why: string,
  mode: string,
  userId: number,
  processId: number,
];

/** Longest text of another program that is repeated to a client. */
const QUOTED_CHARACTERS = 200;
const NAMED_INHIBITORS_MAX = 5;

/** `block-weak` (systemd 257) is what `block` was before: it stops whoever is not root. */
const BLOCKING_MODES: readonly string[] = ['block', 'block-weak'];

/**
 * The locks that forbid to go down. logind before 257 does not hold a user's own locks against that user; here they
 * count as well: whoever takes one, an upgrade script of the same user above all, means that the node must stay up.
 */
export function blocking(inhibitors: readonly Inhibitor[]): readonly Inhibitor[] {
  return inhibitors.filter(
    ([what, , , mode]) => what.split(':').includes('shutdown') && BLOCKING_MODES.includes(mode),
  );
}

/** Another program's words on one line, short enough to be repeated. */
function quoted(text: string): string {
  return JSON.stringify(text.length <= QUOTED_CHARACTERS ? text : `${text.slice(0, QUOTED_CHARACTERS)}...`);
}

export function inhibited({ noun }: ActionRow, locks: readonly Inhibitor[]): Fault {
  const named = locks
    .slice(0, NAMED_INHIBITORS_MAX)
    .map(([, who, why, , , processId]) => `${quoted(who)} (process ${processId}): ${quoted(why)}`);
  const more = locks.length - named.length;
  const others = more > 0 ? `; and ${more} more` : '';
  return { fault: 'inhibited', detail: `The ${noun} is blocked by ${named.join('; ')}${others}` };
}

/** `verdict` is logind's, and not `yes`. */
export function notGranted({ noun, permissions }: ActionRow, verdict: string): Fault {
  const [alone, amongOthers] = permissions;
  const detail =
    verdict === 'na'
      ? `logind says that this machine cannot do a ${noun}`
      : `logind does not grant the ${noun} (it says ${quoted(verdict)}): the service's user needs the polkit permission ` +
        `${alone}, and ${amongOthers} while others are logged in`;
  return { fault: 'not-granted', detail };
}

const ORDER_ERRORS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.accessDenied]: 'not-granted',
  // The permission went between question and order.
  [LOGIND_ERRORS.interactiveAuthorizationRequired]: 'not-granted',
  [LOGIND_ERRORS.blockedByInhibitorLock]: 'inhibited',
};

/** What may be answered to question and order. */
const COMMON_ERRORS: Readonly<Record<string, FaultCode>> = {
  [LOGIND_ERRORS.operationInProgress]: 'in-progress',
  'org.freedesktop.systemd1.ShuttingDown': 'in-progress',
  'org.freedesktop.DBus.Error.TimedOut': 'timeout',
  'org.freedesktop.DBus.Error.Timeout': 'timeout',
  // logind or polkit is masked, missing, or died over the call.
  'org.freedesktop.systemd1.UnitMasked': 'unavailable',
  'org.freedesktop.systemd1.NoSuchUnit': 'unavailable',
  'org.freedesktop.systemd1.LoadFailed': 'unavailable',
  'org.freedesktop.DBus.Error.ServiceUnknown': 'unavailable',
  'org.freedesktop.DBus.Error.NameHasNoOwner': 'unavailable',
  'org.freedesktop.DBus.Error.NoReply': 'unavailable',
  'org.freedesktop.DBus.Error.Disconnected': 'unavailable',
  'org.freedesktop.DBus.Error.Spawn.ChildExited': 'unavailable',
  'org.freedesktop.DBus.Error.Spawn.ChildSignaled': 'unavailable',
  'org.freedesktop.DBus.Error.Spawn.ServiceNotFound': 'unavailable',
};

function faultOf(error: BusError, what: string, codeOf: (name: string) => FaultCode): Fault {
  switch (error.kind) {
    case 'dbus': {
      const text = error.text === '' ? '' : ` (${quoted(error.text)})`;
      return { fault: codeOf(error.name), detail: `${what}: ${quoted(error.name)}${text}` };
    }
    case 'timeout':
      return { fault: 'timeout', detail: `${what}: no answer in time` };
    case 'closed':
      return { fault: 'unavailable', detail: `${what}: the system bus is away` };
    case 'local':
      return { fault: 'internal', detail: `${what}: ${error.detail}` };
    default:
      return error satisfies never;
  }
}

/**
 * Nobody could say whether the action is allowed. Whatever the error is: without polkit logind denies even the question,
 * and a logind that does not start has as many errors as systemd has reasons.
 */
export function questionFailed(error: BusError): Fault {
  return faultOf(error, 'logind could not be asked', (name) => COMMON_ERRORS[name] ?? 'unavailable');
}

/** logind was told to act, and did not accept. */
export function orderFailed({ noun }: ActionRow, error: BusError): Fault {
  const what = `logind did not accept the ${noun}`;
  return faultOf(error, what, (name) => ORDER_ERRORS[name] ?? COMMON_ERRORS[name] ?? 'refused');
}
