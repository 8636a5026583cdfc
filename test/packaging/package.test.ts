// The Debian packages as files: what they hold, what they leave out, and that they can be built again.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { buildPackage, type Folder, run, tempFolder } from './built-package.js';

const skip = lacks({ programs: ['dpkg-deb'] });

const ARCHITECTURES: readonly (readonly [debian: string, node: string])[] = [
  ['amd64', 'x64'],
  ['arm64', 'arm64'],
  ['armhf', 'arm'],
];

const EXPECTED = [
  'usr/bin/tonearm',
  'usr/lib/systemd/user/tonearm.service',
  'usr/lib/tonearm/actors/audio/worker.js',
  'usr/lib/tonearm/actors/power/worker.js',
  'usr/lib/tonearm/actors/systemd/worker.js',
  'usr/lib/tonearm/actors/upgrade/worker.js',
  'usr/lib/tonearm/main.js',
  'usr/lib/tonearm/wait-listening',
  'usr/lib/tonearm/worker.js',
  'usr/sbin/tonearm-setup',
  'usr/share/doc/tonearm/changelog.Debian.gz',
  'usr/share/doc/tonearm/copyright',
  'usr/share/doc/tonearm/examples/config.yaml',
  'usr/share/doc/tonearm/third-party-notices.gz',
  'usr/share/man/man1/tonearm.1.gz',
  'usr/share/man/man8/tonearm-setup.8.gz',
  'usr/share/tonearm/config.example.yaml',
  'usr/share/tonearm/polkit/tonearm.rules.in',
];

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

async function output(command: string, ...args: readonly string[]): Promise<string> {
  return (await run(command, [...args], { encoding: 'utf8', maxBuffer: 1 << 24 })).stdout;
}

describe('the packages', { skip }, () => {
  let folder: Folder | undefined;
  let said = '';
  const packageOf = (architecture: string): string => {
    const { path } = folder ?? assert.fail('nothing was built');
    const name = readdirSync(path).find((file) => file.endsWith(`_${architecture}.deb`));
    return join(path, name ?? assert.fail(`there is no package for ${architecture}`));
  };
  const filesOf = async (architecture: string): Promise<readonly string[]> => {
    const list = await output('dpkg-deb', '--contents', packageOf(architecture));
    return list
      .split('\n')
      .filter((line) => /^[-l]/.test(line))
      .map((line) => line.replace(/^.* \.\//, '').replace(/ -> .*$/, ''));
  };

  before(async () => {
    folder = tempFolder();
    said = await buildPackage('--arch', 'all', '--out', folder.path);
  });
  after(() => folder?.remove());

  test('the build says size, installed size and number of files', () => {
    assert.equal(said.match(/deb: [\d.]+ MiB, [\d.]+ MiB installed, \d+ files$/gm)?.length, 3, said);
  });

  for (const [architecture, node] of ARCHITECTURES) {
    test(`${architecture} holds what it should, and natives of its own only`, async () => {
      const files = await filesOf(architecture);
      assert.deepEqual(
        EXPECTED.filter((file) => !files.includes(file)),
        [],
      );
      const natives = files.filter((file) => file.endsWith('.node')).sort();
      assert.deepEqual(
        natives,
        [115, 127].map((abi) => `usr/lib/tonearm/uws_linux_${node}_${abi}.node`),
      );
      assert.deepEqual(
        files.filter((file) => /\.(?:ts|map)$|\.test\.js$|node_modules/.test(file)),
        [],
      );
    });
  }

  test('everything belongs to root, and nobody else may write', async () => {
    const list = await output('dpkg-deb', '--contents', packageOf('amd64'));
    const wrong = list
      .split('\n')
      .filter((line) => line !== '' && !/^(?:[-d]rw[x-]r-[x-]r-[x-]|lrwxrwxrwx) root\/root /.test(line));
    assert.deepEqual(wrong, []);
  });

  test('it depends on Node 20 and runs no compiler', async () => {
    const control = await output('dpkg-deb', '--field', packageOf('arm64'));
    assert.match(control, /^Depends: nodejs \(>= 20\), /m);
    assert.match(control, /^Architecture: arm64$/m);
    assert.doesNotMatch(control, /npm|gyp|gcc|make/);
  });

  test('no placeholder is left', async () => {
    const { path } = folder ?? assert.fail('nothing was built');
    const tree = join(path, 'tree');
    await run('dpkg-deb', ['--raw-extract', packageOf('amd64'), tree]);
    for (const file of [
      'usr/bin/tonearm',
      'usr/sbin/tonearm-setup',
      'usr/lib/systemd/user/tonearm.service',
      'DEBIAN/prerm',
      'DEBIAN/postinst',
      'DEBIAN/postrm',
    ]) {
      assert.doesNotMatch(
        readFileSync(join(tree, file), 'utf8'),
        /@(?:PREFIX|VERSION|DATE|NODE_FLAGS|USER_MANAGERS)@/,
      );
    }
  });

  test('the same sources and time give the same bytes', async () => {
    const again = tempFolder();
    try {
      await buildPackage('--arch', 'armhf', '--out', again.path);
      const [name] = readdirSync(again.path);
      assert.equal(digest(join(again.path, name ?? '')), digest(packageOf('armhf')));
    } finally {
      again.remove();
    }
  });

  test('lintian finds no error', { skip: lacks({ programs: ['lintian'] }) }, async () => {
    // It leaves files in TMPDIR behind.
    const own = tempFolder();
    const options = ['--allow-root', '--profile', 'debian', '--fail-on', 'none'];
    const lintian = [`TMPDIR=${own.path}`, 'lintian', ...options, packageOf('amd64')];
    const found = await output('env', ...lintian).finally(() => own.remove());
    assert.doesNotMatch(found, /^E: /m);
  });

  test('an unknown architecture is refused', async () => {
    await assert.rejects(buildPackage('--arch', 'sparc'), /--arch is one of amd64, arm64, armhf, all/);
  });
});
