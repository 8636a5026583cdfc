// Stands in for the package uWebSockets.js within the bundles: loads its binary for this Node from beside the bundle.

const { existsSync } = require('node:fs');
const { join } = require('node:path');

const file = join(__dirname, `uws_linux_${process.arch}_${process.versions.modules}.node`);
if (!existsSync(file)) {
  throw new Error(`tonearm needs Node 20 or 22; this is ${process.version} on ${process.arch}`);
}
module.exports = require(file);
