// The sound server's error codes as a table (PulseAudio's `pulse/def.h`, pa_error_code), and one sentence for each.

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

/** `UNLISTED` is ours: a code that the table does not have. */
export type ServerFaultName = (typeof FAULTS)[number][0] | 'UNLISTED';

/** An ERROR of the server. Decide by `name`; `meaning` is for people. */
export interface ServerFault {
  readonly code: number;
  readonly name: ServerFaultName;
  readonly meaning: string;
}

export function serverFault(code: number): ServerFault {
  const [name, meaning] = FAULTS[code] ?? ['UNLISTED' as const, `error ${code}`];
  return { code, name, meaning };
}
