// The children, one per backend and bridge, in start order; they are stopped in reverse. Actors are named here by file only, never imported.

import { BACKENDS, CHILD_NAMES, type ChildName } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly name: ChildName;
  /** The actor's entry, relative to the directory that holds main.js: the same in the bundles and in the module build. */
  readonly entry: string;
  readonly enabled: (settings: Settings) => boolean;
  /** How long the actor may take to stop before its thread is ended. All of them together stay below 4 s: the process
   * has 5 s (docs/configuration.md, "Command line") and the gateway needs its share. */
  readonly stopWithinMs: number;
}

/** The upgrade backend may be writing its state file to slow flash; discovery has a connection to close. */
const STOP_WITHIN_MS: Partial<Record<ChildName, number>> = { upgrade: 1000, discovery: 250 };
const STOP_WITHIN_MS_DEFAULT = 500;

function childOf(name: ChildName): ChildSpec {
  return {
    name,
    entry: `actors/${name}/worker.js`,
    enabled: (settings) => settings[name].enabled,
    stopWithinMs: STOP_WITHIN_MS[name] ?? STOP_WITHIN_MS_DEFAULT,
  };
}

/** The first to start, and enabled by default: its thread boots before the settings are known. */
export const FIRST_CHILD: ChildSpec = childOf(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = CHILD_NAMES.map(childOf);
