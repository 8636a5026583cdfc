// `tonearm trace` between peers unlike any real program: malformed frames are shown and end their connection, a slow side slows the other one and costs
// no memory, and a trace leaves nothing behind, however it ends.

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

/** Resolves with the received bytes as soon as there are `count` of them. */
async function bytesFrom(socket: Socket, count: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  socket.on('data', (piece: Buffer) => {
    pieces.push(piece);
    length += piece.length;
  });
  await until(`${count} bytes have come`, () => length >= count);
  return Buffer.concat(pieces);
}

const hasSaid = (tracer: Tracer, text: string): Promise<true> =>
  until(`the tracer prints ${text}`, () => tracer.out().includes(text) || undefined);

const auth = wire.command(8, 0, wire.u32(35), wire.blob(Array.from({ length: 256 }, (_, at) => at)));
/** The bytes that are sent, what is shown of them, and whether the connection outlives them. */
const CASES: readonly (readonly [string, Uint8Array, string, boolean])[] = [
  ['17 MiB', wire.framed([1, 2, 3], { length: 17 * MIB }), 'a frame of 17825792 bytes', false],
  ['values that are none', wire.framed([...wire.u32(200), ...wire.u32(1), 0xfe]), 'byte 0xfe', true],
];

for (const from of ['client', 'server'] as const) {
  test(`malformed bytes of a ${from} are shown, byte by byte too`, BOUNDED, async (t) => {
    const between = await peers(t);
    const tracer = await trace(t, { env: between.env });
    for (const [index, [what, bad, told, passes]] of CASES.entries()) {
      const [client, server] = await joined(t, tracer, between);
      const [speaker, subscriber] = from === 'client' ? [client, server] : [server, client];
      const expected = Buffer.concat(passes ? [auth, bad] : [auth]);
      const heard = bytesFrom(subscriber, expected.length);
      for (const byte of Buffer.concat([auth, bad])) speaker.write(Uint8Array.of(byte));
      assert.deepEqual(await heard, expected, what);
      await hasSaid(tracer, `#${index + 1} ${from === 'client' ? '>' : '<'}`);
      await hasSaid(tracer, told);
      if (passes) speaker.destroy();
      await hasSaid(tracer, `#${index + 1} closed`);
    }
    assert.equal(tracer.child.exitCode, null);
  });
}

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

test('too many clients are refused', BOUNDED, async (t) => {
  const between = await peers(t);
  const tracer = await trace(t, { env: between.env });
  for (let number = 1; number <= 64; number += 1) await joined(t, tracer, between);
  const refused = connect(tracer.path).on('error', () => refused.destroy());
  await new Promise((resolve) => refused.resume().once('close', resolve));
  await hasSaid(tracer, '#65 refused: 64 clients are connected already');
});

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

test('a signal is passed to the command, which may end as it likes', BOUNDED, async (t) => {
  const { env } = await peers(t);
  const script = 'trap "echo got; exit 5" TERM; echo ready; while :; do sleep 0.1; done';
  const tracer = await trace(t, { env, args: ['--', 'sh', '-c', script] });
  await until('the command runs', () => tracer.err().includes('ready'));
  tracer.child.kill('SIGTERM');
  assert.equal(await tracer.ended, 5);
  assert.match(tracer.err(), /got/);
});

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
