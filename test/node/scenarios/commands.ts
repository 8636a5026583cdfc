// Commands that scenarios run on the node, which must succeed, and what they print.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { NODE_USER, type Node, type Ran } from '../node.js';

async function said(running: Promise<Ran>, what: string): Promise<string> {
  const { status, stdout, stderr } = await running;
  assert.equal(status, 0, `${what}\n${stdout}${stderr}`);
  return stdout;
}

/** A shell script of root's. */
export function shell(node: Node, script: string): Promise<string> {
  return said(node.root('sh', '-euc', script), script);
}

/** A shell script of pi's. */
export function userShell(node: Node, script: string): Promise<string> {
  return said(node.user('sh', '-euc', `export HOME=/home/${NODE_USER}; ${script}`), script);
}

/** Runs systemctl for pi's manager. */
export async function systemctl(node: Node, ...args: readonly string[]): Promise<string> {
  return (await said(node.user('systemctl', '--user', ...args), `systemctl ${args.join(' ')}`)).trim();
}

/** A property of a unit of pi's; of the service, unless another is named. */
export function property(node: Node, name: string, unit = 'tonearm.service'): Promise<string> {
  return systemctl(node, 'show', '-P', name, unit);
}

/** True when there is such a file. */
export async function isThere(node: Node, path: string): Promise<boolean> {
  return (await node.root('test', '-e', path)).status === 0;
}

/** Resolves when `by` holds a lock on the shutdown, which it does until the answer is called. */
export async function holdShutdown(
  node: Node,
  mode: 'block' | 'delay',
  by: 'root' | 'pi' = 'root',
): Promise<() => Promise<void>> {
  const why = [`--who=${by}'s upgrade`, '--why=half-way'];
  const hold = ['systemd-inhibit', '--what=shutdown', `--mode=${mode}`, ...why, 'sh', '-c', 'echo held; cat'];
  const holder = by === 'root' ? node.spawnRoot(...hold) : node.spawnUser(...hold);
  const gone = once(holder, 'close');
  const [said] = await Promise.race([once(holder.stdout, 'data'), gone]);
  assert.match(String(said), /^held/, `${by} got no lock`);
  return async () => {
    holder.stdin.end();
    await gone;
  };
}
