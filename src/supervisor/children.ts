// The table of children, in start order; they are stopped in reverse. Actors are named here by file only, never imported.

import type { Backend } from '../protocol/actor/backends.js';
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

/** The first to start, and enabled by default: its thread boots before the settings are known. */
export const FIRST_CHILD: ChildSpec = {
  backend: 'audio',
  entry: 'actors/audio/worker.js',
  enabled: (settings) => settings.audio.enabled,
  stopWithinMs: 500,
};

export const CHILDREN: readonly ChildSpec[] = [
  FIRST_CHILD,
  {
    backend: 'systemd',
    entry: 'actors/systemd/worker.js',
    enabled: (settings) => settings.systemd.enabled,
    stopWithinMs: 500,
  },
  {
    backend: 'power',
    entry: 'actors/power/worker.js',
    enabled: (settings) => settings.power.enabled,
    stopWithinMs: 500,
  },
  // Longer than the others: it may be writing its state file to slow flash.
  {
    backend: 'upgrade',
    entry: 'actors/upgrade/worker.js',
    enabled: (settings) => settings.upgrade.enabled,
    stopWithinMs: 1000,
  },
];
