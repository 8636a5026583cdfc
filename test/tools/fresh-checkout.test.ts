// Tests the first steps after a clone, with Debian's npm and with Nodes for which uWebSockets.js has no
// binary. npm and the Nodes are real. They work on a copy of the checkout, in which nothing is installed.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { copyCheckout, run } from '../packaging/built-package.js';
import { temporaryFolder } from '../temporary-folder.js';

/** Paths that a clone does not have. */
const NOT_IN_CLONE = ['./.git', './node_modules', './build*', './dist*', './*.deb'];
/** Debian 12 and 13 have this npm. */
const NPM = '9.2.0';
/** The Node of Debian 12, and a newer one. No package of package-lock.json has a binary for them. */
const NODES = ['18', '26'];
/** This Node cannot read the bundles, so main.js loads old-node.js instead (packaging/build.mjs). */
const OLD_NODE = '12';
const NODE_PACKAGE = `node-linux-${process.arch}`;

const skip =
  process.env['TONEARM_REQUIRE_ALL'] === '1'
    ? false
    : 'the tests fetch 300 MB, so they run only with TONEARM_REQUIRE_ALL=1';

describe('a fresh checkout', { skip }, () => {
  const home = temporaryFolder({ after });
  const checkout = join(home, 'checkout');

  /** Runs npm 9.2 on Node `major`. Both programs come first in PATH. Resolves with all output. */
  const npm = async (major: string, ...args: readonly string[]): Promise<string> => {
    const programs = join(home, `programs-${major}`);
    // If NODE_TEST_CONTEXT is set, a test runner believes that another test runner has started it, and runs
    // nothing.
    const { NODE_TEST_CONTEXT: _, ...inherited } = process.env;
    const env = { ...inherited, PATH: `${programs}:${process.env['PATH']}` };
    const running = run('npm', [...args], { cwd: checkout, env });
    const { stdout, stderr } = await running.catch((error: Error & { stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    });
    return `${stdout}${stderr}`;
  };

  const fetchedModules = (major: string): string => join(home, `fetched-${major}`, 'node_modules');
  const nodeOf = (major: string): string => join(fetchedModules(major), NODE_PACKAGE, 'bin/node');
  const fetchNode = async (major: string, ...others: readonly string[]): Promise<void> => {
    const into = join(home, `fetched-${major}`);
    mkdirSync(into);
    const install = ['install', '--prefix', into, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts'];
    await run('npm', [...install, `${NODE_PACKAGE}@${major}`, ...others], { cwd: into });
  };

  before(async () => {
    mkdirSync(checkout);
    await copyCheckout(checkout, ...NOT_IN_CLONE);
    await fetchNode(OLD_NODE);
    for (const major of NODES) {
      await fetchNode(major, `npm@${NPM}`);
      const programs = join(home, `programs-${major}`);
      mkdirSync(programs);
      symlinkSync(nodeOf(major), join(programs, 'node'));
      // npm's own script would prefer the Node of its own folder.
      const script = `#!/bin/sh\nexec node ${join(fetchedModules(major), 'npm/bin/npm-cli.js')} "$@"\n`;
      writeFileSync(join(programs, 'npm'), script);
      chmodSync(join(programs, 'npm'), 0o755);
    }
  });

  test('npm run package works as the first command, with npm 9.2 on Node 18', async () => {
    assert.match(await npm('18', '--version'), /^9\.2\.0$/m);
    const packageFolder = join(home, 'out');
    mkdirSync(packageFolder);
    const output = await npm('18', 'run', 'package', '--', '--out', packageFolder);
    assert.equal(output.match(/^setup: installing npm packages; this is done once, /gm)?.length, 1, output);
    const warningCount = output.match(
      /^setup: .*no binary for Node v18\..*continues with Node 2[24]\./gm,
    )?.length;
    assert.equal(warningCount, 1, output);
    assert.equal(readdirSync(packageFolder).length, 1);
  });

  // The test above has installed the npm packages in the copy.
  for (const major of NODES) {
    test(`npm start works on Node ${major}, and does not install the npm packages a second time`, async () => {
      const output = await npm(major, 'start', '--', '--version');
      assert.match(output, /^\d+\.\d+\.\d+$/m);
      assert.match(output, new RegExp(`^setup: .*no binary for Node v${major}\\.`, 'm'));
      assert.doesNotMatch(output, /installing/);
    });
  }

  // The tests above have built dist/main.js.
  for (const major of [OLD_NODE, ...NODES]) {
    test(`the built program prints help and version on Node ${major}, and without arguments says why it cannot run`, async () => {
      const main = join(checkout, 'dist/main.js');
      assert.match((await run(nodeOf(major), [main, '--version'])).stdout, /^\d+\.\d+\.\d+\n$/);
      assert.match((await run(nodeOf(major), [main, '--help'])).stdout, /^Usage: tonearm /);
      const why = new RegExp(`^tonearm: cannot run here: .* this is Node ${major}\\..*\n$`);
      await assert.rejects(run(nodeOf(major), [main]), { code: 126, stdout: '', stderr: why });
    });
  }

  test('npm run bench refuses the name of an unknown measurement on Node 26', async () => {
    await assert.rejects(npm('26', 'run', 'bench', '--', 'no-such-thing'), /bench: no measurement matches/);
  });

  test('npm test checks types, style and dead code, and runs a test, on Node 26', async () => {
    // `all green` means that the checks have passed, too.
    assert.match(await npm('26', 'test', '--', 'tools/lock'), /^ok - tests .*\n.*all green/ms);
  });
});
