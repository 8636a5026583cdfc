// Boots the real node and lets the two forms of the package take each other's place on it.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { bootNode, type Node, whyNoNode } from '../node/node.js';
import { formScenarios } from '../node/scenarios/package-forms.js';
import { buildPackage, buildStandIn, type Folder, tempFolder } from './built-package.js';

const why = whyNoNode();

if (why !== undefined && process.env['TONEARM_REQUIRE_ALL'] === '1') {
  test('a node can be booted', () => assert.fail(why));
}

/** Both forms and the stand-in, in one folder. */
async function buildPackages(folder: string): Promise<void> {
  await buildPackage('--out', folder, '--version', '0.1.0-1');
  // xz would take a minute over Node.
  await buildPackage('--out', folder, '--version', '0.1.0-1', '--with-node', '--compress', 'gzip');
  await buildStandIn(folder);
}

describe('the forms of the package', { skip: why ?? false }, () => {
  let booted: Node | undefined;
  let packages: Folder | undefined;

  before(async () => {
    packages = tempFolder();
    await Promise.all([
      buildPackages(packages.path),
      bootNode().then((fresh) => {
        booted = fresh;
      }),
    ]);
    await booted?.install(packages.path, '/opt/packages');
  });
  after(async () => {
    await booted?.close();
    packages?.remove();
  });

  formScenarios(() => booted ?? assert.fail('the node has not booted'));
});
