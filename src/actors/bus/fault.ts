// How a call over a bus ends, and what its error means to a client: errors -> faults, the same for every actor. Pure.

import type { Fault, FaultCode } from '../../protocol/actor/faults.js';
import { clipped } from '../text.js';

/** Errors of calls are values, and these are all of them. */
export type BusError =
  /** The peer, or the bus for it, answered with an error. `name` is the D-Bus error name, `text` for people, may be empty. */
  | { readonly kind: 'dbus'; readonly name: string; readonly text: string }
  /** No answer within the call's deadline; what was asked may still happen. */
  | { readonly kind: 'timeout' }
  /** There is no connection, or it was lost before the answer; what was asked may have happened. */
  | { readonly kind: 'closed' }
  /** Refused here: nothing was sent, or the answer was not of the declared signature. */
  | { readonly kind: 'local'; readonly detail: string };

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: BusError };

export const CLOSED: Outcome<never> = { ok: false, error: { kind: 'closed' } };

export function refusedHere(detail: string): Outcome<never> {
  return { ok: false, error: { kind: 'local', detail } };
}

/** Longest text of another program that is repeated to a client. */
const QUOTED_MAX_CHARACTERS = 200;

/** The bus speaks for somebody who is not there, or who went before the answer. */
const ABSENCES: readonly string[] = [
  'org.freedesktop.DBus.Error.ServiceUnknown',
  'org.freedesktop.DBus.Error.NameHasNoOwner',
  'org.freedesktop.DBus.Error.NoReply',
  'org.freedesktop.DBus.Error.Disconnected',
];
/** The bus could not start whoever was called. */
const SPAWN_ERRORS = 'org.freedesktop.DBus.Error.Spawn.';

const DEADLINES: readonly string[] = [
  'org.freedesktop.DBus.Error.TimedOut',
  'org.freedesktop.DBus.Error.Timeout',
];

/** An actor's own meanings of D-Bus error names, and of the names that nobody knows (by default `refused`). */
export interface FaultOverrides {
  readonly byName?: Readonly<Record<string, FaultCode>>;
  readonly otherwise?: FaultCode;
}

/** Whether nobody is there to answer, as opposed to an answer that is an error. */
export function isAbsence(error: BusError): boolean {
  return error.kind === 'dbus' && (ABSENCES.includes(error.name) || error.name.startsWith(SPAWN_ERRORS));
}

/** The error in a few words on one line, without capital and full stop: the end of a sentence. */
export function sentence(error: BusError): string {
  switch (error.kind) {
    case 'dbus':
      return shortLine(error.text) || shortLine(error.name);
    case 'timeout':
      return 'no answer in time';
    case 'closed':
      return 'the connection to the bus was lost';
    case 'local':
      return error.detail;
  }
}

/** The fault of a call. `what` says what went wrong by it, as the beginning of a sentence. */
export function faultOf(error: BusError, what: string, overrides: FaultOverrides = {}): Fault {
  const name = error.kind === 'dbus' && shortLine(error.text) !== '' ? ` (${shortLine(error.name)})` : '';
  return { fault: faultCodeOf(error, overrides), detail: `${what}: ${sentence(error)}${name}` };
}

function faultCodeOf(error: BusError, { byName = {}, otherwise = 'refused' }: FaultOverrides): FaultCode {
  switch (error.kind) {
    case 'dbus':
      return byName[error.name] ?? commonCode(error) ?? otherwise;
    case 'timeout':
      return 'timeout';
    case 'closed':
      return 'unavailable';
    case 'local':
      return 'internal';
  }
}

function commonCode(error: BusError & { readonly kind: 'dbus' }): FaultCode | undefined {
  if (isAbsence(error)) return 'unavailable';
  return DEADLINES.includes(error.name) ? 'timeout' : undefined;
}

/** Another program's words on one line, short enough to be repeated, without their full stop. */
function shortLine(text: string): string {
  // Control characters, too: the text goes to logs and clients.
  const line = text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
  return clipped(line, QUOTED_MAX_CHARACTERS).replace(/(?<!\.)\.$/, '');
}
