// Debian's architectures that tonearm is built for, and what the native half of uWebSockets.js is called on each. A table.

/** Module versions of Node 20 and 22, the ones that are supported: each file weighs 5 to 7 MB. */
export const NODE_MODULE_VERSIONS = [115, 127];

export const ARCHITECTURES = {
  amd64: { node: 'x64', elfMachine: 62 },
  arm64: { node: 'arm64', elfMachine: 183 },
  armhf: { node: 'arm', elfMachine: 40 },
};

/** Debian's name of the architecture that this Node runs on; undefined where tonearm is not built for it. */
export function ownArchitecture() {
  return Object.keys(ARCHITECTURES).find((name) => ARCHITECTURES[name].node === process.arch);
}

/** Names of an architecture's native files, for the given module versions of Node. */
export function nativeFiles(architecture, versions = NODE_MODULE_VERSIONS) {
  return versions.map((version) => `uws_linux_${ARCHITECTURES[architecture].node}_${version}.node`);
}
