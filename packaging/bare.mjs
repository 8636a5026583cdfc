// Debians with systemd and nothing that tonearm would like to find: no Node, no sound server, no session bus, no polkit, no curl. What a
// release's tarball installs is seen on them.
//
//   node packaging/bare.mjs 12        prints the root of such a Debian 12, to boot a node over; or 13. The first time it is made

import { keptDebian } from './debian13.mjs';

/** What every installation of Debian has beside its essential packages. */
const PACKAGES = ['systemd', 'systemd-sysv', 'libpam-systemd', 'dbus'];

const debian = process.argv[2] === '12' ? 12 : 13;
const { kept, trouble } = await keptDebian({ name: `bare${debian}`, debian, packages: PACKAGES });
if (trouble !== undefined) {
  console.error(trouble);
  process.exit(1);
}
console.log(`${kept}/root`);
