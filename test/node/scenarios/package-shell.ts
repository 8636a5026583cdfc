// Commands that the scenarios of the package run on the node, and what must be true of their ends.

import assert from 'node:assert/strict';
import type { Node, Ran } from '../node.js';
import { shell, systemctl } from './commands.js';

export const RULE = '/etc/polkit-1/rules.d/50-tonearm-pi.rules';
export const CONFIG = '/home/pi/.config/tonearm';
export const POWER_CONFIG = `${CONFIG}/conf.d/50-power.yaml`;

export function setUp(node: Node, ...args: readonly string[]): Promise<Ran> {
  return node.root('tonearm-setup', ...args);
}

/** Must succeed; resolves with the output. */
export async function setUpPi(node: Node, ...args: readonly string[]): Promise<string> {
  const ran = await setUp(node, '--user', 'pi', ...args);
  assert.equal(ran.status, 0, `${ran.stdout}${ran.stderr}`);
  return ran.stdout;
}

/** Without network: everything that is needed lies beside it. */
export function apt(node: Node, ...args: readonly string[]): Promise<string> {
  const quiet =
    'DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends -o APT::Sandbox::User=root';
  return shell(node, `cd /opt/packages && ${quiet} ${args.join(' ')} 2>&1`);
}

/** Installs the form that runs on the system's Node, which a package must have brought; resolves with the output. */
export async function installPlain(node: Node): Promise<string> {
  const present = await node.root('dpkg-query', '--show', 'nodejs');
  const standIn = present.status === 0 ? '' : './nodejs_20.0.0-1_all.deb';
  return apt(node, 'install', standIn, './tonearm_0.1.0-1_*.deb');
}

export async function restartService(node: Node): Promise<void> {
  await systemctl(node, 'restart', 'tonearm.service');
}
