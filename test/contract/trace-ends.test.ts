// `tonearm trace` leaves nothing behind, however it ends, and passes on how its command ended. Malformed messages: protocol/pulse/trace.

import assert from 'node:assert/strict';
import { statSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as wire from '../protocol/pulse/bytes.js';
import type { Environment } from '../sound/program.js';
import { temporaryFolder } from '../temporary-folder.js';
import { until } from '../until.js';
import { type Tracer, type TracerOptions, trace } from './tracer.js';

const DEADLINE_MS = 60_000;
const BOUNDED = { timeout: DEADLINE_MS };

interface Peers {
  readonly env: Environment;
  readonly directory: string;
  /** The tracer's connections to the server, in their order. */
  readonly servers: readonly Socket[];
}

/** A server that accepts connections, and reads nothing until the test makes it. */
async function peers(t: TestContext): Promise<Peers> {
  const directory = temporaryFolder(t);
  const servers: Socket[] = [];
  const server = createServer((socket) => servers.push(socket.on('error', () => socket.destroy())));
  const path = join(directory, 'native');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    server.close();
    for (const socket of servers) socket.destroy();
  });
  const env = { PATH: process.env['PATH'] ?? '', XDG_RUNTIME_DIR: directory, PULSE_SERVER: `unix:${path}` };
  return { env, directory, servers };
}

/** A client of the tracer, and the server's side of it. */
async function joined(
  t: TestContext,
  { path }: Tracer,
  { servers }: Peers,
): Promise<readonly [Socket, Socket]> {
  const before = servers.length;
  const client = connect(path).on('error', () => client.destroy());
  t.after(() => client.destroy());
  const server = await until('the server is connected', () => servers[before]);
  return [client, server];
}

/** A tracer between such peers, with one client. */
async function joinedTracer(t: TestContext) {
  const between = await peers(t);
  const tracer = await trace(t, { env: between.env });
  const [client, server] = await joined(t, tracer, between);
  return { tracer, client, server };
}

const hasSaid = (tracer: Tracer, text: string): Promise<true> =>
  until(`the tracer prints ${text}`, () => tracer.out().includes(text) || undefined);

test('audio data without lines is counted at the end of its connection', BOUNDED, async (t) => {
  const { tracer, client, server } = await joinedTracer(t);
  server.resume();
  const block = Buffer.from(wire.framed(Array(65_536).fill(0x55), { channel: 0 }));
  client.end(Buffer.concat([block, block]));
  server.end();
  await hasSaid(tracer, '#1 closed; not shown: 2 blocks of audio data, 131072 bytes');
});

test('bytes that are no frame end their connection, after what came before them', BOUNDED, async (t) => {
  const { tracer, client, server } = await joinedTracer(t);
  const received: Buffer[] = [];
  const closed = new Promise((resolve) =>
    server.on('data', (chunk) => received.push(chunk)).once('close', resolve),
  );
  const good = Buffer.from(wire.command(20, 1));
  client.write(Buffer.concat([good, Buffer.alloc(20)]));
  await closed;
  assert.deepEqual(Buffer.concat(received), good);
  await hasSaid(tracer, '#1 > malformed: a frame of 0 bytes; the connection is ended');
  await hasSaid(tracer, '#1 closed');
});

test(
  "without a sound server the client's connection is closed, and a line names the reason",
  BOUNDED,
  async (t) => {
    const { env } = await peers(t);
    const tracer = await trace(t, { env: { ...env, PULSE_SERVER: 'unix:/nowhere/native' } });
    const client = connect(tracer.path);
    await new Promise((resolve) => client.resume().once('close', resolve));
    await hasSaid(tracer, '#1 no sound server: connect ENOENT /nowhere/native');
  },
);

const ENDS: readonly (readonly [string, (tracer: Tracer) => void])[] = [
  ['SIGTERM', ({ child }) => void child.kill('SIGTERM')],
  ['the end of whoever reads', ({ child }) => void child.stdout?.destroy()],
];

for (const [what, end] of ENDS) {
  test(`${what} ends the tracer and its connections, and its socket is gone`, BOUNDED, async (t) => {
    const { tracer, client, server } = await joinedTracer(t);
    const closed = Promise.all(
      [client, server].map((side) => new Promise((resolve) => side.resume().once('close', resolve))),
    );
    end(tracer);
    // The tracer notices the end of its reader only at the next line.
    client.write(wire.command(20, 1));
    await closed;
    assert.equal(await tracer.ended, 0);
    assert.equal(statSync(tracer.path, { throwIfNoEntry: false }), undefined);
  });
}

async function ran(t: TestContext, options: TracerOptions) {
  const tracer = await trace(t, options);
  const status = await tracer.ended;
  return { status, out: tracer.out(), err: tracer.err() };
}

const COMMANDS: readonly (readonly [string, readonly string[], number, RegExp])[] = [
  ['its exit status is passed on', ['sh', '-c', 'exit 7'], 7, /^$/],
  [
    'its output goes to standard error',
    ['sh', '-c', 'echo $PULSE_SERVER'],
    0,
    /^unix:.*\/tonearm-trace-\d+\n$/,
  ],
  ['the signal that ends it is passed on', ['sh', '-c', 'kill -TERM $$'], 143, /^$/],
  ['a missing program is exit 127', ['no-such-program'], 127, /cannot run no-such-program: .*ENOENT\n$/],
];

for (const [what, command, status, err] of COMMANDS) {
  test(`a traced command: ${what}`, BOUNDED, async (t) => {
    const { env, directory } = await peers(t);
    const result = await ran(t, { env, args: ['--', ...command] });
    assert.deepEqual([result.status, result.out], [status, '']);
    assert.match(result.err, err);
    assert.equal(statSync(join(directory, 'tonearm-trace'), { throwIfNoEntry: false }), undefined);
  });
}

test('a capture that fills its disk ends the trace with a reason', BOUNDED, async (t) => {
  const between = await peers(t);
  symlinkSync('/dev/full', join(between.directory, 'cap-1-client.bin'));
  const tracer = await trace(t, { env: between.env, args: ['--raw', join(between.directory, 'cap')] });
  const [client] = await joined(t, tracer, between);
  client.write(wire.command(20, 1));
  assert.equal(await tracer.ended, 74);
  assert.match(tracer.err(), /^tonearm: trace: ENOSPC/m);
});

test('an address that the program would use, and the trace could not, is exit 69', BOUNDED, async (t) => {
  const { env } = await peers(t);
  const elsewhere = { ...env, PULSE_SERVER: 'tcp:127.0.0.1:4713' };
  const { status, err } = await ran(t, { env: elsewhere, args: ['--', 'true'] });
  assert.equal(status, 69);
  assert.match(err, /^tonearm: trace: PULSE_SERVER is tcp:127\.0\.0\.1:4713: only /);
});
