// Says that the start is done: an empty file, named by our process id, in the directory that systemd made for the service, where
// packaging/deb/wait-listening looks for it. Started otherwise there is no such directory, and nobody to be told.

import { writeFileSync } from 'node:fs';
import type { Clock } from './clock.js';
import type { ChildListener } from './protocol/actor/messages.js';

/** A backend that does not come to say a word must not fail the start: the unit waits for 60 s. */
const SILENT_MAX_MS = 20_000;

export interface ReadyOptions {
  /** `$RUNTIME_DIRECTORY`; undefined without systemd. */
  readonly directory: string | undefined;
  readonly pid: number;
  /** Whether scripts will want to tell their progress. */
  readonly upgrades: boolean;
  readonly clock: Clock;
  readonly failed: (reason: string) => void;
}

/**
 * To be called when HTTP is served, or waits for its addresses to come. Answers with `listener`, or with one that listens also for
 * the upgrade backend's first word: its socket lies in its place by then, or cannot, which `/health` tells.
 */
export function readyWith(listener: ChildListener, options: ReadyOptions): ChildListener {
  const { directory, pid, upgrades, clock, failed } = options;
  if (directory === undefined) return listener;
  const say = (): void => {
    try {
      writeFileSync(`${directory}/ready.${pid}`, '');
    } catch (error) {
      failed(String(error));
    }
  };
  if (!upgrades) {
    say();
    return listener;
  }
  let cancel: (() => void) | undefined = clock.after(SILENT_MAX_MS, say);
  return {
    ...listener,
    health: (child, health) => {
      listener.health(child, health);
      // One that has been started and nothing else is `connecting`, without a reason.
      const spoke = health.state !== 'connecting' || health.detail !== undefined;
      if (child !== 'upgrade' || !spoke || cancel === undefined) return;
      cancel();
      cancel = undefined;
      say();
    },
  };
}
