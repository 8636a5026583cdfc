// Remembers the last step of an upgrade's run, because the node forgets it when its service starts again.

import { useRef } from 'preact/hooks';
import type { NodeState, UpgradeRun } from '../client/client.js';

/** Returns the upgrade. If its run has no step any more, the last known step of the same run is added. */
export function useLastStep(upgrade: NodeState['upgrade']): NodeState['upgrade'] {
  const last = useRef<UpgradeRun | undefined>(undefined);
  const run = upgrade?.run;
  if (run?.state === 'running' && run.step !== undefined) last.current = run;
  const { step, percent, started_at } = last.current ?? {};
  const isForgotten = step !== undefined && run?.step === undefined && run?.started_at === started_at;
  if (run === undefined || run.state === 'idle' || !isForgotten) return upgrade;
  return { ...upgrade, run: { ...run, step, ...(percent !== undefined && { percent }) } };
}
