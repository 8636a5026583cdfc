// Finds and removes what a test run leaves behind: files, mounts, processes. A run has a directory of its
// own, which everything that it starts gets as TMPDIR. So only its own leftovers are found, however many
// runs share the machine.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const GRACE_MS = 3000;
const POLL_MS = 50;

/** Undefined when the process is gone or is somebody else's. */
function readProcess(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(error.code)) return undefined;
    throw error;
  }
}

/**
 * Processes whose TMPDIR is the directory or a folder in it. Zombies have no environment, and are left to
 * their parents.
 */
function processesOf(directory) {
  const isBelow = (variable) => `${variable}/`.startsWith(`TMPDIR=${directory}/`);
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => readProcess(pid, 'environ')?.split('\0').some(isBelow))
    .map((pid) => ({
      pid: Number(pid),
      command: (readProcess(pid, 'cmdline') ?? '').replaceAll('\0', ' ').trim(),
    }));
}

/** Mount points below the directory, innermost first. */
function mountsOf(directory) {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${directory}/`))
    .reverse();
}

function leftoversIn(directory) {
  return {
    processes: processesOf(directory),
    mounts: mountsOf(directory),
    files: readdirSync(directory),
  };
}

const isClean = ({ processes, mounts, files }) => processes.length + mounts.length + files.length === 0;

/**
 * Makes a directory for one run. `close` removes it with all leftovers, and resolves with a line for each.
 * It first waits for processes that are still ending, for GRACE_MS at most.
 * @returns {{ directory: string, close: () => Promise<string[]> }}
 */
export function openRunDirectory() {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-test-'));
  const close = async () => {
    const until = Date.now() + GRACE_MS;
    while (!isClean(leftoversIn(directory)) && Date.now() < until) await delay(POLL_MS);
    const { processes, mounts, files } = leftoversIn(directory);
    for (const { pid } of processes) {
      if (readProcess(pid, 'environ') !== undefined) process.kill(pid, 'SIGKILL');
    }
    for (const point of mounts) spawnSync('umount', ['--lazy', point]);
    // Nothing is deleted below a mount that could not be removed, which may be the machine's own root.
    if (mountsOf(directory).length === 0) rmSync(directory, { recursive: true, force: true });
    return [
      ...processes.map(({ pid, command }) => `process ${pid}: ${command}`),
      ...mounts.map((point) => `mount ${point}`),
      ...files.map((name) => `file ${join(directory, name)}`),
    ];
  };
  return { directory, close };
}
