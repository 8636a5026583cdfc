// `npm run package`: builds the Debian packages. It needs dpkg-deb, but no root, and the network only to
// fetch Node once for --with-node. The same sources and SOURCE_DATE_EPOCH give the same bytes.

import { chmodSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT, run, script, WrongUsage } from './command.mjs';
import { controlText, debianChangelog, maintainerScripts, md5sums } from './deb/control.mjs';
import { FORMS } from './deb/forms.mjs';
import { architecturesFor, buildTimeS, laidOut, ownVersion, regularFilesBelow } from './laid-out.mjs';
import { hasNative, thisGlibc } from './natives.mjs';

const KIB = 1024;

const USAGE = `Usage: npm run package [-- OPTIONS]

Builds the Debian package of tonearm for this machine's architecture.

  --with-node     put Node into the package: 24 for Debian 13, 22 for Debian 12;
                  without this option the package runs on the system's Node 20,
                  22 or 24
  --debian 12|13  the Debian that --with-node is for; unless given, that of this
                  machine's C library
  --arch ARCH     amd64, arm64 or armhf, or all of them, each in a folder of
                  that name
  --dist DIR      pack the build in DIR (see npm run build) rather than a new one
  --out DIR       the folder for the package; the checkout unless given
  --version V     the package's version
  --compress HOW  xz (the smallest, and the default), gzip or none
  --help          print this text
`;

const OPTIONS = {
  arch: { type: 'string' },
  dist: { type: 'string' },
  out: { type: 'string', default: ROOT },
  version: { type: 'string' },
  'with-node': { type: 'boolean', default: false },
  debian: { type: 'string' },
  compress: { type: 'string', default: 'xz' },
  help: { type: 'boolean', default: false },
};

/** Counted like Debian Policy does (5.6.20): each file rounded up to KiB, and one for everything else. */
function installedKiB(tree) {
  const all = readdirSync(tree, { recursive: true }).map((path) => lstatSync(join(tree, path)));
  return all.reduce((sum, stat) => sum + (stat.isFile() ? Math.ceil(stat.size / KIB) : 1), 0);
}

function writeWithMode(path, text, mode) {
  writeFileSync(path, text);
  chmodSync(path, mode);
}

/** Adds what only a Debian package has to a laid-out tree, packs it, and prints the package's path. */
function pack({ tree, form, architecture, version, epochS, out, compress, report }) {
  const changelog = gzipSync(debianChangelog({ form, version, epochS }), { level: 9 });
  writeWithMode(join(tree, `usr/share/doc/${form.name}/changelog.Debian.gz`), changelog, 0o644);
  const regular = regularFilesBelow(tree);
  const sums = md5sums(tree, regular);
  const sizeKiB = installedKiB(tree);
  const control = join(tree, 'DEBIAN');
  mkdirSync(control);
  chmodSync(control, 0o755);
  writeWithMode(
    join(control, 'control'),
    controlText({ form, version, architecture, installedKiB: sizeKiB }),
    0o644,
  );
  writeWithMode(join(control, 'md5sums'), sums, 0o644);
  for (const [name, text] of Object.entries(maintainerScripts(ROOT))) {
    writeWithMode(join(control, name), text, 0o755);
  }
  const file = join(out, `${form.name}_${version}_${architecture}.deb`);
  const long = form.ownNode === undefined ? '' : '; with Node in it this takes some minutes';
  report(`packing ${form.name} for ${architecture}${long}`);
  // xz gets one thread, because the bytes depend on how several threads divide the work.
  const args = ['--root-owner-group', '--threads-max=1', `-Z${compress}`, '--build', tree, file];
  run('dpkg-deb', args, { env: { SOURCE_DATE_EPOCH: String(epochS) } });
  const mb = (statSync(file).size / KIB / KIB).toFixed(1);
  console.log(`${file}: ${mb} MiB, ${(sizeKiB / KIB).toFixed(1)} MiB installed, ${regular.length} files`);
}

/**
 * Each of several architectures has its own folder, because `apt install ./tonearm_*.deb` takes all packages
 * of a folder.
 */
function folderOf(architecture, { arch, out }) {
  const folder = arch === 'all' ? resolve(out, architecture) : resolve(out);
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The forms with a Node of their own, by the Debian that they are for. */
const WITH_NODE = { 12: FORMS.withNodeForDebian12, 13: FORMS.withNode };

function formOf({ 'with-node': isWithNode, debian }) {
  if (!isWithNode && debian === undefined) return FORMS.plain;
  if (!isWithNode) throw new WrongUsage('--debian needs --with-node');
  const own = hasNative(FORMS.withNode.ownNode, process.arch, thisGlibc()) ? 13 : 12;
  const form = WITH_NODE[debian ?? own];
  if (form === undefined) throw new WrongUsage(`--debian must be 12 or 13, not ${debian}`);
  return form;
}

function main(values, _, report) {
  const epochS = buildTimeS();
  const form = formOf(values);
  const plainVersion = values.version ?? `${ownVersion()}-1`;
  const version = `${plainVersion}${form.versionSuffix}`;
  const architectures = architecturesFor(values.arch, form);
  const { dist } = values;
  laidOut({ form, architectures, version, epochS, dist, report }, (architecture, tree) => {
    const out = folderOf(architecture, values);
    pack({ form, architecture, version, epochS, tree, out, compress: values.compress, report });
  });
}

await script('package', { usage: USAGE, options: OPTIONS, main });
