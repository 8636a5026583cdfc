// The supervisor's policy: the children, one per backend and bridge, in start order (they stop in reverse),
// and when a dead one is started again. Actors are named by file and never imported. Pure.

import { BACKENDS, BRIDGES, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly name: ChildName;
  /**
   * The actor's entry, relative to the directory of main.js; the same path in the bundles and in the module
   * build.
   */
  readonly entry: string;
  readonly enabled: (settings: Settings) => boolean;
  /**
   * The time for the actor to stop before its thread is killed. All together must stay below 4 s: the process
   * has 5 s (docs/configuration.md, "Command line"), and the gateway needs a part of it.
   */
  readonly stopWithinMs: number;
  /**
   * Its thread is started by a command and ends after a minute without one: it owns no record and watches
   * nothing.
   */
  readonly isOnDemand: boolean;
}

/** The upgrade backend may be writing its state file to slow flash; discovery has to close a connection. */
const STOP_WITHIN_MS: Partial<Record<ChildName, number>> = {
  upgrade: 1000,
  discovery: 250,
  players: 250,
  power: 250,
};
const STOP_WITHIN_MS_DEFAULT = 500;

/** logind is asked anew for each answer, so between two questions the thread would only hold memory. */
const ON_DEMAND: readonly ChildName[] = ['power'];

/** A child on demand that gets no command for so long ends its thread, which holds 5 MB. */
export const IDLE_MS_MAX = 60_000;

function childOf(name: ChildName): ChildSpec {
  const isBridge = BRIDGES.some((each) => each === name);
  return {
    name,
    entry: `actors/${name}/${isBridge ? 'bridge' : 'backend'}.js`,
    enabled: (settings) => settings[name].enabled,
    stopWithinMs: STOP_WITHIN_MS[name] ?? STOP_WITHIN_MS_DEFAULT,
    isOnDemand: ON_DEMAND.includes(name),
  };
}

/** The first to start. It is enabled by default, so its thread boots before the settings are known. */
export const FIRST_CHILD: ChildSpec = childOf(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = CHILD_NAMES.map(childOf);

/** When a dead child is started again (docs/http-api.md, "Backends that are away"). Times in ms. */
export interface RestartPolicy {
  /**
   * The wait after the first, second, ... death within the window. One death more than there are waits is too
   * many.
   */
  readonly waitsMs: readonly number[];
  /** Older deaths are ignored. */
  readonly windowMs: number;
  /** The pause of a child that died too often. */
  readonly restMs: number;
}

/**
 * At once, then with back-off; the sixth death within 60 s is too many. No jitter: nothing else restarts at
 * the same time.
 */
export const RESTARTS = { waitsMs: [0, 250, 500, 1000, 2000], windowMs: 60_000, restMs: 60_000 } as const;

export interface Restart {
  readonly verdict: 'restarting' | 'failed';
  /** From now to the next start. */
  readonly waitMs: number;
  /** The deaths within the window, oldest first; at most one more than there are waits. */
  readonly deaths: readonly number[];
}

/** `deaths` are the times of earlier deaths on the clock of `now`, oldest first, without this death. */
export function afterDeath(deaths: readonly number[], now: number, policy: RestartPolicy): Restart {
  const recent = [...deaths.filter((at) => now - at < policy.windowMs), now];
  const waitMs = policy.waitsMs[recent.length - 1];
  if (waitMs !== undefined) return { verdict: 'restarting', waitMs, deaths: recent };
  return { verdict: 'failed', waitMs: policy.restMs, deaths: recent.slice(-policy.waitsMs.length - 1) };
}
