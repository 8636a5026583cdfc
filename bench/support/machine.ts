// Describes the machine on which a measurement was taken, because a figure means nothing without it.

import { spawnSync } from 'node:child_process';
import { cpus, loadavg, release } from 'node:os';

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  readonly kernel: string;
  /** The version of each sound server that is installed. */
  readonly sound: readonly string[];
  /** The load average of the last minute, when the measurement began. */
  readonly load: number;
  /** True if the load was more than half of the cores. Then only ratios can be compared, and with care. */
  readonly busy: boolean;
}

const BUSY_PER_CORE = 0.5;
/** Programs that print their version when they get `--version`. */
const SOUND_SERVERS = ['pulseaudio', 'pipewire'];

export function thisMachine(): Machine {
  const cores = cpus();
  const load = loadavg()[0] ?? Number.NaN;
  return {
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    node: process.version,
    kernel: release(),
    sound: SOUND_SERVERS.flatMap(version),
    load: Number(load.toFixed(2)),
    busy: load > cores.length * BUSY_PER_CORE,
  };
}

function version(program: string): readonly string[] {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const found = /\d+(?:\.\d+)+/.exec(stdout ?? '');
  return found === null ? [] : [`${program} ${found[0]}`];
}

export function machineLine({ cpu, cores, node, kernel, sound, load, busy }: Machine): string {
  const parts = [`${cores} x ${cpu}`, `Node ${node}`, `Linux ${kernel}`, ...sound];
  return `${parts.join(', ')}; load ${load} at the start${busy ? ': THE MACHINE WAS BUSY' : ''}`;
}
