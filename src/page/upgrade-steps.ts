// Remembers the last step of an upgrade's run while the service that knew it starts again.

import { useRef } from 'preact/hooks';
import type { NodeState, UpgradeRun } from '../client/client.js';

/** Adds the last known step of this run, which a service that has restarted or failed no longer knows. */
export function useSteps(upgrade: NodeState['upgrade']): NodeState['upgrade'] {
  const last = useRef<UpgradeRun | undefined>(undefined);
  const run = upgrade?.run;
  if (run?.state === 'running' && run.step !== undefined) last.current = run;
  const { step, percent, started_at } = last.current ?? {};
  const isForgotten = step !== undefined && run?.step === undefined && run?.started_at === started_at;
  if (run === undefined || run.state === 'idle' || !isForgotten) return upgrade;
  return { ...upgrade, run: { ...run, step, ...(percent !== undefined && { percent }) } };
}
