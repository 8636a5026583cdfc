// Status and run -> the JSON texts that are published (contract, section 4). Pure.

import type { StatusBody } from './result-text.js';
import type { Run } from './run.js';
import { utcSeconds } from './time-text.js';

/** Which triggers exist. */
export interface Abilities {
  readonly canCheck: boolean;
  readonly canUpgrade: boolean;
}

export function statusJson(body: StatusBody): string {
  return `{${body}}`;
}

/** The run as a state: what `upgrade.info` carries. Percent and step change too often to be events of it. */
export function runEventJson(run: Run): string {
  const { percent: _percent, step: _step, ...rest } = run;
  return runJson(rest);
}

export function runJson({ state, origin, percent, step, startedMs, finishedMs }: Run): string {
  return JSON.stringify({
    state,
    ...(origin !== undefined && { origin }),
    ...(percent !== undefined && { percent }),
    ...(step !== undefined && { step }),
    ...(startedMs !== undefined && { started_at: utcSeconds(startedMs) }),
    ...(finishedMs !== undefined && { finished_at: utcSeconds(finishedMs) }),
  });
}

/** The answer of `GET /upgrade`. */
export function viewJson(body: StatusBody, run: Run, { canCheck, canUpgrade }: Abilities): string {
  return `{${body},"run":${runJson(run)},"can_check":${canCheck},"can_upgrade":${canUpgrade}}`;
}
