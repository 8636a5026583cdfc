// Reports to the service's unit that the start, or a reload, is complete. The report is an empty file in the
// runtime directory. The unit's script packaging/deb/wait-listening waits for this file.

import { writeFileSync } from 'node:fs';
import type { ChildName } from '../protocol/actor/backends.js';

/**
 * The longest wait for a backend's first health report. A backend that never reports its health must not make
 * the start fail, so this wait is much shorter than the unit's `TimeoutStartSec=300`.
 */
const FIRST_HEALTH_MS = 20_000;

interface HealthSource {
  /** Resolves when the child is up or has reported why it is not up, at the latest after `withinMs`. */
  waitForFirstHealth(child: ChildName, withinMs: number): Promise<void>;
}

/**
 * Call this when the gateway listens, or waits for configured addresses that do not exist yet. Call it again
 * after each reload, because the unit's script removes the file each time. The call waits for the upgrade
 * backend's first health report: by then the socket for upgrade scripts exists, or `/health` shows why this
 * socket cannot be created.
 *
 * `runtimeDirectory` is `$RUNTIME_DIRECTORY`; undefined without systemd. Never rejects.
 */
export async function reportReady(
  health: HealthSource,
  runtimeDirectory: string | undefined,
  pid: number,
  onFailed: (reason: string) => void,
): Promise<void> {
  if (runtimeDirectory === undefined) return;
  await health.waitForFirstHealth('upgrade', FIRST_HEALTH_MS);
  try {
    writeFileSync(`${runtimeDirectory}/ready.${pid}`, '');
  } catch (error) {
    onFailed(String(error));
  }
}
