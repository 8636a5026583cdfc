// `npm run package`: builds the Debian packages, or with --tree only the files as they will be installed. Needs dpkg-deb, no
// root and no network (--with-node fetches Node once). The same sources and SOURCE_DATE_EPOCH give the same bytes.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ROOT, run, script, WrongUsage } from './command.mjs';
import { ARCHITECTURES, ownArchitecture } from './deb/architectures.mjs';
import { controlText, debianChangelog, maintainerScripts, md5sums } from './deb/control.mjs';
import { FORMS } from './deb/forms.mjs';
import { copyTree, layOut } from './deb/tree.mjs';
import { fetchedNode } from './fetched-node.mjs';
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
  --out DIR       the folder for the package; the checkout unless given
  --version V     the package's version
  --compress HOW  xz (the smallest, and the default), gzip or none
  --tree DIR      write the files of the package to DIR, and build no package
  --prefix DIR    the prefix of the installed paths; /usr unless given
  --help          print this text
`;

const OPTIONS = {
  arch: { type: 'string' },
  out: { type: 'string', default: ROOT },
  version: { type: 'string' },
  'with-node': { type: 'boolean', default: false },
  debian: { type: 'string' },
  compress: { type: 'string', default: 'xz' },
  tree: { type: 'string' },
  prefix: { type: 'string', default: '/usr' },
  help: { type: 'boolean', default: false },
};

/** Each step that may take a minute. */
const report = (what) => console.error(`package: ${what}`);

/** Seconds: SOURCE_DATE_EPOCH, else the time of the commit, else that of package.json. */
function buildTimeS() {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined && given !== '') return Number(given);
  const commit = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' });
  if (commit.status === 0 && commit.stdout.trim() !== '') return Number(commit.stdout);
  return Math.floor(statSync(join(ROOT, 'package.json')).mtimeMs / 1000);
}

/** Files and links below a folder, relative to it, in an order that depends on nothing else. */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1))
    .sort();
}

function regularFilesBelow(folder) {
  return filesBelow(folder).filter((path) => lstatSync(join(folder, path)).isFile());
}

/** Lists files that may never be shipped: tests, maps, sources, natives of other machines. */
function foreign(tree, architecture) {
  return regularFilesBelow(tree).filter((path) => {
    if (/\.(?:map|ts|mts|test\.js)$|(?:^|\/)(?:test|tests|node_modules)\//.test(path)) return true;
    const bytes = readFileSync(join(tree, path));
    if (path.endsWith('.js') && bytes.includes('sourceMappingURL=')) return true;
    const isElf = bytes.subarray(0, 4).toString('latin1') === '\x7fELF';
    return isElf && bytes.readUInt16LE(18) !== ARCHITECTURES[architecture].elfMachine;
  });
}

/** Counted like Debian Policy does (5.6.20): each file rounded up to KiB, and one for everything else. */
function installedKiB(tree) {
  const all = readdirSync(tree, { recursive: true }).map((path) => lstatSync(join(tree, path)));
  return all.reduce((sum, stat) => sum + (stat.isFile() ? Math.ceil(stat.size / KIB) : 1), 0);
}

function writeWithMode(path, text, mode) {
  writeFileSync(path, text);
  chmodSync(path, mode);
}

/** Adds what only a Debian package has to a laid-out tree, and packs it. Answers with the package's path. */
function pack({ tree, form, architecture, version, epochS, out, compress }) {
  const changelog = gzipSync(debianChangelog({ form, version, epochS }), { level: 9 });
  writeWithMode(join(tree, `usr/share/doc/${form.name}/changelog.Debian.gz`), changelog, 0o644);
  const regular = regularFilesBelow(tree);
  const sums = md5sums(tree, regular);
  const sizeKiB = installedKiB(tree);
  const control = join(tree, 'DEBIAN');
  mkdirSync(control);
  chmodSync(control, 0o755);
  chmodSync(tree, 0o755);
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
  // One thread: how xz divides the work between several would show in the bytes.
  const pack = ['--root-owner-group', '--threads-max=1', `-Z${compress}`, '--build', tree, file];
  run('dpkg-deb', pack, { env: { SOURCE_DATE_EPOCH: String(epochS) } });
  const mb = (statSync(file).size / KIB / KIB).toFixed(1);
  console.log(`${file}: ${mb} MiB, ${(sizeKiB / KIB).toFixed(1)} MiB installed, ${regular.length} files`);
}

function wanted(arch, { architectures }) {
  if (arch === 'all') return architectures;
  const one = arch ?? ownArchitecture();
  if (architectures.includes(one)) return [one];
  throw new Error(`--arch must be one of ${architectures.join(', ')}, all`);
}

/** With several architectures each has its own folder: `apt install ./tonearm_*.deb` takes all that it finds in one. */
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

function ownNodeOf(form, architecture) {
  if (form.ownNode === undefined) return undefined;
  report(`using Node ${form.ownNode} for ${architecture}, which is fetched once`);
  const { trouble, ...files } = fetchedNode(ROOT, form.ownNode, ARCHITECTURES[architecture].node);
  if (trouble !== undefined) throw new Error(trouble);
  return files;
}

function main(values) {
  const epochS = buildTimeS();
  const form = formOf(values);
  const plainVersion =
    values.version ?? `${JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version}-1`;
  const version = `${plainVersion}${form.versionSuffix}`;
  const { prefix, compress } = values;
  const architectures = wanted(values.arch, form);
  const work = mkdtempSync(join(tmpdir(), 'tonearm-package-'));
  try {
    const dist = join(work, 'dist');
    report('building');
    run(process.execPath, ['packaging/build.mjs', '--dist-only', '--dist-dir', dist]);
    for (const architecture of architectures) {
      const tree = join(work, architecture);
      mkdirSync(tree);
      const ownNode = ownNodeOf(form, architecture);
      const target = { form, architecture, version, epochS };
      layOut({ ...target, root: ROOT, dist, into: tree, prefix, ownNode });
      const wrong = foreign(tree, architecture);
      if (wrong.length > 0) throw new Error(`these files must not be in the package: ${wrong.join(', ')}`);
      if (values.tree !== undefined) copyTree(tree, resolve(values.tree));
      else pack({ ...target, tree, out: folderOf(architecture, values), compress });
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

await script('package', { usage: USAGE, options: OPTIONS, main });
