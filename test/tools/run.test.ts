// packaging/run, through which npm's scripts go: nothing starts behind a killed npm. That it becomes the script: start.test.ts.

import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../temporary-folder.js';
import { textOf } from './spawned.js';

const RUN = fileURLToPath(new URL('../../../packaging/run', import.meta.url));
/** Not the shell's last command, which it would turn into. */
const NPM = ['-c', '"$@"; exit', 'npm', 'sh', RUN];

interface Run {
  readonly npm: ChildProcessByStdio<Writable, Readable, Readable>;
  /** All output, once every process has closed the pipe. */
  readonly said: Promise<string>;
}

/** `node`: a shell script that stands in for Node on the PATH. */
function runAs(t: TestContext, script: string, node: string): Run {
  const folder = temporaryFolder(t);
  const file = join(folder, 'script.mjs');
  writeFileSync(file, script);
  writeFileSync(join(folder, 'node'), `#!/bin/sh\n${node}\n`, { mode: 0o755 });
  const npm = spawn('sh', [...NPM, file], {
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  return { npm, said: once(npm.stdout, 'close').then(textOf(npm.stdout)) };
}

test('the script does not start when npm was killed during the preparation', async (t) => {
  // Says that it has begun, and goes on once its input ends.
  const node = `echo begun >&2; cat > /dev/null; echo ${process.execPath}`;
  const { npm, said } = runAs(t, "console.log('started')", node);
  await once(npm.stderr, 'data');
  npm.kill('SIGKILL');
  await once(npm, 'exit');
  npm.stdin.end();
  assert.equal(await said, '');
});
