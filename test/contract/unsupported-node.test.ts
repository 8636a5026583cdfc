// Tests the built program where it has no binary for the version of Node.js, the system or the C library.
// The program ends with one line and a documented status, but commands that use no binary work. The tests
// run on the Node.js of this machine, and a preloaded file lets it report another version or system.
// test/tools/fresh-checkout.test.ts runs the program on other versions of Node.js, which are real.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { EXIT } from '../../src/cli/ctl/statuses.js';
import { VERSION } from '../packaging/built-package.js';
import { temporaryFolder } from '../temporary-folder.js';
import { ENTRY } from './daemon.js';

const CANNOT_RUN_HERE = 126;
const HELP = /^Usage: tonearm \[--config PATH\]/;

/** Node.js reports a version of its binary interface for which no binary exists. */
const WITHOUT_BINARY = 'Object.defineProperty(process.versions, "modules", { value: "999" })';

/**
 * `script` is the code of the preloaded file that imitates the machine. The program must print a line that
 * matches `line`.
 */
const MACHINES: readonly (readonly [what: string, script: string, line: RegExp])[] = [
  [
    'a Node.js without a binary',
    WITHOUT_BINARY,
    /needs Linux and Node 20, 22, 24, 25 with glibc from 2\.38 on, or Node 20, 22 with glibc from 2\.28 on; this is Node /,
  ],
  [
    'another system',
    'Object.defineProperty(process, "platform", { value: "darwin" })',
    /needs Linux and .*; this is Node .*, darwin /,
  ],
  [
    'another processor',
    'Object.defineProperty(process, "arch", { value: "riscv64" })',
    /needs Linux and another processor; this is Node .* riscv64/,
  ],
  [
    'a Node.js that is too old to read the program',
    'Object.defineProperty(process.versions, "node", { value: "12.22.12" })',
    /needs Node 20, 22, 24, 25; this is Node 12\.22\.12\./,
  ],
];

/** Runs the program as if on another machine. */
function runOn(t: TestContext, script: string, ...args: readonly string[]) {
  const preload = join(temporaryFolder(t), 'machine.cjs');
  // The properties of `process.versions` cannot be changed, so a copy that can be changed takes its place.
  const makeVersionsWritable =
    'Object.defineProperty(process, "versions", { value: { ...process.versions } });';
  writeFileSync(preload, `${makeVersionsWritable}\n${script};\n`);
  return spawnSync(process.execPath, ['--require', preload, ENTRY, ...args], { encoding: 'utf8' });
}

describe('on a machine for which there is no binary', () => {
  for (const [what, script, line] of MACHINES) {
    test(`${what}: the program ends with one line and status 126`, (t) => {
      // The program ends in the same way with an empty configuration.
      for (const args of [['--allow-root'], ['--allow-root', '--config', '/dev/null']]) {
        const { status, stdout, stderr } = runOn(t, script, ...args);
        assert.deepEqual([status, stdout], [CANNOT_RUN_HERE, '']);
        assert.match(stderr, /^tonearm: cannot run here: [^\n]+\. tonearm-client runs everywhere\.\n$/);
        assert.match(stderr, line);
      }
    });

    test(`${what}: help and version are printed`, (t) => {
      const version = runOn(t, script, '--version');
      assert.deepEqual([version.status, version.stdout, version.stderr], [0, `${VERSION}\n`, '']);
      const help = runOn(t, script, '--help');
      assert.deepEqual([help.status, help.stderr], [0, '']);
      assert.match(help.stdout, HELP);
    });
  }

  test('tonearm ctl works without a binary', (t) => {
    const help = runOn(t, WITHOUT_BINARY, 'ctl', '--help');
    assert.deepEqual([help.status, help.stderr], [0, '']);
    const { status, stderr } = runOn(t, WITHOUT_BINARY, 'ctl', '--node', '127.0.0.1:9', 'server');
    assert.deepEqual([status, /cannot be reached/.test(stderr)], [EXIT.unreachable, true], stderr);
  });

  test('tonearm bench without a binary ends with the same line and status as the program', (t) => {
    const { status, stdout, stderr } = runOn(t, WITHOUT_BINARY, 'bench');
    assert.deepEqual([status, stdout], [CANNOT_RUN_HERE, '']);
    assert.match(stderr, /^tonearm: cannot run here: [^\n]+\n$/);
  });
});

/**
 * Copies the program with these binaries only, and returns the path of its entry. The folder `uws-newer` has
 * a binary for newer C libraries, `uws-older` has one for older C libraries. The Node.js of this machine can
 * load a binary that is `loadable`.
 */
function withBinaries(t: TestContext, binaries: Readonly<Record<string, 'unloadable' | 'loadable'>>): string {
  const folder = temporaryFolder(t);
  const builtFolder = dirname(ENTRY);
  const file = `uws_linux_${process.arch}_${process.versions.modules}.node`;
  // The binary of `uws-older` comes first, because this machine may have a C library that is too old for
  // `uws-newer`. But `uws-older` has binaries for fewer versions of Node.js, perhaps none for this one.
  const loadable = [join(builtFolder, 'uws-older', file), join(builtFolder, 'uws-newer', file)].find((path) =>
    existsSync(path),
  );
  cpSync(builtFolder, folder, { recursive: true, filter: (path) => !path.endsWith('.node') });
  for (const [name, kind] of Object.entries(binaries)) {
    const path = join(folder, name, file);
    mkdirSync(dirname(path), { recursive: true });
    // The loader refuses text as it refuses a binary for a newer C library.
    if (kind === 'unloadable') writeFileSync(path, 'not for this C library');
    else symlinkSync(loadable ?? assert.fail(file), path);
  }
  return join(folder, 'main.js');
}

/**
 * Starts the program. If the program can load a binary, it ends with status 78, because its configuration
 * does not exist.
 */
function startWith(entry: string) {
  return spawnSync(process.execPath, [entry, '--allow-root', '--config', '/nonexistent.yaml'], {
    encoding: 'utf8',
  });
}

describe('a choice of several binaries', () => {
  test('the program loads an older binary where the C library cannot load the newer one', (t) => {
    const { status, stderr } = startWith(
      withBinaries(t, { 'uws-newer': 'unloadable', 'uws-older': 'loadable' }),
    );
    assert.equal(status, 78, stderr);
  });

  test('the program prints what the existing binaries need if none of them can be loaded', (t) => {
    const { status, stderr } = startWith(withBinaries(t, { 'uws-newer': 'unloadable' }));
    assert.equal(status, CANNOT_RUN_HERE, stderr);
    assert.match(stderr, /needs Linux and Node \d+ with glibc from 2\.38 on; this is Node [^\n]+\n$/);
  });
});
