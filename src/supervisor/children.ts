// The children, one per backend and bridge, in start order; they stop in reverse. Actors are named by file and never imported.

import { BACKENDS, BRIDGES, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly name: ChildName;
  /** The actor's entry, relative to the directory of main.js; the same path in the bundles and in the module build. */
  readonly entry: string;
  readonly enabled: (settings: Settings) => boolean;
  /** The time for the actor to stop before its thread is killed. All together must stay below 4 s: the process
   * has 5 s (docs/configuration.md, "Command line"), and the gateway needs a part of it. */
  readonly stopWithinMs: number;
}

/** The upgrade backend may be writing its state file to slow flash; discovery has to close a connection. */
const STOP_WITHIN_MS: Partial<Record<ChildName, number>> = {
  upgrade: 1000,
  discovery: 250,
  players: 250,
  power: 250,
};
const STOP_WITHIN_MS_DEFAULT = 500;

function childOf(name: ChildName): ChildSpec {
  const isBridge = BRIDGES.some((each) => each === name);
  return {
    name,
    entry: `actors/${name}/${isBridge ? 'bridge' : 'backend'}.js`,
    enabled: (settings) => settings[name].enabled,
    stopWithinMs: STOP_WITHIN_MS[name] ?? STOP_WITHIN_MS_DEFAULT,
  };
}

/** The first to start. It is enabled by default, so its thread boots before the settings are known. */
export const FIRST_CHILD: ChildSpec = childOf(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = CHILD_NAMES.map(childOf);
