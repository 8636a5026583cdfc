// The built program on a Node, a system or a C library for which it has no binary: one line and a documented
// status, while what needs none works. The Node is this one, which a preloaded file makes report another
// version; test/tools/fresh-checkout.test.ts has real ones.

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

/**
 * Each with the line of the preloaded file that makes it one, and the text that the program must print there.
 */
const MACHINES: readonly (readonly [what: string, script: string, line: RegExp])[] = [
  [
    'a Node without a binary',
    'Object.defineProperty(process.versions, "modules", { value: "999" })',
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
    'a Node that is too old to read the program',
    'Object.defineProperty(process.versions, "node", { value: "12.22.12" })',
    /needs Node 20, 22, 24, 25; this is Node 12\.22\.12\./,
  ],
];

/** Runs the program as if on another machine. */
function run(t: TestContext, script: string, ...args: readonly string[]) {
  const preload = join(temporaryFolder(t), 'machine.cjs');
  // Defined on an object that can be changed, as the properties of `process.versions` cannot.
  const open = 'Object.defineProperty(process, "versions", { value: { ...process.versions } });';
  writeFileSync(preload, `${open}\n${script};\n`);
  return spawnSync(process.execPath, ['--require', preload, ENTRY, ...args], { encoding: 'utf8' });
}

describe('on a machine for which there is no binary', () => {
  for (const [what, script, line] of MACHINES) {
    test(`${what}: the program ends with one line and a status`, (t) => {
      for (const args of [['--allow-root'], ['--allow-root', '--config', '/dev/null']]) {
        const { status, stdout, stderr } = run(t, script, ...args);
        assert.deepEqual([status, stdout], [CANNOT_RUN_HERE, '']);
        assert.match(stderr, /^tonearm: cannot run here: [^\n]+\. tonearm-client runs everywhere\.\n$/);
        assert.match(stderr, line);
      }
    });

    test(`${what}: help and version are printed`, (t) => {
      const version = run(t, script, '--version');
      assert.deepEqual([version.status, version.stdout, version.stderr], [0, `${VERSION}\n`, '']);
      const help = run(t, script, '--help');
      assert.deepEqual([help.status, help.stderr], [0, '']);
      assert.match(help.stdout, HELP);
    });
  }

  test('tonearm ctl needs no binary', (t) => {
    const [, script] = MACHINES[0] ?? assert.fail();
    const help = run(t, script, 'ctl', '--help');
    assert.deepEqual([help.status, help.stderr], [0, '']);
    const { status, stderr } = run(t, script, 'ctl', '--node', '127.0.0.1:9', 'server');
    assert.deepEqual([status, /cannot be reached/.test(stderr)], [EXIT.unreachable, true], stderr);
  });

  test('the bench ends with the same line and status', (t) => {
    const [, script] = MACHINES[0] ?? assert.fail();
    const { status, stdout, stderr } = run(t, script, 'bench');
    assert.deepEqual([status, stdout], [CANNOT_RUN_HERE, '']);
    assert.match(stderr, /^tonearm: cannot run here: [^\n]+\n$/);
  });
});

/**
 * A copy of the program whose binaries are these: a newer one in `uws-newer`, an older one in `uws-older`.
 */
function withBinaries(t: TestContext, natives: Readonly<Record<string, 'unloadable' | 'own'>>): string {
  const folder = temporaryFolder(t);
  const own = dirname(ENTRY);
  const file = `uws_linux_${process.arch}_${process.versions.modules}.node`;
  // The older one has fewer Nodes, the newer one fewer C libraries.
  const loadable = [join(own, 'uws-older', file), join(own, 'uws-newer', file)].find((path) =>
    existsSync(path),
  );
  cpSync(own, folder, { recursive: true, filter: (path) => !path.endsWith('.node') });
  for (const [name, kind] of Object.entries(natives)) {
    const place = join(folder, name, file);
    mkdirSync(dirname(place), { recursive: true });
    // The loader refuses text as it refuses a binary for a newer C library.
    if (kind === 'unloadable') writeFileSync(place, 'not for this C library');
    else symlinkSync(loadable ?? assert.fail(file), place);
  }
  return join(folder, 'main.js');
}

/** It loads a binary, and then finds a configuration that is wrong. */
function startWith(entry: string) {
  return spawnSync(process.execPath, [entry, '--allow-root', '--config', '/nonexistent.yaml'], {
    encoding: 'utf8',
  });
}

describe('a choice of several binaries', () => {
  test('one that the C library cannot load is passed over for an older one', (t) => {
    const { status, stderr } = startWith(withBinaries(t, { 'uws-newer': 'unloadable', 'uws-older': 'own' }));
    assert.equal(status, 78, stderr);
  });

  test('where none is loaded, the line names those that are there', (t) => {
    const { status, stderr } = startWith(withBinaries(t, { 'uws-newer': 'unloadable' }));
    assert.equal(status, CANNOT_RUN_HERE, stderr);
    assert.match(stderr, /needs Linux and Node \d+ with glibc from 2\.38 on; this is Node [^\n]+\n$/);
  });
});
