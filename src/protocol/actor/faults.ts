// The faults: in which ways a command to a backend can fail, and which HTTP status each fault has.

import type { Backend } from './backends.js';
import { type Failure, failed } from './result.js';

const ROWS = {
  'bad-value': { status: 400, title: 'The value is not acceptable', refusedBy: ['audio', 'players'] },
  'no-such-output': { status: 404, title: 'There is no such output', refusedBy: ['audio'] },
  'no-such-input': { status: 404, title: 'There is no such input', refusedBy: ['audio'] },
  'no-such-client': { status: 404, title: 'There is no such client', refusedBy: ['audio'] },
  'no-such-port': { status: 404, title: 'There is no such port', refusedBy: ['audio'] },
  'no-such-card': { status: 404, title: 'There is no such card', refusedBy: ['audio'] },
  'no-such-profile': { status: 404, title: 'The card has no such profile', refusedBy: ['audio'] },
  'no-such-unit': { status: 404, title: 'There is no such unit', refusedBy: ['systemd'] },
  'no-such-player': { status: 404, title: 'There is no such player', refusedBy: ['players'] },
  'no-such-device': { status: 404, title: 'There is no such Bluetooth device', refusedBy: ['bluetooth'] },
  'no-cover': { status: 404, title: 'The player has no cover that may be served' },
  'no-tracklist': { status: 404, title: 'The player has no tracklist', refusedBy: ['players'] },
  'no-such-track': { status: 404, title: 'The tracklist has no such track', refusedBy: ['players'] },
  'other-track': { status: 409, title: 'Another track is the current one', refusedBy: ['players'] },
  'not-able': { status: 403, title: 'The player says that it cannot', refusedBy: ['players'] },
  'no-cookie': { status: 404, title: 'The node has no cookie file' },
  'profile-unavailable': { status: 409, title: 'The profile is not available now', refusedBy: ['audio'] },
  'no-volume': { status: 409, title: 'The stream or output has no volume', refusedBy: ['audio'] },
  'same-name': { status: 409, title: 'Another one has the same name', refusedBy: ['audio'] },
  'too-many-listens': { status: 409, title: 'Too many inputs are heard', refusedBy: ['audio'] },
  'no-ports': { status: 409, title: 'There are no ports', refusedBy: ['audio'] },
  'not-stereo': { status: 409, title: 'It is not stereo', refusedBy: ['audio'] },
  'read-only-scope': { status: 403, title: 'System-scope units are read-only', refusedBy: ['systemd'] },
  'capability-off': {
    status: 403,
    title: 'The capability is switched off in the configuration',
    refusedBy: ['power'],
  },
  'not-granted': { status: 403, title: 'The system does not grant this action', refusedBy: ['power'] },
  'run-in-progress': { status: 409, title: 'An upgrade run is in progress', refusedBy: ['upgrade'] },
  blocked: { status: 409, title: 'The Bluetooth adapter is blocked', refusedBy: ['bluetooth'] },
  inhibited: { status: 409, title: 'The action is blocked by an inhibitor', refusedBy: ['power'] },
  'in-progress': { status: 409, title: 'The action is already under way', refusedBy: ['power'] },
  refused: { status: 502, title: 'The backend refused the command' },
  unavailable: { status: 503, title: 'The backend is not connected' },
  timeout: { status: 504, title: 'The backend did not answer in time' },
  internal: { status: 502, title: 'The backend failed' },
} as const satisfies Readonly<Record<string, FaultRow>>;

export interface FaultRow {
  readonly status: 400 | 403 | 404 | 409 | 502 | 503 | 504;
  readonly title: string;
  /**
   * The backends that may answer a `POST` with this fault. Absent in two cases: all backends may answer with
   * the fault, as with `timeout`, or only a `GET` is answered with it, as with `no-cover`.
   */
  readonly refusedBy?: readonly Backend[];
}

export type FaultCode = keyof typeof ROWS;

/** The table `ROWS`, with one type for all rows, so that every optional member can be read. */
export const FAULTS: Readonly<Record<FaultCode, FaultRow>> = ROWS;

/** Why a command failed. `detail` is a sentence for clients, and says more than the row's `title`. */
export interface Fault {
  readonly fault: FaultCode;
  readonly detail: string;
}

export function failure(fault: FaultCode, detail: string): Failure<Fault> {
  return failed({ fault, detail });
}
