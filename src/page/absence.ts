// Decides whether a node's absence is explained by something that somebody has asked for, and for how long. Pure.

import type { NodeState } from '../client/client.js';

/** `reboot` and `poweroff` as in `power.action`; `restart` is a restart of the service. */
export type Errand = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

export interface Farewell {
  readonly errand: Errand;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** After this time the reason no longer explains the absence. */
const PATIENCE_MS: Readonly<Record<Errand, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/** Undefined if nobody has asked for it, or it takes too long. `lostSince` and `now` are milliseconds since the epoch. */
export function errandOf(
  farewell: Farewell | undefined,
  upgrade: NodeState['upgrade'],
  lostSince: number,
  now: number,
): Errand | undefined {
  const lasts = (errand: Errand, since: number): boolean => now - since < PATIENCE_MS[errand];
  const action = farewell !== undefined && farewell.errand !== 'restart' ? farewell : undefined;
  if (action !== undefined && lasts(action.errand, action.at)) return action.errand;
  // An upgrade may restart the service or the node without an event.
  if (upgrade?.run?.state === 'running' && lasts('upgrade', lostSince)) return 'upgrade';
  return farewell !== undefined && lasts(farewell.errand, farewell.at) ? farewell.errand : undefined;
}
