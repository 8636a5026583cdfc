// Every way a command to a backend can fail, as one table: code and a sentence that names the kind of failure.
// The HTTP status of each is in gateway/problem.ts; an actor knows no HTTP.

/** The sentence is the kind of failure; `detail`, sent with the code, says what exactly happened. */
export const FAULTS = {
  'bad-value': 'The value is not acceptable',
  'no-such-output': 'There is no such output',
  'no-such-client': 'There is no such client',
  'no-such-port': 'The output has no such port',
  'no-such-card': 'There is no such card',
  'no-such-profile': 'The card has no such profile',
  'no-such-unit': 'There is no such unit',
  'no-such-player': 'There is no such player',
  'no-such-device': 'There is no such Bluetooth device',
  'no-cover': 'The player has no cover that may be served',
  'no-tracklist': 'The player has no tracklist',
  'no-such-track': 'The tracklist has no such track',
  'not-able': 'The player says that it cannot',
  'no-cookie': 'The node has no cookie file',
  'no-volume': 'The stream has no volume',
  'no-ports': 'The output has no ports',
  'profile-unavailable': 'The profile is not available now',
  'not-stereo': 'The output is not stereo',
  'read-only-scope': 'System-scope units are read-only',
  'capability-off': 'The capability is switched off in the configuration',
  'not-granted': 'The system does not grant this action',
  'run-in-progress': 'An upgrade run is in progress',
  blocked: 'The Bluetooth adapter is blocked',
  inhibited: 'The action is blocked by an inhibitor',
  'in-progress': 'The action is already under way',
  refused: 'The backend refused the command',
  unavailable: 'The backend is not connected',
  timeout: 'The backend did not answer in time',
  internal: 'The backend failed',
} as const;

export type FaultCode = keyof typeof FAULTS;

/** A failed command: the kind of failure and one sentence that says what happened, fit for clients. */
export interface Fault {
  readonly fault: FaultCode;
  readonly detail: string;
}

export function failure(fault: FaultCode, detail: string): { readonly ok: false } & Fault {
  return { ok: false, fault, detail };
}
