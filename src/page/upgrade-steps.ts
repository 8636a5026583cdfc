// Remembers the last step of an upgrade's run. The node forgets it when the run ends, or when the daemon
// starts again.

import { useRef } from 'preact/hooks';
import type { NodeState, UpgradeRun } from '../client/client.js';

/**
 * Adds the last known step to a run that has no step any more. A run that has succeeded is `idle`, and gets
 * none.
 */
export function useLastStep(upgrade: NodeState['upgrade']): NodeState['upgrade'] {
  const last = useRef<UpgradeRun | undefined>(undefined);
  const run = upgrade?.run;
  if (run?.state === 'running' && run.step !== undefined) last.current = run;
  const { step, percent, started_at } = last.current ?? {};
  if (step === undefined || run === undefined || run.state === 'idle') return upgrade;
  const isOtherRun = run.started_at !== started_at;
  if (run.step !== undefined || isOtherRun) return upgrade;
  const lastStep = percent === undefined ? { step } : { step, percent };
  return { ...upgrade, run: { ...run, ...lastStep } };
}
