// Every way a command to a backend can fail, as one table: code, HTTP status, and a sentence that names the kind of failure. Actors use
// only the codes, and send a `detail` that says what exactly happened.

export const FAULTS = {
  'bad-value': { status: 400, title: 'The value is not acceptable' },
  'no-such-output': { status: 404, title: 'There is no such output' },
  'no-such-client': { status: 404, title: 'There is no such client' },
  'no-such-port': { status: 404, title: 'The output has no such port' },
  'no-such-card': { status: 404, title: 'There is no such card' },
  'no-such-profile': { status: 404, title: 'The card has no such profile' },
  'no-such-unit': { status: 404, title: 'There is no such unit' },
  'no-such-player': { status: 404, title: 'There is no such player' },
  'no-such-device': { status: 404, title: 'There is no such Bluetooth device' },
  'no-cover': { status: 404, title: 'The player has no cover that may be served' },
  'no-tracklist': { status: 404, title: 'The player has no tracklist' },
  'no-such-track': { status: 404, title: 'The tracklist has no such track' },
  'not-able': { status: 403, title: 'The player says that it cannot' },
  'no-cookie': { status: 404, title: 'The node has no cookie file' },
  'no-volume': { status: 409, title: 'The stream has no volume' },
  'no-ports': { status: 409, title: 'The output has no ports' },
  'profile-unavailable': { status: 409, title: 'The profile is not available now' },
  'not-stereo': { status: 409, title: 'The output is not stereo' },
  'read-only-scope': { status: 403, title: 'System-scope units are read-only' },
  'capability-off': { status: 403, title: 'The capability is switched off in the configuration' },
  'not-granted': { status: 403, title: 'The system does not grant this action' },
  'run-in-progress': { status: 409, title: 'An upgrade run is in progress' },
  blocked: { status: 409, title: 'The Bluetooth adapter is blocked' },
  inhibited: { status: 409, title: 'The action is blocked by an inhibitor' },
  'in-progress': { status: 409, title: 'The action is already under way' },
  refused: { status: 502, title: 'The backend refused the command' },
  unavailable: { status: 503, title: 'The backend is not connected' },
  timeout: { status: 504, title: 'The backend did not answer in time' },
  internal: { status: 502, title: 'The backend failed' },
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
