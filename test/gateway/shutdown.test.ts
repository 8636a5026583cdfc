// The gateway must end within its deadline, whatever clients do; the clock is manual.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { shutDown } from '../../src/gateway/shut-down.js';
import { within } from '../../src/host/clock.js';
import { Deferred } from '../deferred.js';
import { NodeUnderTest } from './events/node-under-test.js';

const DEADLINE_MS = 1800;

/**
 * One request is under way from the beginning, and only `answerRequest` answers it.
 * The tests open streams by `consumer(query, options)`. With `capacity: 0` a stream's client reads nothing.
 */
class ShutdownUnderTest extends NodeUnderTest {
  readonly #answered = new Deferred<void>();
  readonly steps: string[] = [];

  answerRequest(): void {
    this.#answered.resolve();
  }

  close(): Promise<void> {
    const { clock, hub: streams, steps } = this;
    return shutDown(
      {
        clock,
        streams,
        handler: {
          shutDown: async (withinMs) => {
            steps.push('refusing');
            await within(clock, withinMs, this.#answered.promise);
          },
        },
        server: { close: () => steps.push(`closed after ${clock.monotonic()}`) },
      },
      DEADLINE_MS,
    );
  }

  /** Advances the clock in small steps, and lets promises settle between them. */
  async advance(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 100) {
      await new Promise((resolve) => setImmediate(resolve));
      this.clock.advance(100);
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the end of the service', () => {
  test('the service ends in time although a client does not read its stream and a command never ends', async () => {
    const node = new ShutdownUnderTest();
    const stalled = node.consumer('', { capacity: 0 }).connection;
    const quick = node.consumer().connection;
    const closing = node.close();

    await node.advance(DEADLINE_MS - 100);
    assert.equal(quick.over, 'ended', 'a stream that is read ends before the deadline');
    assert.equal(stalled.over, undefined, 'no stream is cut before the deadline');
    assert.deepEqual(node.steps, ['refusing']);
    await node.advance(100);
    await closing;

    assert.equal(stalled.over, 'cut');
    assert.deepEqual(node.steps, ['refusing', `closed after ${DEADLINE_MS}`]);
    assert.equal(node.clock.timers, 0);
  });

  test('streams end after the answers under way, and slow streams get all the time that is left', async () => {
    const node = new ShutdownUnderTest();
    const stalled = node.consumer('', { capacity: 0 }).connection;
    const quick = node.consumer().connection;
    const closing = node.close();

    await node.advance(300);
    assert.equal(quick.over, undefined);
    node.answerRequest();
    await node.advance(100);
    assert.equal(quick.over, 'ended');
    // 400 ms have passed. After this step 100 ms are left.
    await node.advance(DEADLINE_MS - 500);
    assert.equal(stalled.over, undefined);
    await node.advance(100);
    await closing;

    assert.deepEqual(node.steps, ['refusing', `closed after ${DEADLINE_MS}`]);
  });
});
