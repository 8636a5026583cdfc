// Decides which fault a client gets for each error of a call over a bus. An actor may have faults of its own
// for some errors. Pure.

import { clipped } from '../../printable.js';
import { type FaultCode, failure } from '../../protocol/actor/faults.js';
import { failed, type Result } from '../../protocol/actor/result.js';

export type BusError =
  /**
   * The peer answered with an error, or the bus answered in the peer's place. `name` is the D-Bus error
   * name; `text` is for people and may be empty.
   */
  | { readonly kind: 'dbus'; readonly name: string; readonly text: string }
  /** No reply came within the call's deadline; the call may still take effect. */
  | { readonly kind: 'timeout' }
  /** There is no connection, or it was lost before the reply; the call may have taken effect. */
  | { readonly kind: 'closed' }
  /** The error is on our side: the call could not be sent, or its reply could not be read. */
  | { readonly kind: 'local'; readonly detail: string };

export type BusResult<T> = Result<T, BusError>;

export const CLOSED: BusResult<never> = failed({ kind: 'closed' });

export function localError(detail: string): BusResult<never> {
  return failed({ kind: 'local', detail });
}

/** A text of another program is cut to this length before a client gets it. */
const QUOTED_MAX_CHARACTERS = 200;

/**
 * The bus's errors for a peer that is absent, that left before its reply, or that could not be started. An
 * example of the last kind is `org.freedesktop.DBus.Error.Spawn.ServiceNotFound`.
 */
const ABSENCE_NAMES =
  /^org\.freedesktop\.DBus\.Error\.(?:(?:ServiceUnknown|NameHasNoOwner|NoReply|Disconnected)$|Spawn\.)/;
const TIMEOUT_NAMES = /^org\.freedesktop\.DBus\.Error\.(?:TimedOut|Timeout)$/;

const UNANSWERED = {
  timeout: { fault: 'timeout', text: 'no answer in time' },
  closed: { fault: 'unavailable', text: 'the connection to the bus was lost' },
} as const;

/** The faults of one actor for D-Bus errors. */
export interface FaultOverrides {
  readonly byName?: Readonly<Record<string, FaultCode>>;
  /** The fault for every error name that neither `byName` nor this file lists; by default `refused`. */
  readonly otherwise?: FaultCode;
}

/** True if the error shows that the peer is not there to answer. */
export function isAbsence(error: BusError): boolean {
  return error.kind === 'dbus' && ABSENCE_NAMES.test(error.name);
}

/** Why the call failed, as the end of a sentence: on one line, and without a full stop. */
export function busErrorText(error: BusError): string {
  if (error.kind === 'dbus') return shortLine(error.text) || shortLine(error.name);
  return error.kind === 'local' ? error.detail : UNANSWERED[error.kind].text;
}

/**
 * The answer to a command whose call failed. `summary` is the beginning of a sentence; the reason follows.
 */
export function busFault(error: BusError, summary: string, overrides: FaultOverrides = {}) {
  // An error without a text has its name as the reason already.
  const hasText = error.kind === 'dbus' && shortLine(error.text) !== '';
  const nameSuffix = hasText ? ` (${shortLine(error.name)})` : '';
  return failure(busFaultCode(error, overrides), `${summary}: ${busErrorText(error)}${nameSuffix}`);
}

function busFaultCode(error: BusError, { byName = {}, otherwise = 'refused' }: FaultOverrides): FaultCode {
  if (error.kind === 'local') return 'internal';
  if (error.kind !== 'dbus') return UNANSWERED[error.kind].fault;
  if (Object.hasOwn(byName, error.name)) return byName[error.name] ?? otherwise;
  if (isAbsence(error)) return 'unavailable';
  return TIMEOUT_NAMES.test(error.name) ? 'timeout' : otherwise;
}

/**
 * Another program's text on one line, cut to a short length. A single full stop at the end is removed, but
 * three dots stay.
 */
function shortLine(text: string): string {
  // Control characters become blanks, too, because the text goes to logs and clients.
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return clipped(line, QUOTED_MAX_CHARACTERS).replace(/(?<!\.)\.$/, '');
}
