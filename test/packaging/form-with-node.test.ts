// Unpacks the Debian package that contains its own Node, in the form for this machine's Debian, and uses
// each of its late parts. package.test.ts does the same with the plain form, which runs on this machine's
// Node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LATE_PART_PROGRAMS, loadsItsLateParts } from '../contract/late-parts.js';
import { temporaryFolder } from '../temporary-folder.js';
import { skipReason } from '../tools/requirements.js';
import { buildPackage, extracted, FOR_DEBIAN_12, flagsOf, packageIn } from './built-package.js';

/** The processors for which the package is built: Debian's names by Node's names. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const IS_DEBIAN_12 = /^VERSION_ID="12"$/m.test(readFileSync('/etc/os-release', 'utf8'));
const FORM = IS_DEBIAN_12 ? { debian: '12', suffix: FOR_DEBIAN_12 } : { debian: '13', suffix: '' };

test(`the form with Node for Debian ${FORM.debian} loads each of its late parts`, {
  skip: skipReason({ programs: ['dpkg-deb', ...LATE_PART_PROGRAMS] }),
}, async (t) => {
  const folder = temporaryFolder(t);
  await buildPackage('--compress', 'none', '--with-node', '--debian', FORM.debian, '--out', folder);
  const architecture = ARCHITECTURES[process.arch] ?? assert.fail(process.arch);
  const file = packageIn(folder, 'tonearm-with-node', architecture, FORM.suffix);
  const tree = await extracted(file, folder);
  await loadsItsLateParts(t, {
    entry: join(tree, 'usr/lib/tonearm/main.js'),
    nodeArguments: flagsOf(tree),
    // `$1` is the Node of the package, and `$2` is this machine's Node. `shift 2` removes both.
    launcher: ['sh', '-c', 'node=$1; shift 2; exec "$node" "$@"', 'sh', join(tree, 'usr/lib/tonearm/node')],
  });
});
