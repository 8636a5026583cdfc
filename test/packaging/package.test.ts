// Checks the Debian packages of a release as files: what they hold, and what they leave out. A second build
// must give the same bytes. The packages have two forms: the plain form needs the package nodejs, and the
// other form has a Node of its own. The forms must differ only as expected.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { LATE_PART_PROGRAMS, loadsItsLateParts } from '../contract/late-parts.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import {
  buildAndPackage,
  buildPackage,
  buildRelease,
  extracted,
  FOR_DEBIAN_12,
  filesOf,
  flagsOf,
  lintian,
  output,
  packageIn,
  refusedRelease,
  run,
  VERSION,
} from './built-package.js';
import { plannedByApt } from './planned-by-apt.js';
import { makeKey } from './signing-key.js';

// build/test/packaging/package.test.js -> the project's root
const REPOSITORY_MAKER = fileURLToPath(new URL('../../../packaging/apt-repository.mjs', import.meta.url));
const skip = skipReason({ programs: ['dpkg-deb', 'npm', 'rpmbuild'] });

const ARCHITECTURES: readonly (readonly [debian: string, node: string])[] = [
  ['amd64', 'x64'],
  ['arm64', 'arm64'],
  ['armhf', 'arm'],
];

const PLACEHOLDER = /@(?:PREFIX|VERSION|DATE|NODE|NODE_FLAGS|PACKAGE|ARMV7_ONLY|USER_MANAGERS)@/;

/**
 * Outputs of `uname -m`, and whether the armhf package runs on such a machine. On a 64-bit kernel the output
 * is `aarch64`, also for a 32-bit program.
 */
const MACHINES: readonly (readonly [machine: string, runs: boolean])[] = [
  ['armv6l', false],
  ['armv7l', true],
  ['armv8l', true],
  ['aarch64', true],
];

/** Files that each package of the plain form has, by their folder below `/usr`. */
const EXPECTED_FILES = Object.entries({
  bin: 'tonearm',
  'lib/systemd/user': 'tonearm-mpris-proxy.service tonearm.service',
  'lib/tonearm': 'main.js wait-listening worker.js',
  'lib/tonearm/actors': 'audio/backend.js power/backend.js systemd/backend.js upgrade/backend.js',
  'lib/tonearm/cli/bench': 'bench.js probe.js',
  'lib/tonearm/page': 'index.html index.html.br index.html.gz',
  sbin: 'tonearm-setup',
  'share/doc/tonearm': 'changelog.Debian.gz copyright examples/config.yaml page.png third-party-notices.gz',
  'share/bash-completion/completions': 'tonearm',
  'share/fish/vendor_completions.d': 'tonearm.fish',
  'share/man': 'man1/tonearm-ctl.1.gz man1/tonearm.1.gz man8/tonearm-setup.8.gz',
  'share/zsh/vendor-completions': '_tonearm',
  'share/tonearm': 'config.example.yaml polkit/tonearm.rules.in',
}).flatMap(([folder, names]) => names.split(' ').map((name) => `usr/${folder}/${name}`));

/** The lines that the build prints, one for each Debian package. */
const SIZE_LINES = /deb: [\d.]+ MiB, [\d.]+ MiB installed, \d+ files$/gm;
/** Three packages have the plain form, and four have a Node of their own. */
const DEBIAN_PACKAGE_COUNT = 7;
const WITH_NODE = 'tonearm-with-node';

/**
 * Paths of native binaries. Those in `uws-newer` need a newer C library than those in `uws-older`. `newer`
 * and `older` are the module versions of Node in the two folders: 115 is Node 20, 127 is 22, 137 is 24, and
 * 141 is 25. There are no newer binaries for `arm` (packaging/natives.mjs).
 */
const nativesOf = (
  node: string,
  newer: readonly number[],
  older: readonly number[],
  below = 'usr/lib/tonearm',
): readonly string[] => [
  ...newer.map((modules) => `${below}/uws-newer/uws_linux_${node}_${modules}.node`),
  ...older.map((modules) => `${below}/uws-older/uws_linux_${node}_${modules}.node`),
];

/**
 * The forms with a Node of their own: the suffix of the package's version, the major version of that Node,
 * and the module versions for which the package has native binaries.
 */
const OWN_NODES = [
  { debian: 13, suffix: '', major: 24, newer: [137], older: [] },
  { debian: 12, suffix: FOR_DEBIAN_12, major: 22, newer: [], older: [127] },
] as const;

/**
 * `chosen` is the form that `apt install tonearm` takes: all forms provide the name `tonearm`. `suite` is a
 * suite of the apt repository. The suite `system-node` has only the plain form. `debian` is the machine's
 * Debian. The first architecture is the machine's own. The machine may also take packages of a second one:
 * 64-bit Raspberry Pi OS takes those of armhf.
 */
const CHOSEN: readonly (readonly [
  suite: string,
  architectures: readonly [string, ...string[]],
  chosen: string,
  debian: string,
])[] = [
  ['trixie', ['amd64'], WITH_NODE, 'trixie'],
  ['trixie', ['arm64'], WITH_NODE, 'trixie'],
  ['trixie', ['arm64', 'armhf'], WITH_NODE, 'trixie'],
  ['trixie', ['armhf'], 'tonearm', 'trixie'],
  ['bookworm', ['amd64'], WITH_NODE, 'bookworm'],
  ['system-node', ['amd64'], 'tonearm', 'trixie'],
];

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('the packages', { skip }, () => {
  const folder = temporaryFolder({ after });
  const releaseFolder = join(folder, 'release');
  let releaseOutput = '';
  const packageOf = (architecture: string, form = 'tonearm', suffix = ''): string =>
    packageIn(releaseFolder, form, architecture, suffix);
  const trees = new Map<string, Promise<string>>();
  /** The folder with a package's files. The package is unpacked once for all tests, which change no file. */
  const treeOf = (architecture: string, form = 'tonearm', suffix = ''): Promise<string> => {
    const file = packageOf(architecture, form, suffix);
    const tree = trees.get(file) ?? extracted(file, folder);
    trees.set(file, tree);
    return tree;
  };

  before(async () => {
    // Several packages contain Node, so their compression would take minutes.
    releaseOutput = await buildRelease(releaseFolder, '--compress', 'none');
  });

  test('a release has all expected packages and no others, each with its checksum', async () => {
    const packages = [
      ...ARCHITECTURES.map(([architecture]) => `tonearm_${VERSION}-1_${architecture}.deb`),
      `${WITH_NODE}_${VERSION}-1_amd64.deb`,
      `${WITH_NODE}_${VERSION}-1~deb12_amd64.deb`,
      `${WITH_NODE}_${VERSION}-1_arm64.deb`,
      `${WITH_NODE}_${VERSION}-1~deb12_arm64.deb`,
      `tonearm-${VERSION}-linux-x64.tar.gz`,
      `tonearm-${VERSION}-linux-arm64.tar.gz`,
      `tonearm-${VERSION}-1.x86_64.rpm`,
      `tonearm-${VERSION}-1.aarch64.rpm`,
      `tonearm-${VERSION}.tgz`,
      `tonearm-client-${VERSION}.tgz`,
    ];
    assert.deepEqual(readdirSync(releaseFolder).sort(), ['SHA256SUMS', ...packages].sort());
    const sums = readFileSync(join(releaseFolder, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
    const expected = packages.map((name) => `${digest(join(releaseFolder, name))}  ${name}`);
    assert.deepEqual(sums.sort(), expected.sort());
  });

  test('a release is not built into the folder of another release', async () => {
    await assert.rejects(buildRelease(releaseFolder), /file already exists/);
  });

  test('a release is refused if its version is malformed, or is not that of package.json', async () => {
    await assert.rejects(refusedRelease(folder, '9.9.9'), /package\.json has version/);
    await assert.rejects(refusedRelease(folder, 'next'), /VERSION must be three numbers/);
  });

  test('the npm package of a release has binaries for every architecture, and the documents for users', async () => {
    const list = (await output('tar', '-tzf', join(releaseFolder, `tonearm-${VERSION}.tgz`))).split('\n');
    for (const [, node] of ARCHITECTURES) {
      const newer = node === 'arm' ? [] : [115, 127, 137, 141];
      const natives = list.filter((file) => file.includes(`uws_linux_${node}_`)).sort();
      assert.deepEqual(natives, nativesOf(node, newer, [115, 127], 'package/dist'));
    }
    for (const file of ['package/docs/install.md', 'package/dist-client/client.d.ts'])
      assert.ok(list.includes(file), `${file} is missing`);
    assert.ok(!list.some((file) => file.includes('docs/development/')), 'it has documents for developers');
  });

  test('every link between the documents in a package leads to a file in it', async () => {
    const doc = join(await treeOf('amd64'), 'usr/share/doc/tonearm');
    const documents = readdirSync(doc, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.md'),
    );
    assert.ok(documents.includes('docs/install.md'), documents.join());

    const targetsOf = (file: string): readonly string[] => {
      const links = readFileSync(join(doc, file), 'utf8').matchAll(/\]\(([^)\s#]+)[^)]*\)/g);
      return [...links].map(([, target = '']) => target);
    };
    const isUrl = (target: string): boolean => /^[a-z]+:/.test(target);
    const broken = documents.flatMap((file) =>
      targetsOf(file)
        .filter((target) => !isUrl(target) && !existsSync(join(doc, dirname(file), target)))
        .map((target) => `${file}: ${target}`),
    );
    assert.deepEqual(broken, []);
  });

  test('the build prints the size, the installed size and the number of files of each package', () =>
    assert.equal(releaseOutput.match(SIZE_LINES)?.length, DEBIAN_PACKAGE_COUNT, releaseOutput));

  for (const [architecture, node] of ARCHITECTURES) {
    test(`the plain form for ${architecture} has the expected files, and native code for no other architecture`, async () => {
      const files = await filesOf(packageOf(architecture));
      const missing = EXPECTED_FILES.filter((file) => !files.includes(file));
      assert.deepEqual(missing, []);
      const natives = files.filter((file) => file.endsWith('.node')).sort();
      // `Depends` of these packages excludes Node 25.
      const newer = node === 'arm' ? [] : [115, 127, 137];
      assert.deepEqual(natives, nativesOf(node, newer, [115, 127]));
      const strays = files.filter((file) => /\.(?:ts|map)$|\.test\.js$|node_modules/.test(file));
      assert.deepEqual(strays, []);
    });
  }

  test('all files belong to root, and nobody else may write', async () => {
    const list = await output('dpkg-deb', '--contents', packageOf('amd64'));
    const wrong = list
      .split('\n')
      .filter((line) => line !== '' && !/^(?:[-d]rw[x-]r-[x-]r-[x-]|lrwxrwxrwx) root\/root /.test(line));
    assert.deepEqual(wrong, []);
  });

  for (const [form, architecture, contained, absent] of [
    ['tonearm', 'arm64', /^Architecture: arm64$/m, /npm|gyp|gcc|make|ARMv7/],
    ['tonearm', 'arm64', /^Depends: nodejs \(>= 20\), nodejs \(<< 25\), libc6 \(>= 2\.28\), /m],
    ['tonearm', 'armhf', /^Depends: nodejs \(>= 20\), nodejs \(<< 23\), /m],
    // A sound server is only suggested, so that apt installs little.
    ['tonearm', 'arm64', /^Recommends: polkitd\nSuggests: pipewire-pulse \| pulseaudio, /m],
    ['tonearm', 'amd64', /^Conflicts: tonearm-with-node\nReplaces: tonearm-with-node$/m],
    ['tonearm', 'armhf', /^ It needs an ARMv7 processor/m],
    [WITH_NODE, 'amd64', /^Provides: tonearm \(= [\d.]+-1\)\nConflicts: tonearm\nReplaces: tonearm$/m],
    [WITH_NODE, 'arm64', /^Depends: libc6 \(>= 2\.38\), /m, /nodejs/],
  ] as const) {
    test(`the control file of ${form} for ${architecture} contains ${contained}`, async () => {
      const control = await output('dpkg-deb', '--field', packageOf(architecture, form));
      assert.match(control, contained);
      if (absent !== undefined) assert.doesNotMatch(control, absent);
    });
  }

  test('the armhf package explains older processors in its manual, and its unit does not restart on them', async () => {
    const tree = await treeOf('armhf');
    assert.match(await output('zcat', join(tree, 'usr/share/man/man1/tonearm.1.gz')), /ARMv6/);
    const unit = readFileSync(join(tree, 'usr/lib/systemd/user/tonearm.service'), 'utf8');
    // The program ends with the status 126 on an older processor (see the next tests).
    assert.match(unit, /^RestartPreventExitStatus=.* 126$/m);
  });

  // The tests do not run on these machines, so a script stands in for `uname` and prints the machine's name.
  // Another script stands in for Node, and prints its arguments.
  for (const [machine, runs] of MACHINES) {
    test(`on ${machine} the armhf package ${runs ? 'starts' : 'does not start, and says why in one line'}`, async () => {
      const tree = await treeOf('armhf');
      const programs = join(tree, `programs-${machine}`);
      mkdirSync(programs);
      for (const [name, text] of Object.entries({ uname: `echo ${machine}`, node: 'echo "$@"' }))
        writeFileSync(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      const started = run(join(tree, 'usr/bin/tonearm'), ['--version'], { env: { PATH: programs } });
      if (runs) {
        assert.match((await started).stdout, / \/usr\/lib\/tonearm\/main\.js --version$/m);
        return;
      }
      await assert.rejects(started, {
        code: 126,
        stdout: '',
        stderr: `tonearm: this processor (${machine}) is older than ARMv7, for which this package is built\n`,
      });
    });
  }

  test('Node gets no flag of V8 that would make it refuse its own code cache', async () => {
    const tree = await treeOf('amd64');
    const flags = flagsOf(tree);
    const cacheTagWith = (...nodeFlags: readonly string[]): Promise<string> =>
      output(process.execPath, ...nodeFlags, '-p', 'v8.cachedDataVersionTag()');
    // Without any flags the comparison below would prove nothing.
    assert.match(flags[0] ?? '', /^--inspect-port=/);
    const tag = await cacheTagWith();
    assert.equal(await cacheTagWith(...flags), tag);
    // This flag changes the tag, so the comparison above can fail.
    assert.notEqual(await cacheTagWith('--max-semi-space-size=1'), tag);
  });

  // form-with-node.test.ts tests the same of the other form. The Node of that form does not run on every
  // machine that builds the packages.
  test('the plain form loads each of its late parts', {
    skip: skipReason({ programs: LATE_PART_PROGRAMS }),
  }, async (t) => {
    const [architecture] =
      ARCHITECTURES.find(([, name]) => name === process.arch) ?? assert.fail(process.arch);
    const tree = await treeOf(architecture);
    await loadsItsLateParts(t, {
      entry: join(tree, 'usr/lib/tonearm/main.js'),
      nodeArguments: flagsOf(tree),
    });
  });

  test('no script, unit or control file has a placeholder left', async () => {
    const trees = await Promise.all(['amd64', 'armhf'].map((name) => treeOf(name)));
    const scriptsAndUnit = 'bin/tonearm sbin/tonearm-setup lib/systemd/user/tonearm.service'.split(' ');
    const upgrade = ['tonearm-detect', 'tonearm-upgrade'].map((name) => `lib/tonearm/upgrade/${name}`);
    const installed = [...scriptsAndUnit, ...upgrade].map((path) => `usr/${path}`);
    const control = ['prerm', 'postinst', 'postrm'].map((name) => `DEBIAN/${name}`);
    for (const file of [...installed, ...control]) {
      for (const tree of trees) assert.doesNotMatch(readFileSync(join(tree, file), 'utf8'), PLACEHOLDER);
    }
  });

  test('the unit unsets every variable that changes Node', async () => {
    const tree = await treeOf('amd64');
    const unit = readFileSync(join(tree, 'usr/lib/systemd/user/tonearm.service'), 'utf8');
    const unset = [...unit.matchAll(/^UnsetEnvironment=(.*)$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    const help = await output(process.execPath, '--help');
    const nodeVariables = [...help.matchAll(/^ *(NODE_[A-Z0-9_]+)/gm)].map(([, name = '']) => name);
    // If Node's help had another layout, the pattern would find no name, and the check below would prove
    // nothing.
    assert.ok(nodeVariables.includes('NODE_V8_COVERAGE'), help);
    const missing = ['NODE_OPTIONS', ...nodeVariables].filter((name) => !unset.includes(name));
    assert.deepEqual(missing, []);
  });

  test('the same sources and time give the same bytes, also with another umask', async (t) => {
    const umask = process.umask(0o077);
    t.after(() => process.umask(umask));
    const secondFolder = temporaryFolder(t);
    await buildAndPackage('--arch', 'armhf', '--compress', 'none', '--out', secondFolder);
    assert.equal(digest(packageIn(secondFolder, 'tonearm', 'armhf')), digest(packageOf('armhf')));
  });

  // Only the form with Node has overrides of lintian (packaging/deb/lintian-overrides). If an override
  // matches nothing, lintian prints a line with the word `override`. This test takes such a line for an
  // error.
  for (const [form, error] of Object.entries({ tonearm: /^E: /m, [WITH_NODE]: /^E: |override/m })) {
    test(`lintian finds no error in ${form}`, { skip: skipReason({ programs: ['lintian'] }) }, async () =>
      assert.doesNotMatch(await lintian(packageOf('amd64', form)), error),
    );
  }

  test('an unknown architecture and a folder without a build are refused', async (t) => {
    await assert.rejects(buildPackage('--arch', 'sparc'), /--arch must be one of amd64, arm64, armhf, all/);
    await assert.rejects(buildAndPackage('--dist', temporaryFolder(t)), /--dist: \S+ has no build/);
  });

  test('the builder prints its usage, also after a wrong option', async () => {
    const usage = /Usage: npm run package \[-- OPTIONS\]\n/;
    assert.match(await buildPackage('--help'), usage);
    const isUsageError = (error: { code: number; stderr: string }): boolean =>
      error.code === 64 &&
      /^package: Unknown option '--bogus'/.test(error.stderr) &&
      usage.test(error.stderr);
    await assert.rejects(buildPackage('--bogus'), isUsageError);
  });

  describe('in the form with a Node of its own', () => {
    // The last architecture, armhf, has no such form.
    for (const [architecture, node] of ARCHITECTURES.slice(0, 2)) {
      for (const { debian, suffix, major, newer, older } of OWN_NODES) {
        test(`${architecture} for Debian ${debian} adds only Node ${major} and lintian overrides to the plain form`, async () => {
          const isNative = (file: string): boolean => file.endsWith('.node');
          const plainFiles = await filesOf(packageOf(architecture));
          const files = await filesOf(packageOf(architecture, WITH_NODE, suffix));
          assert.deepEqual(files.filter(isNative), nativesOf(node, newer, older));

          const others = files.filter((file) => !isNative(file));
          const plainOthers = plainFiles
            .filter((file) => !isNative(file))
            .map((file) => file.replace('share/doc/tonearm/', `share/doc/${WITH_NODE}/`));
          const added = others.filter((file) => !plainOthers.includes(file));
          assert.deepEqual(added, ['usr/lib/tonearm/node', `usr/share/lintian/overrides/${WITH_NODE}`]);
          const missing = plainOthers.filter((file) => !others.includes(file));
          assert.deepEqual(missing, []);
        });
      }
    }

    test('the package for Debian 12 has a lower version than that for Debian 13, and depends only on an older C library', async () => {
      const versionForDebian12 = `${VERSION}-1${FOR_DEBIAN_12}`;
      await run('dpkg', ['--compare-versions', versionForDebian12, 'lt', `${VERSION}-1`]);
      const control = await output('dpkg-deb', '--field', packageOf('amd64', WITH_NODE, FOR_DEBIAN_12));
      assert.match(control, /^Depends: libc6 \(>= 2\.28\), /m);
      assert.match(control, /^Provides: tonearm \(= [\d.]+-1~deb12\)$/m);
    });

    test('each suite of an apt repository has the packages of its Debian', {
      skip: skipReason({ programs: ['apt-ftparchive', 'gpg'] }),
    }, async () => {
      const tree = join(folder, 'apt');
      const key = await makeKey(folder);
      await run(process.execPath, [
        REPOSITORY_MAKER,
        '--packages',
        releaseFolder,
        '--key',
        key,
        '--out',
        tree,
      ]);
      const packagesOfSuites = {
        bookworm: [`${WITH_NODE} ${VERSION}-1${FOR_DEBIAN_12}`],
        trixie: [`${WITH_NODE} ${VERSION}-1`],
        'system-node': [`tonearm ${VERSION}-1`],
      };
      for (const [suite, packages] of Object.entries(packagesOfSuites)) {
        const index = readFileSync(join(tree, 'dists', suite, 'main/binary-amd64/Packages'), 'utf8');
        const listed = [...index.matchAll(/^Package: (.*)\n(?:.*\n)*?Version: (.*)$/gm)];
        assert.deepEqual(listed.map(([, name, version]) => `${name} ${version}`).sort(), packages);
      }
    });

    // The test above has made the apt repository.
    for (const [suite, architectures, chosen, debian] of CHOSEN) {
      test(`apt install tonearm takes ${chosen} from the suite ${suite} on Debian ${debian} for ${architectures.join(' and ')}`, {
        skip: skipReason({ programs: ['apt-ftparchive', 'gpg', 'apt-get'] }),
      }, async () => {
        const planned = await plannedByApt(join(folder, 'apt'), suite, architectures, debian);
        assert.deepEqual(planned, [chosen]);
      });
    }

    test('the example scripts for upgrades ask for the package that they came with', async () => {
      for (const form of ['tonearm', WITH_NODE]) {
        const tree = await treeOf('amd64', form);
        for (const script of ['tonearm-detect', 'tonearm-upgrade']) {
          const text = readFileSync(join(tree, 'usr/share/tonearm/upgrade', script), 'utf8');
          assert.ok(text.includes(`\${TONEARM_UPGRADE_PACKAGE:-${form}}`), `${form}: ${script}`);
        }
      }
    });

    test("Node's licence is among the notices of the form with Node", async () => {
      const noticesOf = async (form: string, suffix = ''): Promise<string> => {
        const tree = await treeOf('amd64', form, suffix);
        return output('zcat', join(tree, `usr/share/doc/${form}/third-party-notices.gz`));
      };
      for (const { suffix, major } of OWN_NODES) {
        const licence = `^Node\\.js ${major}\\..*\\n=+\\n\\nNode\\.js is licensed for use as follows:`;
        assert.match(await noticesOf(WITH_NODE, suffix), new RegExp(licence, 'm'));
      }
      assert.doesNotMatch(await noticesOf('tonearm'), /Node\.js is licensed for use as follows:/);
    });

    test('there is no form with Node for armhf', async () => {
      const building = buildPackage('--with-node', '--arch', 'armhf');
      await assert.rejects(building, /--arch must be one of amd64, arm64, all/);
    });
  });
});
