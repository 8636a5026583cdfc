// The progress socket over real connections: lines, floods, deaths, and the place where it lies.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ProgressSocket, type Source } from '../../../src/actors/upgrade/progress-socket.js';
import { waitFor } from '../../node/wait-for.js';

const BEGIN = '{"event":"begin","total":1}';
const DEADLINE_MS = 10_000;

interface Heard {
  readonly path: string;
  readonly socket: ProgressSocket;
  readonly lines: string[];
  readonly sources: Set<Source>;
  connections: number;
  problem: string | undefined;
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-progress-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

async function listen(
  t: TestContext,
  path = join(temporary(t), 'tonearm', 'upgrade.sock'),
  lookMs?: number,
): Promise<Heard> {
  const heard: Omit<Heard, 'socket'> = {
    path,
    lines: [],
    sources: new Set(),
    connections: 0,
    problem: undefined,
  };
  const socket = new ProgressSocket(
    path,
    {
      line: ({ text }, source) => {
        heard.lines.push(text);
        heard.sources.add(source);
      },
      connections: (count) => {
        heard.connections = count;
      },
      problem: (problem) => {
        heard.problem = problem;
      },
    },
    lookMs,
  );
  t.after(() => socket.stop());
  await socket.placed();
  return Object.assign(heard, { socket });
}

async function dial(t: TestContext, path: string): Promise<Socket> {
  const socket = connect({ path });
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  socket.resume();
  return socket;
}

/** Sends all and waits until the other side has read it to its end. */
async function send(t: TestContext, path: string, ...parts: readonly (string | Uint8Array)[]): Promise<void> {
  const socket = await dial(t, path);
  for (const part of parts) socket.write(part);
  socket.end();
  await once(socket, 'close');
}

const until = (what: string, holds: () => boolean) =>
  waitFor(what, DEADLINE_MS, () => (holds() ? true : undefined));

test('lines arrive from many connections at once, and from one per line', async (t) => {
  const heard = await listen(t);
  const open = await Promise.all(Array.from({ length: 20 }, () => dial(t, heard.path)));
  for (const socket of open) socket.write(`${BEGIN}\n`);
  await until('all lines', () => heard.lines.length === 20);
  assert.equal(heard.sources.size, 20);
  assert.equal(heard.connections, 20);
  for (const socket of open) socket.end();
  await until('all to leave', () => heard.connections === 0);
  for (let n = 0; n < 5; n++) await send(t, heard.path, `${BEGIN}\n`);
  assert.equal(heard.lines.length, 25);
});

test('halves are joined, CR is cut, a last line needs no end, and garbage is dropped', async (t) => {
  const heard = await listen(t);
  const socket = await dial(t, heard.path);
  socket.write('{"event":"begin",');
  await until('the connection', () => heard.connections === 1);
  socket.write(`"total":1}\r\nnonsense\n${'x'.repeat(200_000)}\n`);
  socket.write(Uint8Array.of(0xff, 0xfe, 0x0a));
  socket.end(`${BEGIN}\n${BEGIN}`);
  await until('three lines', () => heard.lines.length === 3);
  assert.deepEqual(heard.lines, [BEGIN, BEGIN, BEGIN]);
});

test('half a line of a script that dies is nothing', async (t) => {
  const heard = await listen(t);
  await send(t, heard.path, `${BEGIN}\n${BEGIN.slice(0, 10)}`);
  assert.deepEqual(heard.lines, [BEGIN]);
});

test('a flood arrives whole and in order, and another connection is heard meanwhile', async (t) => {
  const heard = await listen(t);
  const flood = await dial(t, heard.path);
  const line = (n: number) => `{"event":"progress","percent":0,"current":${n},"step":""}`;
  flood.end(Array.from({ length: 10_000 }, (_, n) => `${line(n)}\n`).join(''));
  await until('the first line', () => heard.lines.length > 0);
  await send(t, heard.path, `${BEGIN}\n`);
  const at = heard.lines.indexOf(BEGIN);
  assert.ok(at >= 0 && at < 9_999, `heard behind ${at} lines`);
  await until('all lines', () => heard.lines.length === 10_001);
  heard.lines.splice(at, 1);
  assert.deepEqual(
    heard.lines,
    Array.from({ length: 10_000 }, (_, n) => line(n)),
  );
});

test('too many connections: the oldest gives way, and the newest is heard', async (t) => {
  const heard = await listen(t);
  const first = await dial(t, heard.path);
  const gone = once(first, 'close');
  for (let n = 0; n < 64; n++) await dial(t, heard.path);
  await gone;
  await send(t, heard.path, `${BEGIN}\n`);
  assert.deepEqual(heard.lines, [BEGIN]);
});

test('it is closed to others, and leaves nothing', async (t) => {
  const heard = await listen(t);
  const directory = join(heard.path, '..');
  assert.equal(statSync(heard.path).mode & 0o777, 0o600);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(directory), ['upgrade.sock']);
  await heard.socket.stop();
  assert.deepEqual(readdirSync(directory), []);
});

test('its own directory is closed when it was open; one of another name is left alone', async (t) => {
  const root = temporary(t);
  for (const [name, mode] of [
    ['tonearm', 0o700],
    ['shared', 0o755],
  ] as const) {
    mkdirSync(join(root, name));
    chmodSync(join(root, name), 0o755);
    await listen(t, join(root, name, 'upgrade.sock'));
    assert.equal(statSync(join(root, name)).mode & 0o777, mode);
  }
});

test('a stale socket is replaced', async (t) => {
  const path = join(temporary(t), 's');
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(`${path}.bound`, resolve));
  // Under another name, so that closing does not remove it: as after a SIGKILL.
  renameSync(`${path}.bound`, path);
  await new Promise((resolve) => dead.close(resolve));
  const heard = await listen(t, path);
  assert.equal(heard.problem, undefined);
  await send(t, path, `${BEGIN}\n`);
  assert.deepEqual(heard.lines, [BEGIN]);
});

test('a living one is not stolen, and its place is taken once it is free', async (t) => {
  const path = join(temporary(t), 's');
  const first = await listen(t, path);
  const second = await listen(t, path, 20);
  assert.match(second.problem ?? '', /another process/);
  await send(t, path, `${BEGIN}\n`);
  assert.deepEqual([first.lines.length, second.lines.length], [1, 0]);
  await first.socket.stop();
  await until('the second to listen', () => second.problem === undefined);
  await send(t, path, `${BEGIN}\n`);
  assert.deepEqual([first.lines.length, second.lines.length], [1, 1]);
});

test('of many that start at once over a stale socket one listens', async (t) => {
  const path = join(temporary(t), 's');
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(`${path}.bound`, resolve));
  renameSync(`${path}.bound`, path);
  await new Promise((resolve) => dead.close(resolve));
  const all = await Promise.all(Array.from({ length: 8 }, () => listen(t, path)));
  assert.equal(all.filter(({ problem }) => problem === undefined).length, 1);
});

test('a file that is no socket stays', async (t) => {
  const path = join(temporary(t), 's');
  writeFileSync(path, 'precious');
  const heard = await listen(t, path);
  assert.match(heard.problem ?? '', /not a socket/);
  assert.equal(statSync(path).size, 8);
});

test('a socket whose file was removed comes back', async (t) => {
  const heard = await listen(t, undefined, 20);
  rmSync(join(heard.path, '..'), { recursive: true });
  await until('the socket', () => statSync(heard.path, { throwIfNoEntry: false }) !== undefined);
  await send(t, heard.path, `${BEGIN}\n`);
  assert.deepEqual(heard.lines, [BEGIN]);
});
