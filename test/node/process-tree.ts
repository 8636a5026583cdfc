// The node's processes among those of this machine: finds its PID 1, and ends what was started inside.

import { readFileSync, readlinkSync } from 'node:fs';

/** The contents of a file below /proc, or nothing: a process may be gone at any moment. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return undefined;
  }
}

/** Empty when there are none, or the process is gone. */
export function childrenOf(pid: number): number[] {
  const text = readProc(`${pid}/task/${pid}/children`) ?? '';
  return text.split(' ').filter(Boolean).map(Number);
}

/** One that has ended meanwhile, as when the node goes down, is no trouble. */
export function terminate(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The process's ids, from the PID namespace of our /proc to its own. */
function idsOf(pid: number | 'self'): readonly number[] {
  const line = /^NSpid:(.*)$/m.exec(readProc(`${pid}/status`) ?? '')?.[1] ?? '';
  return line.split(/\s+/).filter(Boolean).map(Number);
}

/** Before it is systemd, nspawn's child is a copy of nspawn in half-made namespaces that nobody may enter. */
function isSystemd(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/exe`).endsWith('/systemd');
  } catch {
    return false;
  }
}

/** The systemd that is PID 1 two PID namespaces below ours, among the descendants of `ancestor`. */
export function findLeader(ancestor: number): number | undefined {
  const depth = idsOf('self').length + 2;
  const waiting = [ancestor];
  for (let pid = waiting.shift(); pid !== undefined; pid = waiting.shift()) {
    const ids = idsOf(pid);
    if (ids.length === depth && ids.at(-1) === 1 && isSystemd(pid)) return pid;
    waiting.push(...childrenOf(pid));
  }
  return undefined;
}
