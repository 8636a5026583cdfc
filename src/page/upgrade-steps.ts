// Remembers the last step of an upgrade's run. The node forgets this step when the run ends, or when the
// daemon starts again.

import { useRef } from 'preact/hooks';
import type { NodeState, UpgradeRun } from '../client/client.js';

/**
 * Adds the last known step of a run to this run when the node has forgotten the step. A successful run is
 * `idle`, and gets no step.
 */
export function useLastStep(upgrade: NodeState['upgrade']): NodeState['upgrade'] {
  const lastRunWithStep = useRef<UpgradeRun | undefined>(undefined);
  const run = upgrade?.run;
  if (run?.state === 'running' && run.step !== undefined) lastRunWithStep.current = run;
  const { step, percent, started_at } = lastRunWithStep.current ?? {};
  if (step === undefined || run === undefined || run.state === 'idle') return upgrade;
  const isOtherRun = run.started_at !== started_at;
  if (run.step !== undefined || isOtherRun) return upgrade;
  const lastStep = percent === undefined ? { step } : { step, percent };
  return { ...upgrade, run: { ...run, ...lastStep } };
}
