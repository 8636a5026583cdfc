// Why a node that does not answer is away where somebody has asked for it, and for how long that explains it. Pure.

import type { NodeState } from '../client/client.js';

/** `reboot` and `poweroff` as `power.action` names them; `restart` is the service's own. */
export type Errand = 'reboot' | 'poweroff' | 'upgrade' | 'restart';

/** Of what the node has said before it left. */
export interface Farewell {
  readonly errand: Errand;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Who is away for longer has not come back. */
const PATIENCE_MS: Readonly<Record<Errand, number>> = {
  restart: 60_000,
  reboot: 5 * 60_000,
  upgrade: 30 * 60_000,
  poweroff: Number.POSITIVE_INFINITY,
};

/** Undefined: nobody has asked for it, or it takes too long. `lostSince` and `now` are milliseconds since the epoch. */
export function errandOf(
  farewell: Farewell | undefined,
  upgrade: NodeState['upgrade'],
  lostSince: number,
  now: number,
): Errand | undefined {
  const lasts = (errand: Errand, since: number): boolean => now - since < PATIENCE_MS[errand];
  const action = farewell !== undefined && farewell.errand !== 'restart' ? farewell : undefined;
  if (action !== undefined && lasts(action.errand, action.at)) return action.errand;
  // An upgrade may restart the service and the node without a word of why.
  if (upgrade?.run?.state === 'running' && lasts('upgrade', lostSince)) return 'upgrade';
  return farewell !== undefined && lasts(farewell.errand, farewell.at) ? farewell.errand : undefined;
}
