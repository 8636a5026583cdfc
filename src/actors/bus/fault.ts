// Results of calls over a bus, and the faults that clients get for their errors, the same for every actor.
// Pure.

import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { failed, type Result } from '../../protocol/actor/result.js';
import { clipped } from '../text.js';

export type BusError =
  /**
   * The peer, or the bus for it, answered with an error. `name` is the D-Bus error name; `text` is for people
   * and may be empty.
   */
  | { readonly kind: 'dbus'; readonly name: string; readonly text: string }
  /** No reply within the call's deadline; the call may still take effect. */
  | { readonly kind: 'timeout' }
  /** There is no connection, or it was lost before the reply; the call may have taken effect. */
  | { readonly kind: 'closed' }
  /** Refused here: nothing was sent, or the reply's signature was not the declared one. */
  | { readonly kind: 'local'; readonly detail: string };

export type BusResult<T> = Result<T, BusError>;

export const CLOSED: BusResult<never> = failed({ kind: 'closed' });

export function refusedHere(detail: string): BusResult<never> {
  return failed({ kind: 'local', detail });
}

/** Longest text of another program that is repeated to a client. */
const QUOTED_MAX_CHARACTERS = 200;

/** The bus's errors for a peer that is absent, that left before its reply, or that could not be started. */
const ABSENCES =
  /^org\.freedesktop\.DBus\.Error\.(?:(?:ServiceUnknown|NameHasNoOwner|NoReply|Disconnected)$|Spawn\.)/;
const DEADLINES = /^org\.freedesktop\.DBus\.Error\.(?:TimedOut|Timeout)$/;

const UNANSWERED = {
  timeout: { fault: 'timeout', text: 'no answer in time' },
  closed: { fault: 'unavailable', text: 'the connection to the bus was lost' },
} as const;

/** An actor's own faults for D-Bus error names, and for names that are not listed (by default `refused`). */
export interface FaultOverrides {
  readonly byName?: Readonly<Record<string, FaultCode>>;
  readonly otherwise?: FaultCode;
}

/** True if nobody is there to answer; false for an answer that is an error. */
export function isAbsence(error: BusError): boolean {
  return error.kind === 'dbus' && ABSENCES.test(error.name);
}

/** The error in a few words on one line, without capital and full stop, as the end of a sentence. */
export function sentence(error: BusError): string {
  if (error.kind === 'dbus') return shortLine(error.text) || shortLine(error.name);
  return error.kind === 'local' ? error.detail : UNANSWERED[error.kind].text;
}

/** The answer to a command whose call failed. `what` names what failed, as the beginning of a sentence. */
export function faultOf(error: BusError, what: string, overrides: FaultOverrides = {}) {
  const name = error.kind === 'dbus' && shortLine(error.text) !== '' ? ` (${shortLine(error.name)})` : '';
  return failure(faultCodeOf(error, overrides), `${what}: ${sentence(error)}${name}`);
}

function faultCodeOf(error: BusError, { byName = {}, otherwise = 'refused' }: FaultOverrides): FaultCode {
  if (error.kind === 'local') return 'internal';
  if (error.kind !== 'dbus') return UNANSWERED[error.kind].fault;
  if (Object.hasOwn(byName, error.name)) return byName[error.name] ?? otherwise;
  if (isAbsence(error)) return 'unavailable';
  return DEADLINES.test(error.name) ? 'timeout' : otherwise;
}

/** Another program's text on one line, cut to a short length and without its full stop. */
function shortLine(text: string): string {
  // Control characters are removed too, because the text goes to logs and clients.
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return clipped(line, QUOTED_MAX_CHARACTERS).replace(/(?<!\.)\.$/, '');
}
