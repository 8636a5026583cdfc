// Runs in place of the program if Node is too old to read the program's bundles. The build translates the
// syntax of this file for old Nodes, but cannot add modules that they lack. So the file imports no module of
// Node. main.js loads the translated file (packaging/build.mjs).

import { VERSION } from '../version.js';
import { HELP } from './help.js';

/** The versions of Node for which the HTTP server has a binary. packaging/build.mjs inserts them. */
declare const SUPPORTED_NODES: string;

/** main.ts has the same exit status for a Node for which there is no binary. */
const EXIT_CANNOT_RUN_HERE = 126;

const words = process.argv.slice(2);
if (words.includes('--help')) process.stdout.write(HELP);
else if (words.includes('--version')) process.stdout.write(`${VERSION}\n`);
else {
  process.exitCode = EXIT_CANNOT_RUN_HERE;
  process.stderr.write(
    `tonearm: cannot run here: it needs Node ${SUPPORTED_NODES}; this is Node ${process.versions.node}. tonearm-client runs everywhere.\n`,
  );
}
