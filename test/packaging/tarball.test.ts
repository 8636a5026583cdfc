// Checks the tarballs as files: what they contain, and what they leave out. Packing a second time must give
// the same bytes, and the daemon of a tarball must run.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { LATE_PART_PROGRAMS, loadsItsLateParts } from '../contract/late-parts.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { buildTarball, flagsOf, output, run, VERSION } from './built-package.js';

/** ELF's number of each processor, by the processor's name in Node. */
const ELF_MACHINES = { x64: 62, arm64: 183 } as const;
/** The module version of the Node in the tarballs, which is Node 22. */
const MODULE_VERSION = 127;
/** Where an ELF file has the number of its processor. */
const ELF_MACHINE_OFFSET = 18;

const EXPECTED_FILES =
  'LICENSE bin/tonearm install.sh lib/systemd/user/tonearm.service lib/tonearm/main.js lib/tonearm/node sbin/tonearm-setup share/doc/tonearm/docs/install.md share/bash-completion/completions/tonearm share/fish/vendor_completions.d/tonearm.fish share/man/man1/tonearm-ctl.1 share/man/man1/tonearm.1 share/man/man8/tonearm-setup.8 share/tonearm/config.example.yaml share/tonearm/polkit/tonearm.rules.in share/zsh/site-functions/_tonearm third-party-notices.txt';

/** `processor` is the processor's name in Node, here and below. */
const nameOf = (processor: string): string => `tonearm-${VERSION}-linux-${processor}`;
const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

describe('the tarballs', { skip: skipReason({ programs: ['tar', 'gzip', 'npm'] }) }, () => {
  const folder = temporaryFolder({ after });
  const fileOf = (processor: string): string => join(folder, `${nameOf(processor)}.tar.gz`);
  const treeOf = (processor: string): string => join(folder, nameOf(processor));

  before(async () => {
    await buildTarball('--fast', '--arch', 'all', '--out', folder);
    for (const processor of Object.keys(ELF_MACHINES))
      await run('tar', ['-C', folder, '-xzf', fileOf(processor)]);
  });

  for (const [processor, machine] of Object.entries(ELF_MACHINES)) {
    test(`the tarball for ${processor} has one folder of root's, with Node and all binaries that this Node needs`, async () => {
      const lines = (await output('tar', '-tvzf', fileOf(processor))).trimEnd().split('\n');
      const wrong = lines.filter((line) => !/^(?:-rw[x-]r-[x-]r-[x-]|drwxr-xr-x) 0\/0 /.test(line));
      assert.deepEqual(wrong, []);
      const paths = lines.map((line) => line.split(' ').at(-1) ?? '');
      const outside = paths.filter((path) => !path.startsWith(`${nameOf(processor)}/`));
      assert.deepEqual(outside, []);

      const files = paths.map((path) => path.slice(nameOf(processor).length + 1));
      const missing = EXPECTED_FILES.split(' ').filter((file) => !files.includes(file));
      assert.deepEqual(missing, []);
      assert.deepEqual(
        files.filter((file) => file.endsWith('.node')),
        ['newer', 'older'].map(
          (cLibrary) => `lib/tonearm/uws-${cLibrary}/uws_linux_${processor}_${MODULE_VERSION}.node`,
        ),
      );
      assert.equal(
        readFileSync(join(treeOf(processor), 'lib/tonearm/node')).readUInt16LE(ELF_MACHINE_OFFSET),
        machine,
      );
    });
  }

  test('the tarball has the licences of all that is in it, and nothing that only apt can use', () => {
    const notices = readFileSync(join(treeOf('x64'), 'third-party-notices.txt'), 'utf8');
    assert.match(notices, /^Node\.js 22\..*\n=+\n\nNode\.js is licensed for use as follows:/m);
    // This line is about the binaries of uWebSockets.js.
    assert.match(notices, /Copyright Alex Hultman and contributors/);
    // This folder of the Debian packages has the example scripts for upgrades, which use apt.
    assert.equal(existsSync(join(treeOf('x64'), 'share/tonearm/upgrade')), false);
  });

  test('no text of the tarball has a placeholder that the build fills in', () => {
    // Two other placeholders may stay: install.sh fills in the prefix, and tonearm-setup fills in the user.
    const isProgram = (path: string): boolean => /node$|main\.js$/.test(path);
    const texts = EXPECTED_FILES.split(' ').filter((path) => !isProgram(path));
    for (const file of texts) {
      const text = readFileSync(join(treeOf('arm64'), file), 'utf8');
      assert.doesNotMatch(
        text,
        /@(?:VERSION|DATE|NODE|NODE_FLAGS|PACKAGE|USER_MANAGERS|MACHINE|GLIBC)@/,
        file,
      );
    }
    assert.match(
      readFileSync(join(treeOf('arm64'), 'install.sh'), 'utf8'),
      /^MACHINE=aarch64\n.*\nGLIBC=2\.28$/m,
    );
  });

  test('the same build and time give the same bytes, also with another umask', async (t) => {
    const umask = process.umask(0o077);
    t.after(() => process.umask(umask));
    const secondFolder = temporaryFolder(t);
    await buildTarball('--fast', '--arch', 'amd64', '--out', secondFolder);
    assert.equal(digest(join(secondFolder, `${nameOf('x64')}.tar.gz`)), digest(fileOf('x64')));
  });

  test('the tarball loads each of its late parts', {
    skip: skipReason({ programs: LATE_PART_PROGRAMS }),
  }, async (t) => {
    const tree = treeOf(process.arch);
    await loadsItsLateParts(t, {
      entry: join(tree, 'lib/tonearm/main.js'),
      nodeArguments: flagsOf(tree, 'bin/tonearm'),
      // contract/daemon.ts appends the path of this machine's Node, and the arguments of Node. The script
      // starts the Node of the tarball instead, with the same arguments. `shift 2` drops both paths.
      launcher: ['sh', '-c', 'node=$1; shift 2; exec "$node" "$@"', 'sh', join(tree, 'lib/tonearm/node')],
    });
  });

  test('the builder prints its usage, and refuses an unknown option and armhf, which has no tarball', async () => {
    await assert.rejects(buildTarball('--arch', 'armhf'), /--arch must be one of amd64, arm64, all/);
    assert.match(await buildTarball('--help'), /^Usage: npm run tarball \[-- OPTIONS\]\n/);
    await assert.rejects(buildTarball('--bogus'), { code: 64 });
  });
});
