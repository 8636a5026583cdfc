// `npm start` where there is no sound server: the daemon gets a private one, and nothing of it is left.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../sound/until.js';
import { lacks } from './requirements.js';

const START = fileURLToPath(new URL('../../../packaging/start.mjs', import.meta.url));
const skip = lacks({ programs: ['pulseaudio', 'pactl', 'pacat'] });

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

interface Started {
  readonly process: ChildProcess;
  readonly port: number;
  /** Everything printed so far. */
  printed(): string;
  /** Exit status and signal. */
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
  /** Names in its directory for temporary files. */
  left(): readonly string[];
}

/** Runs it in an empty home and runtime directory, with every other backend off. */
async function start(t: TestContext, ...args: readonly string[]): Promise<Started> {
  const home = mkdtempSync(join(tmpdir(), 'tonearm-home-'));
  const temporary = join(home, 'tmp');
  mkdirSync(temporary);
  const port = await freePort();
  const config = join(home, 'config.yaml');
  writeFileSync(config, `api: { port: ${port} }\nsystemd: { enabled: false }\n`);
  const process_ = spawn(process.execPath, [START, '--config', config, ...args], {
    env: { PATH: process.env['PATH'], HOME: home, XDG_RUNTIME_DIR: home, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [process_.stdout, process_.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) => {
    process_.once('close', (code, signal) => resolve([code, signal]));
  });
  t.after(async () => {
    process_.kill('SIGKILL');
    await ended;
    rmSync(home, { recursive: true });
  });
  return { process: process_, port, printed: () => printed, ended, left: () => readdirSync(temporary) };
}

/** Names of the records of a list; undefined while the daemon answers otherwise. */
async function namesAt(port: number, path: string): Promise<readonly string[] | undefined> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  if (answer.status !== 200) return undefined;
  const records: readonly { readonly name: string }[] = JSON.parse(await answer.text());
  return records.map(({ name }) => name);
}

describe('npm start without a sound server', { skip, concurrency: 2 }, () => {
  test('gives the daemon a private one, says so in one line, and takes it down on SIGTERM', async (t) => {
    const started = await start(t);
    const outputs = await until('the outputs are shown', () => namesAt(started.port, '/audio/outputs'));
    assert.deepEqual(outputs, ['living', 'kitchen']);
    await until('the stream is shown', async () => {
      const clients = await namesAt(started.port, '/audio/clients');
      return clients?.join() === 'Morning show';
    });
    const said = started.printed().split('\n');
    assert.equal(said.filter((line) => line.includes('no sound server can be reached')).length, 1);
    assert.match(started.printed(), new RegExp(`curl -s localhost:${started.port}/audio`));
    started.process.kill('SIGTERM');
    assert.deepEqual(await started.ended, [0, null]);
    assert.deepEqual(started.left(), []);
  });

  test("passes the daemon's exit status on, and leaves nothing behind then either", async (t) => {
    const started = await start(t, '--no-such-argument');
    const [status] = await started.ended;
    assert.ok(status !== null && status > 0, started.printed());
    assert.deepEqual(started.left(), []);
  });

  test('starts no sound server to print the version', async (t) => {
    const started = await start(t, '--version');
    assert.deepEqual(await started.ended, [0, null]);
    assert.doesNotMatch(started.printed(), /sound server/);
  });
});
