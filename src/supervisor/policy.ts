// Decides which children there are, in which order they start, how long each may take to stop, and when a
// dead child is started again. Actors are named by their files and never imported. Pure.

import { BACKENDS, BRIDGES, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly name: ChildName;
  /** The actor's file, relative to the directory of main.js. The bundles of `dist/` have the same paths. */
  readonly actorFile: string;
  readonly isEnabled: (settings: Settings) => boolean;
  /**
   * How long the actor may take to stop before its thread is killed. The sum for all children must stay
   * below 4 s, because the whole process has 5 s (docs/configuration.md, "Command line"). If less time than
   * this sum is left for the shutdown, each child gets only a part of its time (`stopTimeMs`).
   */
  readonly stopWithinMs: number;
  /**
   * True if a command starts the thread, and a minute without commands ends it. Such a child must own no
   * record, and must not need to follow what changes between two commands.
   */
  readonly isOnDemand: boolean;
}

const STOP_WITHIN_MS: Partial<Record<ChildName, number>> = {
  // The upgrade backend may be writing its state file to slow flash.
  upgrade: 1000,
  // These three have little to do at a stop. With the default, the sum for all children would be 4.5 s.
  discovery: 250,
  players: 250,
  power: 250,
};
const STOP_WITHIN_MS_DEFAULT = 500;

/** `power` asks logind anew for each answer, so between two commands its thread would only cost memory. */
const ON_DEMAND: readonly ChildName[] = ['power'];

/** After this time without a command, the thread of a child on demand ends, because a thread takes 5 MB. */
export const IDLE_MAX_MS = 60_000;

function childSpec(name: ChildName): ChildSpec {
  const isBridge = BRIDGES.some((bridge) => bridge === name);
  return {
    name,
    actorFile: `actors/${name}/${isBridge ? 'bridge' : 'backend'}.js`,
    isEnabled: (settings) => settings[name].enabled,
    stopWithinMs: STOP_WITHIN_MS[name] ?? STOP_WITHIN_MS_DEFAULT,
    isOnDemand: ON_DEMAND.includes(name),
  };
}

/**
 * The first child to start. It is enabled by default, so its thread boots while the settings are being read.
 */
export const FIRST_CHILD: ChildSpec = childSpec(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = CHILD_NAMES.map(childSpec);

/**
 * Times after the signal that ends the daemon, in ms. The whole shutdown takes at most `wholeMs`, whatever
 * hangs (docs/configuration.md, "Command line": 5 s). The gateway closes first, in at most `gatewayMs`.
 * Children that have not stopped at `childrenMs` are killed. A killed thread then needs up to 250 ms to end.
 */
export const SHUTDOWN = { wholeMs: 4_800, gatewayMs: 1_800, childrenMs: 4_500 } as const;

/**
 * Returns how long the next child may take to stop. `fullTimesMs` has the `stopWithinMs` of each child that
 * has not stopped yet, in the order of stopping. All of them have `leftMs` together. If this is too short,
 * all times are shortened by the same factor, so that the last children can stop, too.
 */
export function stopTimeMs(fullTimesMs: readonly number[], leftMs: number): number {
  const [nextMs = 0] = fullTimesMs;
  const neededMs = fullTimesMs.reduce((sum, timeMs) => sum + timeMs, 0);
  if (leftMs >= neededMs) return nextMs;
  return Math.floor((nextMs * Math.max(0, leftMs)) / neededMs);
}

/** Decides when a dead child is started again (docs/http-api.md, "Backends that are away"). */
export interface RestartPolicy {
  /**
   * The first death within the window is followed by the first wait, the second death by the second wait,
   * and so on. A death for which there is no wait is one too many.
   */
  readonly waitsMs: readonly number[];
  /** Older deaths do not count. */
  readonly windowMs: number;
  /** The pause of a child that died too often. */
  readonly pauseMs: number;
}

/** The waits have no random part, because nothing else restarts at the same time. */
export const RESTARTS = { waitsMs: [0, 250, 500, 1000, 2000], windowMs: 60_000, pauseMs: 60_000 } as const;

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** From now to the next start. */
  readonly waitMs: number;
  /**
   * The times of the deaths within the window, oldest first. The list has at most one more than there are
   * waits, because this many show that the child died too often. The oldest are left out.
   */
  readonly deaths: readonly number[];
}

/** The child has died at `now`. `earlierDeaths` are times on the same clock, oldest first. */
export function restartAfterDeath(
  earlierDeaths: readonly number[],
  now: number,
  policy: RestartPolicy,
): Restart {
  const { waitsMs, windowMs, pauseMs } = policy;
  const deaths = [...earlierDeaths.filter((diedAt) => now - diedAt < windowMs), now];
  const waitMs = waitsMs[deaths.length - 1];
  if (waitMs !== undefined) return { verdict: 'restarting', waitMs, deaths };
  const countedDeathsMax = waitsMs.length + 1;
  return { verdict: 'failed', waitMs: pauseMs, deaths: deaths.slice(-countedDeathsMax) };
}
