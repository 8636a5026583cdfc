// Debian's architectures that tonearm is built for: what Node calls them, ELF's number, and what `uname -m`
// prints. A table.

export const ARCHITECTURES = {
  amd64: { node: 'x64', machine: 'x86_64', elfMachine: 62 },
  arm64: { node: 'arm64', machine: 'aarch64', elfMachine: 183 },
  armhf: { node: 'arm', machine: 'armv7l', elfMachine: 40 },
};

/** Debian's name of the architecture that this Node runs on; undefined where tonearm is not built for it. */
export function ownArchitecture() {
  return Object.keys(ARCHITECTURES).find((name) => ARCHITECTURES[name].node === process.arch);
}
