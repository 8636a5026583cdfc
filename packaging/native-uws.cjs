// Takes the place of the package uWebSockets.js. At its first call it loads the newest of the binaries beside
// it that runs on this machine. So whatever does not listen, such as --help, runs on every Node. The build
// puts the table of packaging/natives.mjs in here.

const { existsSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

/** The loader decides whether a C library is too old: a binary that it cannot load is left out. */
function load() {
  const file = `uws_linux_${process.arch}_${process.versions.modules}.node`;
  const paths = NATIVES.map(({ place }) => join(__dirname, place, file));
  const present = process.platform === 'linux' ? paths.filter((path) => existsSync(path)) : [];
  for (const path of present) {
    try {
      return require(path);
    } catch (error) {
      if (error.code !== 'ERR_DLOPEN_FAILED') throw error;
    }
  }
  throw Object.assign(new Error(noBinaryText()), { code: 'ERR_NO_BINARY' });
}

/** One line for people: for which systems there are binaries, and which system this is. */
function noBinaryText() {
  const needs = NATIVES.flatMap(({ place, glibc }) => {
    const nodes = nodesOf(join(__dirname, place));
    return nodes.length === 0 ? [] : [`Node ${nodes.join(', ')} with glibc from ${glibc} on`];
  });
  const needed = needs.length === 0 ? 'another processor' : needs.join(', or ');
  if (process.report) process.report.excludeNetwork = true;
  const { glibcVersionRuntime } = process.report?.getReport().header ?? {};
  const library = glibcVersionRuntime ? `glibc ${glibcVersionRuntime}` : 'without glibc';
  const here = `Node ${process.versions.node}, ${process.platform} ${process.arch}, ${library}`;
  return `uWebSockets.js needs Linux and ${needed}; this is ${here}`;
}

/** The Nodes for which a folder has binaries for this processor, such as 20 for `uws_linux_x64_115.node`. */
function nodesOf(folder) {
  const binaryName = new RegExp(`^uws_linux_${process.arch}_(\\d+)\\.node$`);
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const moduleVersions = files.flatMap((file) => binaryName.exec(file)?.[1] ?? []);
  return moduleVersions.flatMap((version) => NODE_OF_MODULES[version] ?? []).sort((a, b) => a - b);
}

let binary;
function loaded() {
  binary ??= load();
  return binary;
}

// The sources call only these three. Node finds the names of exports without running this file, so each of
// them is assigned here.
exports.App = (...args) => loaded().App(...args);
exports.us_listen_socket_close = (...args) => loaded().us_listen_socket_close(...args);
exports.us_socket_local_port = (...args) => loaded().us_socket_local_port(...args);
