// The form of the Debian package that brings its own Node, as a file: the same as the other form, but for that.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import {
  buildPackage,
  extracted,
  type Folder,
  filesOf,
  lintian,
  output,
  packageIn,
  tempFolder,
} from './built-package.js';

const skip = lacks({ programs: ['dpkg-deb', 'npm'] });

const WITH_NODE = 'tonearm-with-node';
const ARCHITECTURES: readonly (readonly [debian: string, node: string])[] = [
  ['amd64', 'x64'],
  ['arm64', 'arm64'],
];

describe('the package with Node', { skip }, () => {
  let folder: Folder | undefined;
  let said = '';
  const path = (): string => folder?.path ?? assert.fail('nothing was built');
  const packageOf = (architecture: string, form = 'tonearm'): string => packageIn(path(), form, architecture);

  before(async () => {
    folder = tempFolder();
    await buildPackage('--arch', 'all', '--out', folder.path);
    // xz would take two minutes over two Nodes.
    said = await buildPackage('--with-node', '--arch', 'all', '--compress', 'gzip', '--out', folder.path);
  });
  after(() => folder?.remove());

  test('the build says the sizes of both', () => {
    assert.equal(said.match(/deb: [\d.]+ MiB, [\d.]+ MiB installed, \d+ files$/gm)?.length, 2, said);
  });

  for (const [architecture, node] of ARCHITECTURES) {
    test(`${architecture} with Node holds Node 22, and else the same`, async () => {
      const [plain, own] = [
        await filesOf(packageOf(architecture)),
        await filesOf(packageOf(architecture, WITH_NODE)),
      ];
      const common = plain.map((file) => file.replace('share/doc/tonearm/', `share/doc/${WITH_NODE}/`));
      assert.deepEqual(
        own.filter((file) => !common.includes(file)),
        ['usr/lib/tonearm/node', `usr/share/lintian/overrides/${WITH_NODE}`],
      );
      assert.deepEqual(
        common.filter((file) => !own.includes(file)),
        [`usr/lib/tonearm/uws_linux_${node}_115.node`],
      );
    });

    test(`${architecture} with Node asks for no Node, and takes the other form's place`, async () => {
      const control = await output('dpkg-deb', '--field', packageOf(architecture, WITH_NODE));
      assert.doesNotMatch(control, /^Depends:.*nodejs/m);
      for (const line of [
        'Provides: tonearm \\(= 0\\.1\\.0-1\\)',
        'Conflicts: tonearm',
        'Replaces: tonearm',
      ]) {
        assert.match(control, new RegExp(`^${line}$`, 'm'));
      }
      const plain = await output('dpkg-deb', '--field', packageOf(architecture));
      assert.match(plain, /^Conflicts: tonearm-with-node$/m);
      assert.match(plain, /^Replaces: tonearm-with-node$/m);
    });
  }

  test("Node's licence is among the notices where Node is", async () => {
    for (const [form, has] of [
      ['tonearm', false],
      [WITH_NODE, true],
    ] as const) {
      const tree = await extracted(packageOf('amd64', form), path());
      const notices = await output('zcat', join(tree, `usr/share/doc/${form}/third-party-notices.gz`));
      assert.equal(/^Node\.js 22\..*\n=+\n\nNode\.js is licensed for use as follows:/m.test(notices), has);
    }
  });

  test('there is no form with Node for armhf', async () => {
    await assert.rejects(
      buildPackage('--with-node', '--arch', 'armhf'),
      /--arch is one of amd64, arm64, all/,
    );
  });

  test('lintian finds no error', { skip: lacks({ programs: ['lintian'] }) }, async () => {
    const found = await lintian(packageOf('amd64', WITH_NODE));
    assert.doesNotMatch(found, /^E: |override/m);
  });
});
