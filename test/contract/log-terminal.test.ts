// The log on a terminal has lines for people. supervisor/log.test.ts tests the JSON that a pipe gets.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { temporaryFolder } from '../temporary-folder.js';
import { freePort } from '../tools/free-port.js';
import { skipReason } from '../tools/requirements.js';
import { SpawnedText } from '../tools/spawned.js';
import { until } from '../until.js';
import { ENTRY, NO_BACKENDS } from './daemon.js';

/** A line without colours. The 12 blanks end the level's column, and are the backend's empty column. */
const LISTENING = /^\d\d:\d\d:\d\d\.\d{3} INFO {12}listening addresses=.+ port=\d+\r\n/m;
const COLOURED = '\x1b[32mINFO';
/** The byte that Ctrl-C writes at a terminal. */
const CTRL_C = '\x03';

/**
 * Runs the daemon on a terminal that `script` of util-linux creates; resolves with its whole output after
 * Ctrl-C.
 */
async function onTerminal(t: TestContext, env: Readonly<Record<string, string>>): Promise<string> {
  const home = temporaryFolder(t);
  const config = join(home, 'config.yaml');
  const port = await freePort();
  writeFileSync(config, `api: {port: ${port}}\n${NO_BACKENDS}`);
  const command = `exec '${process.execPath}' '${ENTRY}' --allow-root --config '${config}'`;
  const usualEnv = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_RUNTIME_DIR: home };
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    env: { ...usualEnv, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  t.after(() => child.kill('SIGKILL'));
  const printed = new SpawnedText(child.stdout);
  // The daemon logs the line LISTENING just before it begins to handle signals, so this line is too early
  // for Ctrl-C. A daemon that answers handles signals.
  await until('the daemon answers', async () => (await fetch(`http://127.0.0.1:${port}/server`)).ok);
  child.stdin.write(CTRL_C);
  assert.deepEqual(await ended, [0, null]);
  return printed.text;
}

const skip = skipReason({ programs: ['script'] });

test('log lines on a terminal are formatted and coloured', { skip }, async (t) => {
  const text = await onTerminal(t, { TERM: 'xterm-256color' });
  assert.ok(text.includes(COLOURED), text);
  assert.match(stripVTControlCharacters(text), LISTENING);
});

test('log lines on a terminal without colours have no colours', { skip }, async (t) => {
  assert.match(await onTerminal(t, { TERM: 'dumb' }), LISTENING);
});
