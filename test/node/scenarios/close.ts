// A node leaves nothing behind when its test process is killed; what an orderly end leaves, the runner finds after every file.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { until } from '../../until.js';

const BOOT = new URL('../node.js', import.meta.url);

const PROGRAM = `
import { bootNode } from ${JSON.stringify(BOOT.href)};
const node = await bootNode();
await node.door();
process.stdout.write('up');
process.stdin.resume();
`;

/** Every trace that a node with this folder can leave on this machine. */
function traces(dir: string): string[] {
  const name = dir.slice(dir.lastIndexOf('/') + 1);
  const found = existsSync(dir) ? [dir] : [];
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8');
  found.push(...mounts.split('\n').filter((line) => line.includes(name)));
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    if (processMentions(pid, name)) found.push(`process ${pid}`);
  }
  for (const root of ['/sys/fs/cgroup', '/sys/fs/cgroup/unified']) {
    if (existsSync(`${root}/${name}`)) found.push(`${root}/${name}`);
  }
  return found;
}

/** By environment or arguments: the keeper and its children carry the folder's name in one of them. */
function processMentions(pid: string, name: string): boolean {
  try {
    const own = `${readFileSync(`/proc/${pid}/cmdline`)}${readFileSync(`/proc/${pid}/environ`)}`;
    return own.includes(name) || readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(name);
  } catch {
    return false; // It ended while we looked.
  }
}

async function bootedElsewhere() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), once(child, 'close')]);
  assert.deepEqual(said, ['up']);
  return child;
}

/** The folder of the node that process `pid` holds: its keeper has it in its environment. */
function folderOf(pid: number): string {
  const keeper = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0];
  const dir = /(?:^|\0)DIR=([^\0]*)/.exec(readFileSync(`/proc/${keeper}/environ`, 'utf8'))?.[1];
  return dir ?? assert.fail('the keeper has no folder');
}

export function closeScenarios(): void {
  test('after a crash of its test process nothing of the node is left', async () => {
    const child = await bootedElsewhere();
    const dir = folderOf(child.pid ?? 0);
    assert.notDeepEqual(traces(dir), [], 'a running node has traces, or this test sees nothing');
    const gone = once(child, 'close');
    child.kill('SIGKILL');
    await gone;
    await until('the last trace to go', () => traces(dir).length === 0);
  });
}
