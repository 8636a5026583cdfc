// More signals than an actor can handle at once: replies go first, no signal is lost, and few of them wait.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Bus } from '../../../src/actors/bus/bus.js';
import { BUS_METHODS } from '../../../src/protocol/dbus/daemon.js';
import { until } from '../../until.js';
import { NotingOwner } from './noting-owner.js';
import { reply, scriptedBus, signal } from './scripted-bus.js';

const SENDER = ':1.9';
/** The bound is that of src/actors/bus/signal-portions.ts. */
const WAITING_MAX_BYTES = 1 << 20;
/** A message's header is not counted. */
const SIGNAL_BYTES = signal(SENDER, 'a.b', 'Flood', 'u', 0).length - 16;
/** A busy machine takes seconds to read the flood. */
const CALL_DEADLINE_MS = 60_000;
const WAITING_MAX_SIGNALS = Math.ceil(WAITING_MAX_BYTES / SIGNAL_BYTES);

/** Starts a bus that answers GetNameOwner with `count` numbered signals and then the reply, all at once. */
async function startFlood(t: TestContext, count: number) {
  const signals = Array.from({ length: count }, (_, number) => signal(SENDER, 'a.b', 'Flood', 'u', number));
  const call = (socket: NodeJS.WritableStream, { serial, text }: { serial: number; text: string }): void => {
    const isQuestion = text.includes('GetNameOwner');
    socket.write(isQuestion ? Buffer.concat([...signals, reply(serial, 's', SENDER)]) : reply(serial));
  };
  const bus = await scriptedBus(() => ({ call }), t);
  const owner = new NotingOwner();
  const limits = { backoffMs: () => 0, callDeadlineMs: CALL_DEADLINE_MS };
  const link = new Bus('units', { paths: bus.paths, ...limits }, owner);
  t.after(() => link.stop());
  await owner.waitForNote(/^up/);
  await link.watch({ sender: SENDER, member: 'Flood' });
  const numbers = (): readonly unknown[] => owner.signals.map(({ values: [number] }) => number);
  return { link, numbers, all: signals.map((_, number) => number) };
}

test('a reply does not wait until the actor has handled the signals before it, and these stay in order', async (t) => {
  const { link, numbers, all } = await startFlood(t, 1_000);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);
  assert.ok(numbers().length < all.length / 2, `${numbers().length} signals were before the reply`);
  await until('all signals have arrived', () => numbers().length === all.length);
  assert.deepEqual(numbers(), all);
});

test('while too many signals wait to be handled the socket is not read, and no signal is lost', async (t) => {
  const { link, numbers, all } = await startFlood(t, 3 * WAITING_MAX_SIGNALS);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);
  assert.ok(
    all.length - numbers().length <= WAITING_MAX_SIGNALS,
    `${numbers().length} were before the reply`,
  );
  await until('all signals have arrived', () => numbers().length === all.length);
  assert.deepEqual(numbers(), all);
});

test('signals that wait to be handled when the connection ends are dropped', async (t) => {
  const { link, numbers, all } = await startFlood(t, 1_000);
  await link.call(BUS_METHODS.getNameOwner, ['a.b']);
  link.stop();
  const before = numbers().length;
  // Without the end of the connection the other signals would arrive in the next turns of the event loop.
  for (let turn = 0; turn < 32; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(numbers().length, before);
  assert.ok(before < all.length);
});
