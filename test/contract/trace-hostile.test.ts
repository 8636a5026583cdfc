// `tonearm trace` between peers unlike any real program: a slow side slows the other one and costs no memory, and a
// trace leaves nothing behind, however it ends. Malformed bytes: protocol/pulse/trace.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as wire from '../protocol/pulse/bytes.js';
import type { Environment } from '../sound/program.js';
import { until } from '../until.js';
import { type Tracer, type TracerOptions, trace } from './tracer.js';

const DEADLINE_MS = 60_000;
const BOUNDED = { timeout: DEADLINE_MS };
const MIB = 1 << 20;
/** The amount that is sent to a side that does not read; a trace that kept it would need as much memory more. */
const FLOOD_BYTES = 96 * MIB;
const MEMORY_MAX_BYTES = 160 * MIB;
/** The number of polls of `until` without progress that counts as a standstill. */
const STILL_POLLS = 20;

interface Peers {
  readonly env: Environment;
  readonly directory: string;
  /** The tracer's connections to the server, in their order. */
  readonly servers: readonly Socket[];
}

/** A server that accepts connections, and reads nothing until the test makes it. */
async function peers(t: TestContext): Promise<Peers> {
  const directory = mkdtempSync(join(tmpdir(), 'tonearm-trace-'));
  const servers: Socket[] = [];
  const server = createServer((socket) => servers.push(socket.on('error', () => socket.destroy())));
  const path = join(directory, 'native');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => {
    server.close();
    for (const socket of servers) socket.destroy();
    rmSync(directory, { recursive: true, force: true });
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
async function joinedTracer(t: TestContext, options: Omit<TracerOptions, 'env'> = {}) {
  const between = await peers(t);
  const tracer = await trace(t, { env: between.env, ...options });
  const [client, server] = await joined(t, tracer, between);
  return { tracer, client, server };
}

const hasSaid = (tracer: Tracer, text: string): Promise<true> =>
  until(`the tracer prints ${text}`, () => tracer.out().includes(text) || undefined);

/** The most memory that the process has ever held. */
function mostMemoryBytes(tracer: Tracer): number {
  const status = readFileSync(`/proc/${tracer.child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
}

/** Writes one piece after another until none is accepted any more; resolves with the number of accepted bytes. */
async function floods(socket: Socket, piece: Buffer): Promise<number> {
  let taken = 0;
  const next = (): void => {
    if (taken < FLOOD_BYTES) {
      socket.write(piece, () => {
        taken += piece.length;
        next();
      });
    }
  };
  next();
  let still = 0;
  let before = -1;
  return until(
    'nothing more is taken',
    () => {
      still = taken === before ? still + 1 : 0;
      before = taken;
      return still >= STILL_POLLS ? taken : undefined;
    },
    DEADLINE_MS,
  );
}

/** 64 kB of audio data; and a command whose line is six times as long. */
const BLOCK = Buffer.from(wire.framed(Array(65_536).fill(0x55), { channel: 0 }));
const WORDY = Buffer.from(wire.command(200, 1, ...Array(60).fill(wire.text('\u0001'.repeat(4000)))));

for (const from of ['client', 'server'] as const) {
  test(`a side that does not read slows a ${from}, and costs no memory`, BOUNDED, async (t) => {
    const { tracer, client, server } = await joinedTracer(t);
    const [speaker, subscriber] = from === 'client' ? [client, server] : [server, client];
    subscriber.pause();
    const taken = await floods(speaker, BLOCK);
    assert.ok(taken < 8 * MIB, `${taken} bytes were taken`);
    let heard = 0;
    subscriber.on('data', (piece: Buffer) => {
      heard += piece.length;
    });
    subscriber.resume();
    const all = Math.ceil(FLOOD_BYTES / BLOCK.length) * BLOCK.length;
    await until('all bytes have come', () => heard === all, DEADLINE_MS);
    assert.ok(mostMemoryBytes(tracer) < MEMORY_MAX_BYTES, `${mostMemoryBytes(tracer)} bytes`);
    speaker.destroy();
    const blocks = all / BLOCK.length;
    await hasSaid(tracer, `#1 closed; not shown: ${blocks} blocks of audio data, ${blocks * 65_536} bytes`);
  });
}

test('output that is not read slows the clients, and costs no memory', BOUNDED, async (t) => {
  const { tracer, client, server } = await joinedTracer(t, { args: ['--json'], unread: true });
  server.resume();
  const taken = await floods(client, WORDY);
  assert.ok(taken < 8 * MIB, `${taken} bytes were taken`);
  assert.ok(mostMemoryBytes(tracer) < MEMORY_MAX_BYTES, `${mostMemoryBytes(tracer)} bytes`);
  // A signal still ends it.
  tracer.child.kill('SIGTERM');
  await until('the tracer has ended', () => tracer.child.exitCode === 0);
  assert.equal(statSync(tracer.path, { throwIfNoEntry: false }), undefined);
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
