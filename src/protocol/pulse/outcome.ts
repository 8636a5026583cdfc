// The ways in which a request and a session can end: closed unions for the dialler and the actor, with one
// sentence for each.

import type { CommandName, HandshakeName } from './commands.js';

/** The sound server's error codes in order (PulseAudio's `pulse/def.h`, pa_error_code). */
const FAULTS = [
  ['OK', 'no error'],
  ['ACCESS', 'access denied'],
  ['COMMAND', 'unknown command'],
  ['INVALID', 'invalid argument'],
  ['EXIST', 'the entity exists'],
  ['NOENTITY', 'no such entity'],
  ['CONNECTIONREFUSED', 'connection refused'],
  ['PROTOCOL', 'protocol error'],
  ['TIMEOUT', 'time-out'],
  ['AUTHKEY', 'no authentication key'],
  ['INTERNAL', 'internal error'],
  ['CONNECTIONTERMINATED', 'connection terminated'],
  ['KILLED', 'entity killed'],
  ['INVALIDSERVER', 'invalid server'],
  ['MODINITFAILED', 'module initialisation failed'],
  ['BADSTATE', 'bad state'],
  ['NODATA', 'no data'],
  ['VERSION', 'incompatible protocol version'],
  ['TOOLARGE', 'too large'],
  ['NOTSUPPORTED', 'not supported'],
  ['UNKNOWN', 'unknown error'],
  ['NOEXTENSION', 'no such extension'],
  ['OBSOLETE', 'obsolete'],
  ['NOTIMPLEMENTED', 'not implemented'],
  ['FORKED', 'the client has forked'],
  ['IO', 'input or output error'],
  ['BUSY', 'device or resource busy'],
] as const;

/** An ERROR of the server. Decide by `name`; `meaning` is for people. */
export interface ServerFault {
  readonly code: number;
  /** `UNLISTED` is ours: a code that is not in the table. */
  readonly name: (typeof FAULTS)[number][0] | 'UNLISTED';
  readonly meaning: string;
}

export function serverFault(code: number): ServerFault {
  const [name, meaning] = FAULTS[code] ?? ['UNLISTED' as const, `error ${code}`];
  return { code, name, meaning };
}

/** Why a session ended. The last three are for the dialler, which knows the socket. */
export type ClosedReason =
  | { readonly kind: 'protocol-violation'; readonly detail: string }
  /** The server answered the handshake with an error. */
  | { readonly kind: 'auth-refused'; readonly command: HandshakeName; readonly fault: ServerFault }
  | { readonly kind: 'version-unsupported'; readonly version: number }
  /**
   * A command was not answered by its deadline; the session itself closes only for those of the handshake.
   */
  | { readonly kind: 'timeout'; readonly command: CommandName }
  | { readonly kind: 'peer-closed' }
  | { readonly kind: 'transport-failed'; readonly detail: string }
  | { readonly kind: 'stopped' };

/** Why a request has no value. */
export type RequestError =
  /** The server's ERROR for this request; the connection is fine. */
  | ({ readonly kind: 'server' } & ServerFault)
  /** No reply by the deadline. It is unknown whether it was carried out. */
  | { readonly kind: 'timeout' }
  /** The reply could not be decoded; the session ends with the same detail. */
  | { readonly kind: 'violation'; readonly detail: string }
  /** The session ended, or had ended, before a reply came. */
  | { readonly kind: 'closed'; readonly reason: ClosedReason }
  /** The session has not finished its handshake; nothing was sent. */
  | { readonly kind: 'not-ready' }
  /** Too many requests have no reply yet; nothing was sent. */
  | { readonly kind: 'overflow' }
  /** An argument does not fit the wire; nothing was sent. */
  | { readonly kind: 'bad-argument'; readonly detail: string };

export type Result<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: RequestError };

/** One sentence for a log line or a health record. */
export function describeClosed(reason: ClosedReason): string {
  switch (reason.kind) {
    case 'protocol-violation':
      return `the sound server broke the protocol: ${reason.detail}`;
    case 'auth-refused':
      return `the sound server refused ${reason.command}: ${reason.fault.meaning}`;
    case 'version-unsupported':
      return `the sound server speaks protocol version ${reason.version} only`;
    case 'timeout':
      return `the sound server did not answer ${reason.command} in time`;
    case 'peer-closed':
      return 'the sound server closed the connection';
    case 'transport-failed':
      return `the connection to the sound server failed: ${reason.detail}`;
    case 'stopped':
      return 'the connection was given up';
  }
}
