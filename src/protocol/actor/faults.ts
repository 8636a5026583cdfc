// Every way a command to a backend can fail, as one table: code, HTTP status, a sentence that names the kind
// of failure, and the backends that refuse a change so. Actors use only the codes, and send a `detail` that
// says what exactly happened.

import type { Backend } from './backends.js';
import { type Failure, failed } from './result.js';

const ROWS = {
  'bad-value': { status: 400, title: 'The value is not acceptable', of: ['audio', 'players'] },
  'no-such-output': { status: 404, title: 'There is no such output', of: ['audio'] },
  'no-such-input': { status: 404, title: 'There is no such input', of: ['audio'] },
  'no-such-client': { status: 404, title: 'There is no such client', of: ['audio'] },
  'no-such-port': { status: 404, title: 'There is no such port', of: ['audio'] },
  'no-such-card': { status: 404, title: 'There is no such card', of: ['audio'] },
  'no-such-profile': { status: 404, title: 'The card has no such profile', of: ['audio'] },
  'no-such-unit': { status: 404, title: 'There is no such unit', of: ['systemd'] },
  'no-such-player': { status: 404, title: 'There is no such player', of: ['players'] },
  'no-such-device': { status: 404, title: 'There is no such Bluetooth device', of: ['bluetooth'] },
  'no-cover': { status: 404, title: 'The player has no cover that may be served' },
  'no-tracklist': { status: 404, title: 'The player has no tracklist', of: ['players'] },
  'no-such-track': { status: 404, title: 'The tracklist has no such track', of: ['players'] },
  'other-track': { status: 409, title: 'Another track is the current one', of: ['players'] },
  'not-able': { status: 403, title: 'The player says that it cannot', of: ['players'] },
  'no-cookie': { status: 404, title: 'The node has no cookie file' },
  'profile-unavailable': { status: 409, title: 'The profile is not available now', of: ['audio'] },
  'no-volume': { status: 409, title: 'The stream or output has no volume', of: ['audio'] },
  'same-name': { status: 409, title: 'Another one has the same name', of: ['audio'] },
  'too-many-listens': { status: 409, title: 'Too many inputs are heard', of: ['audio'] },
  'no-ports': { status: 409, title: 'There are no ports', of: ['audio'] },
  'not-stereo': { status: 409, title: 'It is not stereo', of: ['audio'] },
  'read-only-scope': { status: 403, title: 'System-scope units are read-only', of: ['systemd'] },
  'capability-off': {
    status: 403,
    title: 'The capability is switched off in the configuration',
    of: ['power'],
  },
  'not-granted': { status: 403, title: 'The system does not grant this action', of: ['power'] },
  'run-in-progress': { status: 409, title: 'An upgrade run is in progress', of: ['upgrade'] },
  blocked: { status: 409, title: 'The Bluetooth adapter is blocked', of: ['bluetooth'] },
  inhibited: { status: 409, title: 'The action is blocked by an inhibitor', of: ['power'] },
  'in-progress': { status: 409, title: 'The action is already under way', of: ['power', 'bluetooth'] },
  refused: { status: 502, title: 'The backend refused the command' },
  unavailable: { status: 503, title: 'The backend is not connected' },
  timeout: { status: 504, title: 'The backend did not answer in time' },
  internal: { status: 502, title: 'The backend failed' },
} as const satisfies Readonly<Record<string, FaultRow>>;

export interface FaultRow {
  readonly status: 400 | 403 | 404 | 409 | 502 | 503 | 504;
  readonly title: string;
  /**
   * The backends that may answer a change with it; absent for what all may, and for what only a `GET` is
   * answered with.
   */
  readonly of?: readonly Backend[];
}

export type FaultCode = keyof typeof ROWS;

export const FAULTS: Readonly<Record<FaultCode, FaultRow>> = ROWS;

/** A failed command: the kind of failure and one sentence that says what happened, fit for clients. */
export interface Fault {
  readonly fault: FaultCode;
  readonly detail: string;
}

export function failure(fault: FaultCode, detail: string): Failure<Fault> {
  return failed({ fault, detail });
}
