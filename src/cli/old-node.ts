// Runs in place of the program on a Node that is too old to read its bundles: prints help and version, or
// one line that says that Node is too old. The build translates this file for any Node, so it imports no
// module of Node. main.js loads the result (packaging/build.mjs).

import { VERSION } from '../version.js';
import { HELP } from './help.js';

/** The versions of Node that have a binary, inserted by packaging/build.mjs. */
declare const SUPPORTED_NODES: string;

/** The exit status that main.ts has, too, for a Node without a binary. */
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
