// Reports that the start is complete: creates an empty file, named by the process id, in the service's runtime directory, where
// packaging/deb/wait-listening looks for it. Without systemd there is no such directory, and nothing is done.

import { writeFileSync } from 'node:fs';
import type { Clock } from './clock.js';
import type { ChildListener } from './protocol/actor/messages.js';

/** A backend that never reports must not make the start fail: the unit waits for 60 s. */
const SILENT_MAX_MS = 20_000;

export interface ReadyOptions {
  /** `$RUNTIME_DIRECTORY`; undefined without systemd. */
  readonly directory: string | undefined;
  readonly pid: number;
  /** True if upgrade scripts will use the progress socket. */
  readonly upgrades: boolean;
  readonly clock: Clock;
  readonly failed: (reason: string) => void;
}

/**
 * Call when HTTP is served, or waits for its addresses. Returns `listener`, or a wrapper that also waits for the upgrade backend's
 * first report: by then its socket exists, or cannot be created, which `/health` shows.
 */
export function readyWith(listener: ChildListener, options: ReadyOptions): ChildListener {
  const { directory, pid, upgrades, clock, failed } = options;
  if (directory === undefined) return listener;
  const report = (): void => {
    try {
      writeFileSync(`${directory}/ready.${pid}`, '');
    } catch (error) {
      failed(String(error));
    }
  };
  if (!upgrades) {
    report();
    return listener;
  }
  let cancel: (() => void) | undefined = clock.after(SILENT_MAX_MS, report);
  return {
    ...listener,
    health: (child, health) => {
      listener.health(child, health);
      // A backend that has only been started is `connecting` without a reason.
      const spoke = health.state !== 'connecting' || health.detail !== undefined;
      if (child !== 'upgrade' || !spoke || cancel === undefined) return;
      cancel();
      cancel = undefined;
      report();
    },
  };
}
