// `npm run release -- VERSION`: makes a folder with all that is published of a version: Debian and RPM
// packages, tarballs, npm packages, images, their checksums, and the tree of an apt repository. It publishes
// nothing itself. Each part is made by the script that also makes that part alone.

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { ROOT, run, script, WrongUsage } from './command.mjs';
import { ARCHITECTURES } from './deb/architectures.mjs';
import { FORMS } from './deb/forms.mjs';
import { nativeFiles } from './natives.mjs';

const USAGE = `Usage: npm run release -- VERSION [OPTIONS]

Makes a folder with all files that are published for VERSION, from a clean tree.
package.json must have that version, and CHANGELOG.md a dated heading for it.

  --key FILE       also make an apt repository, apt/, signed with this secret
                   OpenPGP key, which must have no passphrase
  --out DIR        the folder to make; release/VERSION unless given
  --no-image       make no OCI images, which need a Debian mirror
  --no-rpm         make no RPM packages, which need rpmbuild
  --compress HOW   compression of the packages: xz (the default), gzip or none
  --trial          do not check the tree, package.json and CHANGELOG.md
  --help           print this text
`;

const OPTIONS = {
  key: { type: 'string' },
  out: { type: 'string' },
  'no-image': { type: 'boolean', default: false },
  'no-rpm': { type: 'boolean', default: false },
  compress: { type: 'string', default: 'xz' },
  trial: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
};

const read = (path) => readFileSync(join(ROOT, path), 'utf8');
/** Runs the script of one part, which prints its own progress. */
const part = (name, ...args) =>
  run(process.execPath, [join(ROOT, 'packaging', name), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });

/** Why this version cannot be made of this tree; undefined when it can. */
function refusal(version) {
  const { version: own } = JSON.parse(read('package.json'));
  if (own !== version) return `package.json has version ${own}`;
  const [heading] = read('CHANGELOG.md').match(/^## .*$/m) ?? [];
  const dated = new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d{2}-\\d{2}\\)$`);
  if (!dated.test(heading ?? ''))
    return `the first heading of CHANGELOG.md is "${heading}", not "## ${version} (DATE)"`;
  const git = spawnSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' });
  if (git.status !== 0) return `git does not know the state of the tree: ${git.error?.message ?? git.stderr}`;
  if (git.stdout !== '') return `the tree is not clean:\n${git.stdout.trimEnd()}`;
  return undefined;
}

/** Makes the Debian packages of all forms, for all their architectures, in one folder. */
function debianPackages(version, { compress }, dist, out) {
  const which = ['--arch', 'all', '--version', `${version}-1`];
  const common = [...which, '--dist', dist, '--out', out, '--compress', compress];
  part('package.mjs', ...common);
  for (const debian of [12, 13]) part('package.mjs', ...common, '--with-node', '--debian', String(debian));
  for (const architecture of Object.keys(ARCHITECTURES)) {
    const folder = join(out, architecture);
    for (const file of readdirSync(folder)) renameSync(join(folder, file), join(out, file));
    rmdirSync(folder);
  }
}

/** Makes what brings its own Node and needs no apt: tarballs for any Linux with systemd, and RPMs. */
function withoutApt(version, { compress, 'no-rpm': hasNoRpm }, dist, out) {
  const speed = compress === 'none' ? ['--fast'] : [];
  const args = ['--arch', 'all', '--dist', dist, '--out', out, '--version', version, ...speed];
  part('tarball.mjs', ...args);
  if (!hasNoRpm) part('rpm.mjs', ...args);
}

/**
 * Makes both npm packages of the builds in `stage`. A published package runs on every architecture, so the
 * natives of all architectures are added to the build.
 */
function npmPackages(stage, out) {
  for (const { file, place } of Object.values(ARCHITECTURES).flatMap(({ node }) => nativeFiles(ROOT, node)))
    cpSync(file, join(stage, 'dist', place));
  const { files } = JSON.parse(read('package.json'));
  const copied = ['package.json', ...files.filter((path) => !/^(?:dist|!)/.test(path))];
  for (const path of copied) {
    mkdirSync(dirname(join(stage, path)), { recursive: true });
    cpSync(join(ROOT, path), join(stage, path), { recursive: true });
  }
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', out, '.', './dist-client'];
  run('npm', pack, { cwd: stage });
}

/** Builds once, apart from the checkout's own builds, and makes all packages of this build. */
function allPackages(version, options, out, report) {
  const stage = mkdtempSync(join(tmpdir(), 'tonearm-release-'));
  const dist = join(stage, 'dist');
  try {
    report('building');
    part('build.mjs', '--dist-only', '--dist-dir', dist, '--client-dir', join(stage, 'dist-client'));
    report('making the Debian packages');
    debianPackages(version, options, dist, out);
    report('making the tarballs and RPM packages');
    withoutApt(version, options, dist, out);
    report('making the npm packages');
    npmPackages(stage, out);
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function images(version, out) {
  const { name, architectures } = FORMS.withNode;
  for (const architecture of architectures) {
    const deb = join(out, `${name}_${version}-1_${architecture}.deb`);
    part('image.mjs', '--deb', deb, '--out', join(out, `tonearm_${version}_${architecture}.oci.tar`));
  }
}

/** Writes SHA256SUMS as `sha256sum --check` reads it. */
function checksums(out) {
  const digest = (file) =>
    createHash('sha256')
      .update(readFileSync(join(out, file)))
      .digest('hex');
  const lines = readdirSync(out)
    .sort()
    .map((file) => `${digest(file)}  ${file}\n`);
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
}

function main(options, [version, ...more], report) {
  if (version === undefined || more.length > 0) throw new WrongUsage('exactly one VERSION is needed');
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new WrongUsage(`VERSION must be three numbers, such as 0.2.0, not ${version}`);
  const refused = options.trial ? undefined : refusal(version);
  if (refused !== undefined) throw new Error(refused);
  const out = resolve(options.out ?? join(ROOT, 'release', version));
  mkdirSync(dirname(out), { recursive: true });
  mkdirSync(out);
  allPackages(version, options, out, report);
  if (!options['no-image']) {
    report('making the images');
    images(version, out);
  }
  checksums(out);
  if (options.key !== undefined) {
    report('making the apt repository');
    part('apt-repository.mjs', '--packages', out, '--key', resolve(options.key), '--out', join(out, 'apt'));
  }
  report(`${out} holds ${readdirSync(out).join(' ')}`);
}

await script('release', { usage: USAGE, options: OPTIONS, allowPositionals: true, main });
