// `npm run tarball`: builds the folder that install.sh installs on any Linux with systemd: as a tarball with
// its own Node, or with --tree as a folder that uses the system's Node. It needs GNU tar and gzip, but no
// root, and the network only to fetch Node once. The same sources and SOURCE_DATE_EPOCH give the same bytes.

import { cpSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { run, script, WrongUsage } from './command.mjs';
import { ARCHITECTURES, ownArchitecture } from './deb/architectures.mjs';
import { PORTABLE } from './deb/forms.mjs';
import { architecturesFor, buildTimeS, laidOut, ownVersion, PACKING_OPTIONS } from './laid-out.mjs';

const MIB = 1 << 20;

const USAGE = `Usage: npm run tarball [-- OPTIONS]

Builds tonearm-VERSION-linux-ARCH.tar.gz, with Node ${PORTABLE.withNode.ownNode} and install.sh in it, for this
machine's architecture.

  --arch ARCH     amd64 or arm64, or all of them; in the file's name they are x64
                  and arm64, as Node calls them
  --dist DIR      pack the build in DIR (see npm run build) rather than a new one
  --out DIR       the folder for the tarball; the checkout unless given
  --version V     the version
  --fast          compress it fast rather than well
  --tree DIR      write the folder for this machine's own Node to DIR instead
  --help          print this text
`;

const OPTIONS = { ...PACKING_OPTIONS, tree: { type: 'string' } };

/** Options with which order, owners and times do not depend on the machine that packs. */
const tarFlags = (epochS) => ['--sort=name', '--format=gnu', '--owner=0', '--group=0', `--mtime=@${epochS}`];

/** Packs a tree as a tarball, which unpacks to one folder of the same name. */
function pack(tree, { name, epochS, out, fast, report }) {
  const folder = join(dirname(tree), name);
  renameSync(tree, folder);
  const file = join(out, `${name}.tar`);
  report(`packing ${name}`);
  run('tar', ['-C', dirname(folder), ...tarFlags(epochS), '--numeric-owner', '-cf', file, name]);
  run('gzip', ['--force', '--no-name', fast ? '-1' : '-9', file]);
  console.log(`${file}.gz: ${(statSync(`${file}.gz`).size / MIB).toFixed(1)} MiB`);
}

function main({ arch, dist, out, version = ownVersion(), fast, tree }, _, report) {
  const epochS = buildTimeS();
  if (tree !== undefined) {
    if (arch !== undefined) throw new WrongUsage('--tree is for this machine: it takes no --arch');
    const architectures = architecturesFor(ownArchitecture(), PORTABLE.plain);
    return laidOut(
      { form: PORTABLE.plain, architectures, version, epochS, dist, report },
      (_architecture, folder) => cpSync(folder, resolve(tree), { recursive: true }),
    );
  }
  const form = PORTABLE.withNode;
  mkdirSync(resolve(out), { recursive: true });
  return laidOut(
    { form, architectures: architecturesFor(arch, form), version, epochS, dist, report },
    (architecture, folder) => {
      const name = `tonearm-${version}-linux-${ARCHITECTURES[architecture].node}`;
      pack(folder, { name, epochS, out: resolve(out), fast, report });
    },
  );
}

await script('tarball', { usage: USAGE, options: OPTIONS, main });
