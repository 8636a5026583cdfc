// Makes the tree of an apt repository from a folder of packages, for any web server. There is a suite for
// each Debian, and one for machines that have a suitable Node. apt-ftparchive makes the indexes, and gpg
// signs them with the caller's key. It builds no package, and leaves nothing of the secret key behind.
//
//   node packaging/apt-repository.mjs --packages DIR --key FILE --out DIR

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { run, script } from './command.mjs';
import { FORMS } from './deb/forms.mjs';

/** The file of the public key, which lies beside `dists` and `pool`. */
const KEY_NAME = 'tonearm.asc';

/** A folder in `pool` for each suite and form, so that a suite is a list of folders. */
const poolOf = (suite, { name }) => join('pool', suite, name);

/**
 * The files of a form in a folder of packages. Two forms may have the same name, but the suffixes of their
 * versions differ then.
 */
function packagesOf(form, packages) {
  const suffixes = Object.values(FORMS).map(({ versionSuffix }) => versionSuffix);
  // Every version ends with the suffix '', and some also end with a longer one, such as `~deb12`. The longer
  // one counts: `sort` puts '' first, and `at(-1)` takes the last.
  const suffixOf = (file) =>
    suffixes
      .filter((suffix) => file.split('_')[1].endsWith(suffix))
      .sort()
      .at(-1);
  const files = readdirSync(packages).filter(
    (file) => file.startsWith(`${form.name}_`) && file.endsWith('.deb'),
  );
  return files.filter((file) => suffixOf(file) === form.versionSuffix);
}

function fillPool(packages, out) {
  for (const form of Object.values(FORMS)) {
    for (const [suite, architectures] of Object.entries(form.suites)) {
      const isHere = (file) => architectures.some((architecture) => file.endsWith(`_${architecture}.deb`));
      mkdirSync(join(out, poolOf(suite, form)), { recursive: true });
      for (const file of packagesOf(form, packages).filter(isHere))
        cpSync(join(packages, file), join(out, poolOf(suite, form), file));
    }
  }
}

/** Writes `dists/SUITE`, unsigned. */
function index(suite, out) {
  const forms = Object.values(FORMS).filter(({ suites }) => Object.hasOwn(suites, suite));
  const architectures = [...new Set(forms.flatMap(({ suites }) => suites[suite]))];
  for (const architecture of architectures) {
    const lists = forms.map((form) =>
      run('apt-ftparchive', ['--arch', architecture, 'packages', poolOf(suite, form)], { cwd: out }),
    );
    const folder = join(out, 'dists', suite, 'main', `binary-${architecture}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'Packages'), lists.join(''));
    writeFileSync(join(folder, 'Packages.gz'), gzipSync(lists.join(''), { level: 9 }));
  }
  const fields = {
    Origin: 'tonearm',
    Label: 'tonearm',
    Suite: suite,
    Codename: suite,
    Components: 'main',
    Architectures: architectures.join(' '),
  };
  const options = Object.entries(fields).flatMap(([name, value]) => [
    '-o',
    `APT::FTPArchive::Release::${name}=${value}`,
  ]);
  const release = run('apt-ftparchive', [...options, 'release', `dists/${suite}`], { cwd: out });
  writeFileSync(join(out, 'dists', suite, 'Release'), release);
}

/**
 * The key is in a keyring of its own. After the signing, the keyring's agent ends and the keyring is
 * removed.
 */
function sign(suites, key, out) {
  const home = mkdtempSync(join(tmpdir(), 'tonearm-key-'));
  const gpg = (...args) =>
    run('gpg', ['--batch', '--quiet', ...args], { cwd: out, env: { GNUPGHOME: home } });
  try {
    gpg('--import', resolve(key));
    for (const suite of suites) {
      const release = `dists/${suite}/Release`;
      gpg('--digest-algo', 'SHA512', '--output', `dists/${suite}/InRelease`, '--clearsign', release);
      gpg('--digest-algo', 'SHA512', '--armor', '--output', `${release}.gpg`, '--detach-sign', release);
    }
    writeFileSync(join(out, KEY_NAME), gpg('--armor', '--export'));
  } finally {
    spawnSync('gpgconf', ['--kill', 'all'], { env: { ...process.env, GNUPGHOME: home } });
    rmSync(home, { recursive: true, force: true });
  }
}

function main({ packages, key, out }) {
  if (packages === undefined || key === undefined || out === undefined)
    throw new Error('--packages DIR, --key FILE and --out DIR are required');
  const suites = [...new Set(Object.values(FORMS).flatMap((form) => Object.keys(form.suites)))];
  const to = resolve(out);
  mkdirSync(to);
  fillPool(resolve(packages), to);
  for (const suite of suites) index(suite, to);
  sign(suites, key, to);
}

const text = { type: 'string' };
await script('apt-repository', { options: { packages: text, key: text, out: text }, main });
