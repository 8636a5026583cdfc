// The children, one per backend, in start order; they are stopped in reverse. Actors are named here by file only, never imported.

import { BACKENDS, type Backend } from '../protocol/actor/backends.js';
import type { Settings } from '../protocol/actor/settings.js';

export interface ChildSpec {
  readonly backend: Backend;
  /** The actor's entry, relative to the directory that holds main.js: the same in the bundles and in the module build. */
  readonly entry: string;
  readonly enabled: (settings: Settings) => boolean;
  /** How long the actor may take to stop before its thread is ended. All of them together stay below 4 s: the process
   * has 5 s (contract, section 1) and the gateway needs its share. */
  readonly stopWithinMs: number;
}

/** The upgrade backend may be writing its state file to slow flash. */
const STOP_WITHIN_MS: Partial<Record<Backend, number>> = { upgrade: 1000 };
const STOP_WITHIN_MS_DEFAULT = 500;

function childOf(backend: Backend): ChildSpec {
  return {
    backend,
    entry: `actors/${backend}/worker.js`,
    enabled: (settings) => settings[backend].enabled,
    stopWithinMs: STOP_WITHIN_MS[backend] ?? STOP_WITHIN_MS_DEFAULT,
  };
}

/** The first to start, and enabled by default: its thread boots before the settings are known. */
export const FIRST_CHILD: ChildSpec = childOf(BACKENDS[0]);

export const CHILDREN: readonly ChildSpec[] = BACKENDS.map(childOf);
