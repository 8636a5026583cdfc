// `tonearm trace` leaves nothing behind, however it ends, and passes on how its command ended. The tests of
// protocol/pulse/trace have malformed messages.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as wire from '../protocol/pulse/bytes.js';
import type { Environment } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { spawnTrace, startTracer, type Tracer } from './tracer.js';

const TIME_LIMIT = { timeout: 60_000 };

const BLOCK_BYTES = 65_536;
/** If the header of a frame has only zeros, the length of the frame is 0. That is malformed. */
const HEADER_OF_ZEROS = Buffer.alloc(20);
/** A message of a client: GET_SERVER_INFO (20) with the tag 1. */
const MESSAGE = wire.command(20, 1);

interface Peers {
  readonly env: Environment;
  readonly directory: string;
  /** The tracer's connections to the server, in their order. */
  readonly serverSockets: readonly Socket[];
}

/** Starts a server that accepts connections, and reads nothing until the test makes it read. */
async function startPeers(t: TestContext): Promise<Peers> {
  const directory = temporaryFolder(t);
  const serverSockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    serverSockets.push(socket);
  });
  const path = join(directory, 'native');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    server.close();
    for (const socket of serverSockets) socket.destroy();
  });
  const env = { PATH: process.env['PATH'] ?? '', XDG_RUNTIME_DIR: directory, PULSE_SERVER: `unix:${path}` };
  return { env, directory, serverSockets };
}

/** Starts a tracer in front of the server of `startPeers`, and connects one client. */
async function startWithClient(t: TestContext, { env, serverSockets }: Peers, ...args: readonly string[]) {
  const tracer = await startTracer(t, env, ...args);
  const client = connect(tracer.path).on('error', () => client.destroy());
  t.after(() => client.destroy());
  const server = await until('the server is connected', () => serverSockets[0]);
  return { tracer, client, server };
}

/** Resolves when the connection has ended, also after an error. */
const untilClosed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.resume().once('close', resolve));

const untilPrinted = (tracer: Tracer, text: string): Promise<unknown> =>
  until(`the tracer prints ${text}`, () => tracer.out().includes(text));

test('the last line of a connection says how much audio data was not printed', TIME_LIMIT, async (t) => {
  const { tracer, client, server } = await startWithClient(t, await startPeers(t));
  server.resume();
  const block = Buffer.from(wire.framed(Array(BLOCK_BYTES).fill(0x55), { channel: 0 }));
  client.end(Buffer.concat([block, block]));
  server.end();
  await untilPrinted(tracer, `#1 closed; not shown: 2 blocks of audio data, ${2 * BLOCK_BYTES} bytes`);
});

test('bytes that are no frame end their connection, and earlier frames pass', TIME_LIMIT, async (t) => {
  const { tracer, client, server } = await startWithClient(t, await startPeers(t));
  const received: Buffer[] = [];
  server.on('data', (chunk) => received.push(chunk));
  const good = Buffer.from(MESSAGE);
  client.write(Buffer.concat([good, HEADER_OF_ZEROS]));
  await untilClosed(server);
  assert.deepEqual(Buffer.concat(received), good);
  await untilPrinted(tracer, '#1 > malformed: a frame of 0 bytes; the connection is ended');
  await untilPrinted(tracer, '#1 closed');
});

test("without a sound server a client's connection is closed, and a line says why", TIME_LIMIT, async (t) => {
  const { env } = await startPeers(t);
  const tracer = await startTracer(t, { ...env, PULSE_SERVER: 'unix:/nowhere/native' });
  await untilClosed(connect(tracer.path));
  await untilPrinted(tracer, '#1 no sound server: connect ENOENT /nowhere/native');
});

const ENDS: readonly (readonly [what: string, end: (tracer: Tracer) => void])[] = [
  ['SIGTERM', ({ child }) => void child.kill('SIGTERM')],
  ['the end of the program that reads the trace', ({ child }) => void child.stdout?.destroy()],
];

for (const [what, end] of ENDS) {
  test(`${what} ends the tracer and its connections, and its socket is gone`, TIME_LIMIT, async (t) => {
    const { tracer, client, server } = await startWithClient(t, await startPeers(t));
    const ends = Promise.all([untilClosed(client), untilClosed(server)]);
    end(tracer);
    // The tracer notices the end of its reader only at the next line.
    client.write(MESSAGE);
    await ends;
    assert.equal(await tracer.ended, 0);
    assert.equal(statSync(tracer.path, { throwIfNoEntry: false }), undefined);
  });
}

const COMMANDS: readonly (readonly [
  what: string,
  command: readonly string[],
  status: number,
  err: RegExp,
])[] = [
  ['its exit status is passed on', ['sh', '-c', 'exit 7'], 7, /^$/],
  ['its output goes to standard error', ['printenv', 'PULSE_SERVER'], 0, /^unix:.*\/tonearm-trace-\d+\n$/],
  ['the signal that ends it is passed on', ['sh', '-c', 'kill -TERM $$'], 143, /^$/],
  ['a missing program gives status 127', ['no-such-program'], 127, /cannot run no-such-program: .*ENOENT\n$/],
  ['a file that is no program gives status 126', ['/etc/passwd'], 126, /cannot run .*EACCES\n$/],
  ['a file in place of a folder gives status 126', ['/etc/passwd/x'], 126, /cannot run .*ENOTDIR\n$/],
];

for (const [what, command, status, err] of COMMANDS) {
  test(`a traced command: ${what}`, TIME_LIMIT, async (t) => {
    const { env, directory } = await startPeers(t);
    const tracer = spawnTrace(t, env, '--', ...command);
    assert.equal(await tracer.ended, status);
    // Only lines of the trace may go to standard output, and these commands connect to no sound server.
    assert.equal(tracer.out(), '');
    assert.match(tracer.err(), err);
    assert.deepEqual(readdirSync(directory), ['native'], 'only the socket of the server is left');
  });
}

test('a capture that fills its disk ends the trace with status 74 and a reason', TIME_LIMIT, async (t) => {
  const peers = await startPeers(t);
  // The trace keeps the bytes of its first client in this file.
  symlinkSync('/dev/full', join(peers.directory, 'cap-1-client.bin'));
  const { tracer, client } = await startWithClient(t, peers, '--raw', join(peers.directory, 'cap'));
  client.write(MESSAGE);
  assert.equal(await tracer.ended, 74);
  assert.match(tracer.err(), /^tonearm: trace: ENOSPC/m);
});

test(
  'tonearm trace ends with status 69 at an address that a client could use, but the trace cannot',
  TIME_LIMIT,
  async (t) => {
    const { env } = await startPeers(t);
    // The address contains a sequence that would clear a terminal, so the message must have it escaped.
    const tracer = spawnTrace(t, { ...env, PULSE_SERVER: 'tcp:hifi\u001b[2J' }, '--', 'true');
    assert.equal(await tracer.ended, 69);
    assert.equal(
      tracer.err(),
      'tonearm: trace: PULSE_SERVER is tcp:hifi\\u{1b}[2J: tonearm speaks to a Unix socket only\n',
    );
  },
);

/**
 * Paths within the folder of `startPeers`. None of them is a folder, so no socket can be made there. The
 * test itself writes `capture.json`, the earlier capture.
 */
const UNUSABLE_FOLDERS = [
  ['does not exist', 'missing'],
  ['is a file', 'capture.json'],
] as const;

for (const [what, folder] of UNUSABLE_FOLDERS) {
  test(`a capture is not overwritten if the folder of the socket ${what}`, TIME_LIMIT, async (t) => {
    const { env, directory } = await startPeers(t);
    // A trace that can listen would write its list of captured files to this path.
    const capture = join(directory, 'capture.json');
    writeFileSync(capture, 'earlier');
    const variables = {
      ...env,
      XDG_RUNTIME_DIR: join(directory, folder),
      // No client connects to this trace, so it needs no sound server.
      PULSE_SERVER: 'unix:/nowhere/native',
    };
    const tracer = spawnTrace(t, variables, '--raw', capture, '--', 'true');
    assert.equal(await tracer.ended, 69);
    assert.equal(readFileSync(capture, 'utf8'), 'earlier');
  });
}
