// Lists the ways in which a request or a session can end. Describes the end of a session in one sentence.

import type { CommandName, HandshakeName } from './commands.js';

/**
 * The sound server's errors: each code is an index in this list (pa_error_code in PulseAudio's
 * `pulse/def.h`).
 */
const SERVER_FAULTS = [
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

/** An error in the server's answer to a command. `name` is for decisions, `meaning` for people. */
export interface ServerFault {
  readonly code: number;
  /** A name of SERVER_FAULTS. `UNLISTED` stands for every code that is not in that list. */
  readonly name: (typeof SERVER_FAULTS)[number][0] | 'UNLISTED';
  readonly meaning: string;
}

export function serverFault(code: number): ServerFault {
  const [name, meaning] = SERVER_FAULTS[code] ?? ['UNLISTED' as const, `error ${code}`];
  return { code, name, meaning };
}

/**
 * Why a session has ended. `peer-closed`, `transport-failed` and `stopped` come only from the session's
 * owner, who calls `close` with them.
 */
export type ClosedReason =
  | { readonly kind: 'protocol-violation'; readonly detail: string }
  /** The server has answered the handshake with an error. */
  | { readonly kind: 'auth-refused'; readonly command: HandshakeName; readonly fault: ServerFault }
  | { readonly kind: 'version-unsupported'; readonly version: number }
  /**
   * A command had no answer by its deadline. The session itself ends for this reason only during the
   * handshake. Later, the session's owner may end it for this reason (actors/audio/connection.ts).
   */
  | { readonly kind: 'timeout'; readonly command: CommandName }
  | { readonly kind: 'peer-closed' }
  | { readonly kind: 'transport-failed'; readonly detail: string }
  | { readonly kind: 'stopped' };

/** Why a request has no value. */
export type RequestError =
  /** The server has answered this request with an error. The session goes on. */
  | ({ readonly kind: 'server' } & ServerFault)
  /** There was no reply by the deadline. Whether the request was carried out is unknown. */
  | { readonly kind: 'timeout' }
  /** The answer could not be decoded. The session ends with `protocol-violation` and the same detail. */
  | { readonly kind: 'violation'; readonly detail: string }
  /** The session had ended before the request, or ended before the reply. */
  | { readonly kind: 'closed'; readonly reason: ClosedReason }
  /** The session has not finished its handshake; nothing was sent. */
  | { readonly kind: 'not-ready' }
  /** Too many requests have no reply yet; nothing was sent. */
  | { readonly kind: 'overflow' }
  /** An argument does not fit the wire; nothing was sent. */
  | { readonly kind: 'bad-argument'; readonly detail: string };

export type RequestResult<T> =
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
