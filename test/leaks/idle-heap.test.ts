// A storm's garbage does not stay: an actor that is pinged gives it back, and what Node thinks of the way is not in its output.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { runActor } from '../../src/actors/runtime.js';
import { type FromActor, type ToActor, typedPort } from '../../src/protocol/actor/messages.js';
import { until } from '../until.js';

const RECORDS = 300_000;
const GROWN_BYTES = 16 * 1024 * 1024;

/** Objects that live long enough to be in the old generation. */
function grow(): number {
  const records = Array.from({ length: RECORDS }, (_, at) => ({ at, name: `stream ${at}` }));
  return records.length;
}

test('an actor gives back what a storm has left, at its next ping', async (t) => {
  const warnings: string[] = [];
  const { port1, port2 } = new MessageChannel();
  const port = typedPort<ToActor, FromActor>(port1);
  port.listen(
    (batch) => {
      for (const item of batch) if ('kind' in item && item.kind === 'log') warnings.push(item.message);
    },
    () => undefined,
  );
  t.after(() => port.close());
  const settings = { enabled: true, serveCookie: false, outputs: {} };
  void runActor<'audio'>({ port: port2, settings }, () => ({
    handle: async () => ({ ok: true }),
    stop: async () => undefined,
  }));
  const before = process.memoryUsage().heapTotal;
  assert.equal(grow(), RECORDS);
  const most = process.memoryUsage().heapTotal;
  assert.ok(most > before + GROWN_BYTES, `${before} bytes have become ${most}`);
  port.send({ kind: 'ping', id: 1 });
  await until('the heap is small again', async () => process.memoryUsage().heapTotal < most - GROWN_BYTES);
  process.emitWarning('too many listeners', 'MaxListenersExceededWarning');
  await until('the warning is a line of the log', async () => warnings.length > 0);
  assert.deepEqual(warnings, ['a warning of Node.js']);
});
