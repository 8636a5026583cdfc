// An actor that has made much garbage gives its memory back when it is pinged. Node.js warns of
// the experimental function that this needs, but the actor's log has no such warning.

import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import vm from 'node:vm';
import { MessageChannel } from 'node:worker_threads';
import { actorThread } from '../../src/actors/runtime.js';
import { type FromActor, type ToActor, typedPort } from '../../src/protocol/actor/messages.js';
import { until } from '../until.js';

const RECORDS = 300_000;
/**
 * The heap grows by some 50 MB, and this much of the growth may remain. The young generation alone can keep
 * 32 MB. So the heap gets below this bound only after the young generation has shrunk, too.
 */
const LEFT_BYTES = 16 * 1024 * 1024;
/**
 * Two collections are needed (`collect` in src/host/idle-heap.ts). V8 begins a collection 7 to 12 s after
 * the actor has requested it. The deadline is several times as long as both collections together.
 */
const COLLECTED_MS = 180_000;

/** Makes objects that live long enough to get into the old generation. They are garbage afterwards. */
function growHeap(): number {
  const records = Array.from({ length: RECORDS }, (_, at) => ({ at, name: `stream ${at}` }));
  return records.length;
}

test('an actor that is pinged gives back the memory of many records that it no longer uses', async (t) => {
  // V8 also collects by itself in some idle threads (src/host/idle-heap.ts), so a small heap alone proves
  // nothing. The actor calls `measureMemory`, which makes V8 collect, and the test counts these calls. With
  // `syncBuiltinESMExports` the actor's import of `node:vm` gets the counting function.
  const { mock: measurement } = t.mock.method(vm, 'measureMemory');
  syncBuiltinESMExports();
  const warningNames: unknown[] = [];
  const { port1, port2 } = new MessageChannel();
  const port = typedPort<ToActor, FromActor>(port1);
  const onBatch = (batch: FromActor): void => {
    for (const item of batch)
      if ('kind' in item && item.kind === 'log') warningNames.push(item.fields?.['name']);
  };
  const onClose = (): void => undefined;
  port.listen(onBatch, onClose);
  t.after(() => port.close());
  const settings = {
    enabled: true,
    actsByItself: true,
    serveCookie: false,
    apiPort: 8018,
    outputs: {},
    groups: {},
    listen: {},
    listenLatency: 100,
  };
  const handle = async () => ({ ok: true, value: {} }) as const;
  // The actor runs in the thread of this test, so this process has its heap.
  const work = actorThread<'audio'>(() => ({ handle, stop: async () => undefined }));
  void work({ port: port2, settings });
  const before = process.memoryUsage().heapTotal;
  assert.equal(growHeap(), RECORDS);
  const grownTo = process.memoryUsage().heapTotal;
  assert.ok(grownTo > before + 2 * LEFT_BYTES, `${before} bytes have become ${grownTo}`);
  const isSmallAfterPing = async (): Promise<boolean> => {
    port.send({ kind: 'ping', id: 1 });
    return process.memoryUsage().heapTotal < before + LEFT_BYTES;
  };
  await until('the heap is small again', isSmallAfterPing, COLLECTED_MS);
  assert.ok(measurement.callCount() > 0, 'V8 was asked to collect');
  // This warning proves that warnings reach the log. No other warning may be there.
  process.emitWarning('too many listeners', 'MaxListenersExceededWarning');
  await until('the warning is a line of the log', async () => warningNames.length > 0);
  assert.deepEqual(warningNames, ['MaxListenersExceededWarning']);
});
