// Decides which children there are, in which order they start, how long each child and the whole daemon may
// take to stop, and when a dead child is started again. This file names the actors' files, and does not
// import them. Pure.

import { BACKENDS, BRIDGES, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly name: ChildName;
  /** The actor's file, relative to the directory of main.js. It is the same in `build/` and in `dist/`. */
  readonly actorFile: string;
  readonly isEnabled: (settings: Settings) => boolean;
  /**
   * How long the actor may take to stop before its thread is killed. The sum for all children must stay
   * below 4 s, because the whole process must end within 5 s (docs/configuration.md, "Command line"). If less
   * time than this sum is left for the shutdown, each child gets only a part of its time (`stopTimeMs`).
   */
  readonly stopWithinMs: number;
  /**
   * True if a command starts the thread, and a minute without commands ends it. Such a child must own no
   * record, and must not depend on events that come between two commands.
   */
  readonly isOnDemand: boolean;
}

const STOP_WITHIN_MS: Partial<Record<ChildName, number>> = {
  // The upgrade backend may be writing its state file to slow flash.
  upgrade: 1000,
  // These three have little to do at a stop. If they had the default, the sum of all times would be 4.5 s.
  discovery: 250,
  players: 250,
  power: 250,
};
const STOP_WITHIN_MS_DEFAULT = 500;

/** `power` asks logind anew for each answer, so between two commands its thread would only cost memory. */
const ON_DEMAND_CHILDREN: readonly ChildName[] = ['power'];

/**
 * After this time without a command, the thread of a child on demand ends, because even an idle thread costs
 * 6 to 8 MB (bench/FIGURES.md, "Memory at rest").
 */
export const IDLE_MAX_MS = 60_000;

function childSpec(name: ChildName): ChildSpec {
  const isBridge = BRIDGES.some((bridge) => bridge === name);
  return {
    name,
    actorFile: `actors/${name}/${isBridge ? 'bridge' : 'backend'}.js`,
    isEnabled: (settings) => settings[name].enabled,
    stopWithinMs: STOP_WITHIN_MS[name] ?? STOP_WITHIN_MS_DEFAULT,
    isOnDemand: ON_DEMAND_CHILDREN.includes(name),
  };
}

/**
 * The first child to start. It is enabled by default, so its thread boots while the settings are being read.
 */
export const FIRST_CHILD: ChildSpec = childSpec(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = CHILD_NAMES.map(childSpec);

/**
 * Times in ms, counted from the signal that ends the daemon. The gateway closes first, at `gatewayMs` at the
 * latest. Then the children stop. Children that hang are killed at `childrenMs` at the latest. A killed
 * thread ends, or counts as stuck, within 250 ms. At `wholeMs` the process ends even if something hangs
 * (docs/configuration.md, "Command line": 5 s).
 */
export const SHUTDOWN = { wholeMs: 4_800, gatewayMs: 1_800, childrenMs: 4_500 } as const;

/**
 * Returns how long the next child may take to stop. `fullTimesMs` has the `stopWithinMs` of each child that
 * has not stopped yet, in the order of stopping. These children have `leftMs` together. If the sum of their
 * times is greater than `leftMs`, all times are shortened by the same factor, so that the last children get
 * some time, too.
 */
export function stopTimeMs(fullTimesMs: readonly number[], leftMs: number): number {
  const [nextFullMs = 0] = fullTimesMs;
  const neededMs = fullTimesMs.reduce((sum, timeMs) => sum + timeMs, 0);
  if (leftMs >= neededMs) return nextFullMs;
  return Math.floor((nextFullMs * Math.max(0, leftMs)) / neededMs);
}

/** Decides when a dead child is started again (docs/http-api.md, "Backends that are away"). */
export interface RestartPolicy {
  /**
   * The wait after the first death within the window, after the second death, and so on. If there are more
   * deaths than waits, the child has died too often.
   */
  readonly waitsMs: readonly number[];
  /** The length of the window. Older deaths do not count. */
  readonly windowMs: number;
  /** The time from a death to the next start, if the child has died too often. */
  readonly pauseMs: number;
}

/** The waits have no random part, because nothing else restarts at the same time. */
export const RESTARTS = { waitsMs: [0, 250, 500, 1000, 2000], windowMs: 60_000, pauseMs: 60_000 } as const;

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** The time from this death to the next start. */
  readonly waitMs: number;
  /**
   * The times of the deaths within the window, oldest first. The list has at most `waitsMs.length + 1` times,
   * because this number is enough for the verdict `failed`. Older deaths are left out.
   */
  readonly deaths: readonly number[];
}

/** Decides what follows a death at `now`. `earlierDeaths` are times on the same clock, oldest first. */
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
