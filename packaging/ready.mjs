// Makes a checkout ready for its scripts, and prints the path of the Node to run them on. On any Node from 18
// on, with any npm from 9.2 on, and before anything is installed. Remarks go to standard error.

import { fileURLToPath } from 'node:url';
import { fittingNode } from './fetched-node.mjs';
import { installNpmPackages } from './npm-packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

// First, since npm ci empties node_modules, where the other Node is kept.
const npmTrouble = installNpmPackages(ROOT);
const found = npmTrouble === undefined ? fittingNode(ROOT) : { trouble: npmTrouble };
if (found.trouble === undefined) {
  process.stdout.write(found.node);
} else {
  console.error(`setup: ${found.trouble}`);
  process.exitCode = 1;
}
