// Decides whether a node's absence is explained by something that somebody has asked for, and for how long. Pure.

import type { NodeState } from '../client/client.js';

/** `reboot` and `poweroff` as in `power.action`; `restart` is a restart of the service. */
export type AbsenceReason = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

export interface AnnouncedAbsence {
  readonly reason: AbsenceReason;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** After this time the reason no longer explains the absence. */
const PATIENCE_MS: Readonly<Record<AbsenceReason, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/** Undefined if nobody has asked for it, or it takes too long. `lostSince` and `now` are milliseconds since the epoch. */
export function absenceReason(
  absence: AnnouncedAbsence | undefined,
  upgrade: NodeState['upgrade'],
  lostSince: number,
  now: number,
): AbsenceReason | undefined {
  const lasts = (reason: AbsenceReason, since: number): boolean => now - since < PATIENCE_MS[reason];
  const action = absence !== undefined && absence.reason !== 'restart' ? absence : undefined;
  if (action !== undefined && lasts(action.reason, action.at)) return action.reason;
  // An upgrade may restart the service or the node without an event.
  if (upgrade?.run?.state === 'running' && lasts('upgrade', lostSince)) return 'upgrade';
  return absence !== undefined && lasts(absence.reason, absence.at) ? absence.reason : undefined;
}
