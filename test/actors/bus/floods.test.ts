// Tests an actor that gets more signals than it can handle at once. Replies overtake signals, no signal is
// lost, and the number of waiting signals has a bound.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Bus } from '../../../src/actors/bus/bus.js';
import { BUS_METHODS } from '../../../src/protocol/dbus/daemon.js';
import { until } from '../../until.js';
import { NotingOwner } from './noting-owner.js';
import { type ReceivedCall, reply, scriptedBus, signal } from './scripted-bus.js';

const SENDER = ':1.9';
/** The bound is that of src/actors/bus/signal-portions.ts. */
const WAITING_MAX_BYTES = 1 << 20;
/** The bound does not count this part of a message (`lastMessageBytes` of src/actors/bus/stream-guard.ts). */
const FIXED_HEADER_BYTES = 16;
const SIGNAL_BYTES = signal(SENDER, 'a.b', 'Flood', 'u', 0).length - FIXED_HEADER_BYTES;
const WAITING_MAX_SIGNALS = Math.ceil(WAITING_MAX_BYTES / SIGNAL_BYTES);
/** A busy machine takes seconds to read the flood. */
const CALL_DEADLINE_MS = 60_000;

/** Starts a bus that answers GetNameOwner with `count` numbered signals and then the reply, all at once. */
async function startFlood(t: TestContext, count: number) {
  const signals = Array.from({ length: count }, (_, number) => signal(SENDER, 'a.b', 'Flood', 'u', number));
  const call = (socket: NodeJS.WritableStream, { serial, text }: ReceivedCall): void => {
    const beginsFlood = text.includes('GetNameOwner');
    socket.write(beginsFlood ? Buffer.concat([...signals, reply(serial, 's', SENDER)]) : reply(serial));
  };
  const bus = await scriptedBus(() => ({ call }), t);
  const owner = new NotingOwner();
  const options = { paths: bus.paths, backoffMs: () => 0, callDeadlineMs: CALL_DEADLINE_MS };
  const link = new Bus('units', options, owner);
  t.after(() => link.stop());
  await owner.waitForNote(/^up/);
  await link.watch({ sender: SENDER, member: 'Flood' });
  /** The numbers of the signals that the actor has handled. */
  const handled = (): readonly unknown[] => owner.signals.map(({ values: [number] }) => number);
  return { link, handled, allNumbers: signals.map((_, number) => number) };
}

test('a reply does not wait until the actor has handled the signals before it, and the signals stay in order', async (t) => {
  const { link, handled, allNumbers } = await startFlood(t, 1_000);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);

  const handledBeforeReply = handled().length;
  assert.ok(
    handledBeforeReply < allNumbers.length / 2,
    `most signals must be handled after the reply, but ${handledBeforeReply} were handled before it`,
  );

  await until('all signals are handled', () => handled().length === allNumbers.length);
  assert.deepEqual(handled(), allNumbers);
});

test('the socket is not read while too many signals wait to be handled, and no signal is lost', async (t) => {
  const { link, handled, allNumbers } = await startFlood(t, 3 * WAITING_MAX_SIGNALS);
  assert.ok((await link.call(BUS_METHODS.getNameOwner, ['a.b'])).ok);
  // The reply comes after all signals, so every signal that is not handled yet waits.
  const waitingCount = allNumbers.length - handled().length;
  assert.ok(waitingCount <= WAITING_MAX_SIGNALS, `${waitingCount} signals wait`);

  await until('all signals are handled', () => handled().length === allNumbers.length);
  assert.deepEqual(handled(), allNumbers);
});

test('when the connection ends, the signals that wait to be handled are dropped', async (t) => {
  const { link, handled, allNumbers } = await startFlood(t, 1_000);
  await link.call(BUS_METHODS.getNameOwner, ['a.b']);

  link.stop();
  const handledAtStop = handled().length;
  // Without the end of the connection the other signals would arrive in the next turns of the event loop.
  for (let turn = 0; turn < 32; turn += 1) await new Promise((resolve) => setImmediate(resolve));

  assert.equal(handled().length, handledAtStop);
  assert.ok(handledAtStop < allNumbers.length);
});
