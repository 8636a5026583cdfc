// Makes a cgroup with a tenth of one core and 96 MB, in which a process starts. It works with both versions
// of cgroups, and needs root.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';
const MEMORY_BYTES = 96 * 1024 * 1024;
const PERIOD_US = 100_000;
const QUOTA_US = 10_000;
const REMOVAL_DEADLINE_MS = 5000;
/** Removes the cgroup that is its argument. One that is not empty cannot be removed. */
const REMOVAL = `until rmdir "$1"; do kill -KILL $(cat "$1/cgroup.procs"); sleep 0.02; done`;

interface Setting {
  /** Below `/sys/fs/cgroup`; '' for the one hierarchy of version 2. */
  readonly hierarchy: string;
  readonly file: string;
  readonly value: string;
}

const VERSION_1: readonly Setting[] = [
  { hierarchy: 'cpu', file: 'cpu.cfs_period_us', value: String(PERIOD_US) },
  { hierarchy: 'cpu', file: 'cpu.cfs_quota_us', value: String(QUOTA_US) },
  { hierarchy: 'memory', file: 'memory.limit_in_bytes', value: String(MEMORY_BYTES) },
];
const VERSION_2: readonly Setting[] = [
  { hierarchy: '', file: 'cpu.max', value: `${QUOTA_US} ${PERIOD_US}` },
  { hierarchy: '', file: 'memory.max', value: String(MEMORY_BYTES) },
];

/** How often the kernel held the processes up because their share of a period was used up. */
const THROTTLED = /^nr_throttled (\d+)$/m;

/** The reason why there can be no board here, for a note; undefined if there can be one. */
export function whyNoBoard(): string | undefined {
  if (process.getuid?.() !== 0) return 'a small board (needs root)';
  return existsSync(CGROUPS) ? undefined : 'a small board (no cgroups here)';
}

export class SmallBoard {
  readonly #folders: readonly string[];
  /** The beginning of a command. The program and the arguments that follow start inside the board. */
  readonly launcher: readonly string[];

  /** `name` distinguishes it from others of this process. @throws when the limits cannot be set here. */
  constructor(name: string) {
    const settings = existsSync(join(CGROUPS, 'cgroup.controllers')) ? VERSION_2 : VERSION_1;
    const folderOf = (hierarchy: string): string =>
      join(CGROUPS, hierarchy, `tonearm-board-${process.pid}-${name}`);
    this.#folders = [...new Set(settings.map(({ hierarchy }) => folderOf(hierarchy)))];
    for (const folder of this.#folders) mkdirSync(folder);
    try {
      for (const { hierarchy, file, value } of settings) {
        writeFileSync(join(folderOf(hierarchy), file), value);
      }
    } catch (error) {
      // Version 2 has the files only where the root group hands the controllers down.
      this.remove();
      throw error;
    }
    const enter = this.#folders.map((folder) => `echo $$ > ${folder}/cgroup.procs`).join(' && ');
    this.launcher = ['sh', '-c', `${enter} && exec "$@"`, 'sh'];
  }

  get throttled(): number {
    const stat = readFileSync(join(this.#folders[0] ?? '', 'cpu.stat'), 'utf8');
    return Number(THROTTLED.exec(stat)?.[1]);
  }

  /**
   * Kills what still runs inside, as after a failure, and waits until it has ended. It blocks, because it is
   * called when the process ends. @throws if the cgroup cannot be removed within REMOVAL_DEADLINE_MS
   */
  remove(): void {
    for (const folder of this.#folders) {
      const command = ['-c', REMOVAL, 'sh', folder];
      const { status } = spawnSync('sh', command, { stdio: 'ignore', timeout: REMOVAL_DEADLINE_MS });
      if (status !== 0) throw new Error(`${folder} cannot be removed`);
    }
  }
}
