// The built daemon on a machine whose hostname changes while the daemon runs (docs/http-api.md, "Host and
// Origin"), whose descriptors are few, and whose user database has no entry for the user of the daemon.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { RawConnection } from '../gateway/raw-connection.js';
import { startProgram } from '../sound/program.js';
import { freePort } from '../tools/free-port.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { Daemon, ENTRY, type Health, NO_BACKENDS } from './daemon.js';

const skip = skipReason({ programs: ['unshare', 'nsenter', 'hostname'], root: true });

test('a renamed node answers to its new hostname instead of the old one, and /server has the new one', {
  skip,
}, async (t) => {
  const daemon = await Daemon.start({ config: NO_BACKENDS, launcher: ['unshare', '--uts'] }, t);
  const status = async (host: string): Promise<number> =>
    (await daemon.get('/health', { Host: host })).status;
  // The node never had the name `node-none`. It has the name `node-a` until it gets the name `node-b`.
  const changes = [
    ['node-none', 'node-a'],
    ['node-a', 'node-b'],
  ] as const;
  for (const [refusedName, newName] of changes) {
    execFileSync('nsenter', ['--target', String(daemon.pid), '--uts', 'hostname', newName]);
    assert.equal(await status(newName), 200);
    assert.equal(await status(`${newName}.local:${daemon.port}`), 200);
    assert.equal(await status(refusedName), 403);
    assert.equal((await daemon.read<{ readonly hostname: string }>('/server')).hostname, newName);
  }
});

const DESCRIPTORS = 100;

test('a daemon with few descriptors closes connections without a request, and keeps its stream', {
  skip: skipReason({ programs: ['prlimit'] }),
}, async (t) => {
  const launcher = ['prlimit', `--nofile=${DESCRIPTORS}`];
  const daemon = await Daemon.start({ config: NO_BACKENDS, launcher }, t);
  const stream = new RawConnection(daemon.port).write('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
  await stream.until((text) => text.includes('connected'));
  const crowd = Array.from({ length: 2 * DESCRIPTORS }, () => new RawConnection(daemon.port));
  // The daemon closes the oldest connections without a request first, so the older half closes earlier.
  const newerHalf = crowd.slice(DESCRIPTORS);
  await Promise.all(newerHalf.map((connection) => connection.untilClosed()));
  assert.ok(readdirSync(`/proc/${daemon.pid}/fd`).length < DESCRIPTORS);
  for (const connection of crowd) connection.destroy();
  await daemon.untilStreamsOpen(1);
  stream.destroy();
  await daemon.untilStreamsOpen(0);
  assert.equal(daemon.log.match(/too many connections/g)?.length, 1, daemon.log);
});

const UID = 54_321;
/** The daemon's user may have no access to the checkout, or to the directory that $TMPDIR names. */
const OPEN_TO_ALL = '/tmp';
const CONFIG = 'systemd: {system: [a.service], user: [b.service]}\npower: {enabled: true}\n';
const IDENTITY = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups'];

function reasonToSkip(): string | false {
  const lacking = skipReason({ root: true, programs: ['setpriv'] });
  if (lacking !== false) return lacking;
  const ran = spawnSync('setpriv', [...IDENTITY, process.execPath, '-e', '']);
  return ran.status === 0 ? false : 'Node cannot be run by other users here';
}

test('every backend is up or connecting, although the user database has no entry for the user', {
  skip: reasonToSkip(),
}, async () => {
  const directory = mkdtempSync(join(OPEN_TO_ALL, 'tonearm-user-'));
  const port = await freePort();
  const config = join(directory, 'config.yaml');
  cpSync(dirname(ENTRY), join(directory, 'dist'), { recursive: true });
  const upgrade = `upgrade: {enabled: true, resultFile: ${directory}/x}\n`;
  writeFileSync(config, `api: {port: ${port}}\n${CONFIG}${upgrade}`);
  chownSync(directory, UID, UID);
  const nowhere = `unix:path=${directory}/no-bus`;
  const buses = { DBUS_SESSION_BUS_ADDRESS: nowhere, DBUS_SYSTEM_BUS_ADDRESS: nowhere };
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', XDG_RUNTIME_DIR: directory, ...buses };
  const log = join(directory, 'log');
  const node = [process.execPath, join(directory, 'dist/main.js'), '--config', config];
  const program = startProgram('setpriv', [...IDENTITY, ...node], { env, log });
  const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
  try {
    const backends = await until('every backend has reported its state', async () => {
      // The backend `power` starts at its first request, and counts as up before
      // (docs/http-api.md, "Backends that are away"). It answers 503, because it finds no bus.
      const power = await get('/power/');
      const health = (await (await get('/health')).json()) as Health;
      const states = Object.values(health.backends);
      const haveReported = states.every(({ detail = '' }) => !detail.endsWith('has not reported yet'));
      return power.status === 503 && haveReported && health.backends;
    }).catch((cause: unknown) => {
      throw new Error(`the log of the daemon:\n${readFileSync(log, 'utf8')}`, { cause });
    });
    const states = Object.entries(backends).map(
      ([name, { state, restarts }]) => `${name} ${state} ${restarts}`,
    );
    // Each entry has a number of restarts. Only `upgrade` needs neither a sound server nor a bus.
    assert.equal(states.join(), 'audio connecting 0,systemd connecting 0,power connecting 0,upgrade up 0');
  } finally {
    await program.end();
    rmSync(directory, { recursive: true, force: true });
  }
});
