// Reports that the start, or a reload, is complete: creates an empty file, named by the process id, in the
// service's runtime directory, where packaging/deb/wait-listening looks for it. Without systemd there is no
// such directory, and nothing is done.

import { writeFileSync } from 'node:fs';
import type { ChildName } from '../protocol/actor/backends.js';

/** A backend that never reports must not make the start fail: the unit waits for the file for 60 s. */
const FIRST_REPORT_MS = 20_000;

interface FirstReports {
  /** Resolves when the child is up or has reported why it is not, at the latest after `withinMs`. */
  firstHealth(child: ChildName, withinMs: number): Promise<void>;
}

/**
 * To be called when HTTP is served, or will be once its addresses exist; and again after a reload, before
 * which the unit has removed the file. Waits for the upgrade backend's first report, because by then the
 * socket for upgrade scripts exists, or `/health` shows why it cannot be created. `directory` is
 * `$RUNTIME_DIRECTORY`. Never rejects.
 */
export async function reportReady(
  reports: FirstReports,
  directory: string | undefined,
  pid: number,
  failed: (reason: string) => void,
): Promise<void> {
  if (directory === undefined) return;
  await reports.firstHealth('upgrade', FIRST_REPORT_MS);
  try {
    writeFileSync(`${directory}/ready.${pid}`, '');
  } catch (error) {
    failed(String(error));
  }
}
