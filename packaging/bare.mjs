// Debians with systemd and nothing that tonearm would like to find: no Node, no sound server, no session bus,
// no polkit, no curl. Tests install a release's tarball there.
//
//   node packaging/bare.mjs 12
//
// prints the root of such a Debian 12, to boot a node over; 13 is the other one. The first call makes it.

import { cachedDebian } from './debian13.mjs';

/** What every installation of Debian has beside its essential packages. */
const PACKAGES = ['systemd', 'systemd-sysv', 'libpam-systemd', 'dbus'];

const debian = process.argv[2] === '12' ? 12 : 13;
const { home, problem } = await cachedDebian({ name: `bare${debian}`, debian, packages: PACKAGES });
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
console.log(`${home}/root`);
