// A user without an entry in the user database and without HOME, as in a container: the daemon serves it like any other.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { ENTRY, type Health } from './daemon.js';

const UID = 54_321;
/** The usual directory for temporary files, and the checkout, may be closed to other users. */
const OPEN_TO_ALL = '/tmp';
const CONFIG = 'systemd: {system: [a.service], user: [b.service]}\npower: {enabled: true}\n';
const IDENTITY = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'];

function whyNot(): string | false {
  const lacking = lacks({ root: true, programs: ['setpriv'] });
  if (lacking !== false) return lacking;
  const ran = spawnSync('setpriv', [...IDENTITY, process.execPath, '-e', '']);
  return ran.status === 0 ? false : 'Node cannot be run by other users here';
}

test('a user without an entry: every backend works, or names its reason', { skip: whyNot() }, async () => {
  const directory = mkdtempSync(join(OPEN_TO_ALL, 'tonearm-user-'));
  const port = await freePort();
  const config = join(directory, 'config.yaml');
  cpSync(dirname(ENTRY), join(directory, 'dist'), { recursive: true });
  writeFileSync(
    config,
    `api: {port: ${port}}\n${CONFIG}upgrade: {enabled: true, resultFile: ${directory}/x}\n`,
  );
  chownSync(directory, UID, UID);
  const nowhere = `unix:path=${directory}/no-bus`;
  const buses = { DBUS_SESSION_BUS_ADDRESS: nowhere, DBUS_SYSTEM_BUS_ADDRESS: nowhere };
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', XDG_RUNTIME_DIR: directory, ...buses };
  const log = join(directory, 'log');
  const node = [process.execPath, join(directory, 'dist/main.js'), '--config', config];
  const program = startProgram('setpriv', [...IDENTITY, ...node], { env, log });
  try {
    const backends = await until('every backend has a state', async () => {
      const health = (await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as Health;
      const all = Object.values(health.backends);
      return all.every(({ state, detail }) => state === 'up' || detail !== undefined) && health.backends;
    }).catch((cause: unknown) => {
      throw new Error(`the daemon said:\n${readFileSync(log, 'utf8')}`, { cause });
    });
    const states = Object.entries(backends).map(
      ([name, { state, restarts }]) => `${name} ${state} ${restarts}`,
    );
    assert.deepEqual(states, [
      'audio connecting 0',
      'systemd connecting 0',
      'power connecting 0',
      'upgrade up 0',
    ]);
  } finally {
    await program.end();
    rmSync(directory, { recursive: true, force: true });
  }
});
