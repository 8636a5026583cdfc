// Stands in for the package uWebSockets.js within the bundles: loads its binary for this Node from beside the bundle.

const { existsSync } = require('node:fs');
const { join } = require('node:path');

const file = join(__dirname, `uws_linux_${process.arch}_${process.versions.modules}.node`);
if (process.platform !== 'linux' || !existsSync(file)) {
  const here = `${process.version} on ${process.platform} ${process.arch}`;
  throw new Error(`tonearm needs Linux with Node 20 or 22; this is ${here}. tonearm-client runs everywhere.`);
}
module.exports = require(file);
