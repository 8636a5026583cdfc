// Tests that the table in packaging/natives.mjs has the same binaries of uWebSockets.js as the installed
// packages, and that the published package.json agrees with the table.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

// build/test/tools/natives.test.js -> the project's root
const ROOT = new URL('../../../', import.meta.url);

interface Row {
  readonly name: string;
  readonly nodes: Readonly<Record<string, readonly number[]>>;
}

interface Natives {
  readonly NATIVES: readonly Row[];
  readonly SUPPORTED_NODES: readonly number[];
  hasNative(node: number, arch: string, glibc: string | undefined): boolean;
  nativeFiles(root: string, arch: string): readonly { readonly name: string; readonly node: number }[];
}

const natives: Natives = await import(new URL('packaging/natives.mjs', ROOT).href);
const { engines } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly engines: { readonly node: string };
};

/**
 * Debian 12 has glibc 2.36, Debian 13 has 2.41. The package uWebSockets.js needs 2.38. The package uws-pack
 * needs only 2.28, but it has no binaries for Node 24 and 25. Only uws-pack has binaries for `arm`. If a
 * machine has another C library, its `glibc` is undefined.
 */
const MACHINES: readonly (readonly [
  node: number,
  arch: string,
  glibc: string | undefined,
  hasBinary: boolean,
])[] = [
  [20, 'x64', '2.36', true],
  [22, 'arm64', '2.36', true],
  [24, 'x64', '2.36', false],
  [24, 'x64', '2.38', true],
  [25, 'arm64', '2.41', true],
  [24, 'x64', '3.0', true],
  [26, 'x64', '2.41', false],
  [18, 'x64', '2.41', false],
  [22, 'arm', '2.41', true],
  [24, 'arm', '2.41', false],
  [20, 'riscv64', '2.41', false],
  [20, 'x64', '2.17', false],
  [20, 'x64', undefined, false],
];

for (const [node, arch, glibc, hasBinary] of MACHINES)
  test(`Node ${node} on ${arch} with glibc ${glibc} has ${hasBinary ? 'a' : 'no'} binary`, () =>
    assert.equal(natives.hasNative(node, arch, glibc), hasBinary));

test('the table has the binaries of the installed packages', () => {
  for (const arch of ['x64', 'arm64', 'arm']) {
    const files = natives.nativeFiles(fileURLToPath(ROOT), arch);
    for (const { name, nodes } of natives.NATIVES) {
      const installed = files.filter((file) => file.name === name).map(({ node }) => node);
      assert.deepEqual(installed, nodes[arch] ?? [], `${name}, ${arch}`);
    }
  }
});

test('the published package.json has in `engines` the Nodes that have a binary for some processor', () =>
  assert.equal(engines.node, natives.SUPPORTED_NODES.join(' || ')));
