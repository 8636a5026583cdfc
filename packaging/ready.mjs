// Makes a checkout ready for its scripts, and prints the path of the Node to run them on. It runs on any
// Node from 18 on, with any npm from 9.2 on, and before anything is installed. Remarks go to standard error.

import { fileURLToPath } from 'node:url';
import { fittingNode } from './fetched-node.mjs';
import { installNpmPackages } from './npm-packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

// The npm packages come first, because npm ci empties node_modules, where a fetched Node is kept.
const npmProblem = installNpmPackages(ROOT);
const found = npmProblem === undefined ? fittingNode(ROOT) : { problem: npmProblem };
if (found.problem === undefined) {
  process.stdout.write(found.node);
} else {
  console.error(`setup: ${found.problem}`);
  process.exitCode = 1;
}
