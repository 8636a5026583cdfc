// Tests that the shell scripts of packaging/ print a reason when they stop waiting for a program. The tests
// replace these programs, so no test waits until a deadline has passed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../temporary-folder.js';

const PACKAGING = fileURLToPath(new URL('../../../packaging/', import.meta.url));
/** timeout(1) ends with this status if the time is over, and prints nothing. */
const TIMED_OUT = 'exit 124';
const SUCCEEDS = 'exit 0';

/** `programs` has the names of programs, each with the lines of shell that replace the program. */
function runShell(
  t: TestContext,
  script: string,
  programs: Readonly<Record<string, string>>,
  ...args: string[]
) {
  const folder = temporaryFolder(t);
  for (const [name, lines] of Object.entries(programs))
    writeFileSync(join(folder, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
  const env = { PATH: `${folder}:${process.env['PATH']}` };
  return spawnSync('sh', ['-euc', script, 'script', ...args], { env, encoding: 'utf8', input: '' });
}

test('user-managers.sh names the user whose systemd does not answer, and the command to repeat', async (t) => {
  const users = temporaryFolder(t);
  mkdirSync(join(users, '1000/systemd'), { recursive: true });
  const manager = createServer().listen(join(users, '1000/systemd/private'));
  t.after(() => manager.close());
  await once(manager, 'listening');
  const functions = readFileSync(join(PACKAGING, 'deb/user-managers.sh'), 'utf8');
  const script = `${functions.replace('/run/user/*', `${users}/*`)}user_managers try-restart tonearm.service`;
  const programs = { timeout: TIMED_OUT, systemctl: SUCCEEDS, getent: SUCCEEDS, id: 'echo pi' };
  const { status, stderr } = runShell(t, script, programs);
  assert.equal(status, 0, stderr);
  assert.equal(
    stderr,
    'tonearm: systemctl --user try-restart tonearm.service failed for user 1000: it has not ended within 60 s, and may still succeed within 5 minutes; if it does not, do it again then: systemctl --user -M pi@ try-restart tonearm.service\n',
  );
});

test('tonearm-setup reports that its search for an upgrade has not ended in time', (t) => {
  const setUp = readFileSync(join(PACKAGING, 'tonearm-setup'), 'utf8');
  const definition =
    /^first_look\(\) \{\n.*?^\}\n/ms.exec(setUp)?.[0] ?? assert.fail('there is no first_look');
  // These functions replace those of tonearm-setup that first_look calls. `shift` drops the name of the step.
  const otherFunctions = 'step() { shift; "$@"; }; as_user() { "$@"; }; last_words() { :; }';
  const values = "DETECTOR_DEADLINE_S=300 dry=no trouble='' status_of='systemctl --user status'";
  const script = `${definition}${otherFunctions}\n${values}\nfirst_look\necho "$trouble"`;
  const { stdout } = runShell(t, script, { timeout: TIMED_OUT });
  assert.equal(
    stdout,
    'all is set up, but the look for an upgrade has not ended within 300 s; for details: systemctl --user status tonearm-detect\n',
  );
});

test('sandbox.sh gives a reason when its sound server cannot be reached and has logged nothing', (t) => {
  const script = `exec sh '${PACKAGING}sandbox.sh' "$1"`;
  // sandbox.sh starts the server by setpriv, and uses pactl to find out whether the server answers.
  const neverStarts = { setpriv: 'exit 1', pactl: 'exit 1' };
  const ended = runShell(t, script, neverStarts, temporaryFolder(t));
  assert.equal(ended.status, 1);
  assert.equal(ended.stderr, 'the program for `pactl info` has ended without a message\n');
  // `tail` stands in for a server that does not answer. The script does not wait between its attempts.
  const neverAnswers = { setpriv: 'exec tail -f /dev/null', pactl: 'exit 1', sleep: SUCCEEDS };
  const late = runShell(t, script, neverAnswers, temporaryFolder(t));
  assert.equal(late.status, 1);
  assert.equal(late.stderr, '`pactl info` has failed for ten seconds\n');
});
