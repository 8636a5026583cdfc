// More signals than an actor can take: replies go first, nothing is lost, and what waits is bounded.

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

/** A bus that answers GetNameOwner behind so many numbered signals, all at once. */
async function flooded(t: TestContext, count: number) {
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

test('a reply does not wait until the actor has taken the signals before it, and these keep their order', async (t) => {
  const { link, numbers, all } = await flooded(t, 1_000);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);
  assert.ok(numbers().length < all.length / 2, `${numbers().length} signals were before the reply`);
  await until('all signals have arrived', () => numbers().length === all.length);
  assert.deepEqual(numbers(), all);
});

test('while too many signals wait nothing is read, and nothing is lost', async (t) => {
  const { link, numbers, all } = await flooded(t, 3 * WAITING_MAX_SIGNALS);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);
  assert.ok(
    all.length - numbers().length <= WAITING_MAX_SIGNALS,
    `${numbers().length} were before the reply`,
  );
  await until('all signals have arrived', () => numbers().length === all.length);
  assert.deepEqual(numbers(), all);
});

test('signals that wait when the connection is lost are dropped', async (t) => {
  const { link, numbers, all } = await flooded(t, 1_000);
  await link.call(BUS_METHODS.getNameOwner, ['a.b']);
  link.stop();
  const before = numbers().length;
  // They would come in the next turns of the event loop.
  for (let turn = 0; turn < 32; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(numbers().length, before);
  assert.ok(before < all.length);
});
