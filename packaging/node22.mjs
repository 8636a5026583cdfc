// Another Node beside the one that runs: the oldest and the newest supported versions are both tested on one machine.
// Taken from the npm registry, since npm is what every machine with Node has. Kept in node_modules/.cache.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const NPM_DEADLINE_MS = 5 * 60_000;

/**
 * The path of a `node` binary of the given major version, downloaded on first use.
 * @returns {{ node: string } | { trouble: string }}
 */
export function otherNode(root, major) {
  const name = `node-linux-${process.arch}`;
  const home = join(root, `node_modules/.cache/node-${major}`);
  const node = join(home, 'node_modules', name, 'bin/node');
  if (!existsSync(node)) {
    mkdirSync(home, { recursive: true });
    // The package of the platform itself: `node@22` would fetch it with an install script, which npm may not run.
    const install = ['install', '--prefix', home, '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    const npm = spawnSync('npm', [...install, `${name}@${major}`], {
      cwd: home,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: NPM_DEADLINE_MS,
    });
    if (npm.status !== 0) return { trouble: `npm could not install ${name}@${major}: ${npm.stderr.trim()}` };
  }
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (!version.stdout?.startsWith(`v${major}.`)) return { trouble: `${node} does not run` };
  return { node };
}
