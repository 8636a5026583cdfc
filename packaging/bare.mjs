// Makes Debians that have systemd, but nothing else that tonearm uses: no Node, no sound server, no session
// bus, no polkit, no curl. Tests install a release's tarball there.
//
//   node packaging/bare.mjs 12
//
// prints the root of such a Debian 12, from which a test boots a node; `13` is the only other version. The
// first call makes the root.

import { cachedDebian } from './debian13.mjs';

/** The packages that every installation of Debian has besides the essential ones. */
const PACKAGES = ['systemd', 'systemd-sysv', 'libpam-systemd', 'dbus'];

const debian = process.argv[2] === '12' ? 12 : 13;
const { home, problem } = await cachedDebian({ name: `bare${debian}`, debian, packages: PACKAGES });
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
console.log(`${home}/root`);
