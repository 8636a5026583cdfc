// Tests the progress socket over real connections: lines, floods, scripts that die, and the file at its
// path.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { ProgressSocket, type SocketOwner } from '../../../src/actors/upgrade/progress-socket.js';
import { type Clock, systemClock } from '../../../src/host/clock.js';
import { ManualClock } from '../../manual-clock.js';
import { temporaryFolder } from '../../temporary-folder.js';
import { until } from '../../until.js';

const BEGIN = '{"event":"begin","total":1}';
const END = '{"event":"end","success":true}';

/** The number of sockets at this path. Sockets whose file was removed count, too. */
const countSocketsAt = (path: string): number =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(` ${path}`)).length;

const newPath = (t: TestContext) => join(temporaryFolder(t), 'tonearm', 'upgrade.sock');

async function startListening(t: TestContext, path = newPath(t), clock: Clock = systemClock) {
  const listener = { path, lines: [] as string[], connections: 0, problem: undefined as string | undefined };
  const owner: SocketOwner = {
    onLine: async ({ text }) => void listener.lines.push(text),
    onConnections: (connections) => {
      listener.connections = connections;
    },
    onProblem: (problem) => {
      listener.problem = problem;
    },
  };
  const socket = new ProgressSocket(path, owner, clock);
  t.after(() => socket.stop());
  await socket.attempted;
  return Object.assign(listener, { socket });
}

async function connectTo(t: TestContext, path: string): Promise<Socket> {
  const client = connect({ path });
  t.after(() => client.destroy());
  await once(client, 'connect');
  client.resume();
  return client;
}

/** Sends the text, and waits until the other side has read all of it. */
async function send(t: TestContext, path: string, text: string): Promise<void> {
  const client = await connectTo(t, path);
  client.write(text);
  client.end();
  await once(client, 'close');
}

test('half a line of a script that dies is dropped', async (t) => {
  const listener = await startListening(t);
  await send(t, listener.path, `${BEGIN}\n${BEGIN.slice(0, 10)}`);
  assert.deepEqual(listener.lines, [BEGIN]);
});

/** The daemon reads at most 10 000 lines in a second, so it needs more than a second for this flood. */
const FLOOD_LINES = 15_000;

test('a flood arrives whole and in order, and another connection is read meanwhile', async (t) => {
  const listener = await startListening(t);
  const flood = await connectTo(t, listener.path);
  const floodLines = Array.from(
    { length: FLOOD_LINES },
    (_, index) => `{"event":"progress","percent":0,"current":${index},"step":""}`,
  );
  flood.end(floodLines.map((line) => `${line}\n`).join(''));
  await until('the first line has come', () => listener.lines.length > 0);
  await send(t, listener.path, `${BEGIN}\n`);

  // `position` is the number of lines of the flood that were read before the line of the other connection.
  const position = listener.lines.indexOf(BEGIN);
  assert.ok(position >= 0 && position < FLOOD_LINES - 1, `read after ${position} lines of the flood`);
  await until('all lines have come', () => listener.lines.length === FLOOD_LINES + 1);
  listener.lines.splice(position, 1);
  assert.deepEqual(listener.lines, floodLines);
});

test('at most 10 000 lines are read in a second, and further lines in the next second', async (t) => {
  const clock = new ManualClock();
  const listener = await startListening(t, undefined, clock);
  const flood = await connectTo(t, listener.path);
  flood.end(`${BEGIN}\n`.repeat(10_001));
  await until('the socket waits for the next second', () => clock.timers === 1);
  assert.equal(listener.lines.length, 10_000);
  clock.advance(1_000);
  await until('the last line has come', () => listener.lines.length === 10_001);
});

test('200 connections at once, beside a silent one, lose no line', async (t) => {
  const listener = await startListening(t);
  // This connection sends nothing, and must not keep the others waiting.
  await connectTo(t, listener.path);
  const lines = Array.from({ length: 200 }, (_, index) => `{"event":"begin","total":${index}}`);
  // The last line of a connection counts, too, although it has no LF.
  await Promise.all(lines.map((line) => send(t, listener.path, `${line}\n${line}`)));
  const expected = lines.flatMap((line) => [line, line]);
  assert.deepEqual(listener.lines.sort(), expected.sort());
});

/** How many connections may be open (progress-socket.ts). */
const CONNECTIONS_MAX = 256;

test('while 256 connections are open, another one is closed, and the problem is reported until a connection ends', async (t) => {
  const listener = await startListening(t);
  const clients: Socket[] = [];
  for (let count = 0; count < CONNECTIONS_MAX; count++) clients.push(await connectTo(t, listener.path));
  await until('all connections are open', () => listener.connections === CONNECTIONS_MAX);
  await once(await connectTo(t, listener.path), 'close');
  assert.match(listener.problem ?? '', /too many/);

  clients[0]?.destroy();
  await until('one connection has ended', () => listener.connections === CONNECTIONS_MAX - 1);
  assert.equal(listener.problem, undefined);
  await send(t, listener.path, `${END}\n`);
  assert.deepEqual(listener.lines, [END]);
});

test('no other user may use the socket, and no file is left when the socket has stopped', async (t) => {
  const listener = await startListening(t);
  const directory = join(listener.path, '..');
  assert.equal(statSync(listener.path).mode & 0o777, 0o600);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(directory), ['upgrade.sock']);

  await listener.socket.stop();
  assert.deepEqual(readdirSync(directory), []);
});

test('if the file of a new socket is removed before its mode is set, the socket is closed, and another one is made', async (t) => {
  const path = newPath(t);
  const opening = startListening(t, path);
  // The constructor has made the socket, but has not set its mode.
  rmSync(path);
  const listener = await opening;
  await until('another socket listens', () => listener.problem === undefined && statSync(path).isSocket());
  assert.equal(countSocketsAt(path), 1);
});

test('the daemon makes its own directory private, and does not change a directory with another name', async (t) => {
  const root = temporaryFolder(t);
  for (const [name, expectedMode] of Object.entries({ tonearm: 0o700, shared: 0o755 })) {
    mkdirSync(join(root, name));
    chmodSync(join(root, name), 0o755);
    await startListening(t, join(root, name, 'upgrade.sock'));
    assert.equal(statSync(join(root, name)).mode & 0o777, expectedMode);
  }
});

/** Makes a socket file at which nobody listens, as after the SIGKILL of a daemon. Returns its path. */
async function makeStaleSocket(t: TestContext): Promise<string> {
  const path = join(temporaryFolder(t), 'socket');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.bound`, resolve));
  // A server that closes removes the file at the path of its `listen`. The renamed file stays.
  renameSync(`${path}.bound`, path);
  await new Promise((resolve) => server.close(resolve));
  return path;
}

test('a second daemon does not take over the path of a socket before the first daemon has ended', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  const first = await startListening(t, path);
  const second = await startListening(t, path);
  assert.match(second.problem ?? '', /another process/);
  await send(t, path, `${BEGIN}\n`);
  assert.deepEqual([first.lines.length, second.lines.length], [1, 0]);

  await first.socket.stop();
  await until('the second daemon listens', () => second.problem === undefined);
  await send(t, path, `${BEGIN}\n`);
  assert.deepEqual([first.lines.length, second.lines.length], [1, 1]);
});

test('if several daemons start at once at the path of a stale socket, exactly one of them listens', async (t) => {
  const path = await makeStaleSocket(t);
  const daemons = await Promise.all(Array.from({ length: 8 }, () => startListening(t, path)));
  assert.equal(daemons.filter(({ problem }) => problem === undefined).length, 1);
});

test('a file that is no socket stays in its place', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  const content = 'precious';
  writeFileSync(path, content);
  const listener = await startListening(t, path);
  assert.match(listener.problem ?? '', /not a socket/);
  assert.equal(statSync(path).size, content.length);
});

test('a link in the place of the socket stays, and is not followed', async (t) => {
  const root = temporaryFolder(t);
  const path = join(root, 'socket');
  symlinkSync(join(root, 'other'), path);
  const listener = await startListening(t, path);
  assert.match(listener.problem ?? '', /not a socket/);
  await listener.socket.stop();
  assert.deepEqual(readdirSync(root), ['socket']);
});

test('the socket is made again each time its directory is removed', async (t) => {
  const listener = await startListening(t);
  for (let round = 1; round <= 3; round++) {
    rmSync(join(listener.path, '..'), { recursive: true });
    await until('the socket is back', () => statSync(listener.path, { throwIfNoEntry: false }) !== undefined);
    await send(t, listener.path, `${BEGIN}\n`);
    assert.equal(listener.lines.length, round);
  }
});
