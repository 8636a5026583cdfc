// Power actions that happen: the node really goes down, and clients are sent an event before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventConsumer } from '../../consumer/consumer.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';

const DEADLINE_MS = 30_000;

const isBye = ({ events }: EventConsumer): boolean => events.some(({ data }) => data === '"bye"');

/** Up again, and connected to logind. */
async function serviceIsBack(node: Node): Promise<void> {
  await until(
    'the service is back by itself',
    async () => (await node.property('ActiveState')) === 'active',
    DEADLINE_MS,
  );
  await until('logind answers', async () => (await node.ask('GET', '/power/')).status === 200, DEADLINE_MS);
}

export function restartScenarios(node: () => Node): void {
  test('two reboots at once are 202 and 409, one event and bye; the client resumes', async () => {
    const watcher = await node().events();
    await node().reboot(async () => {
      // Keeps the node up until both are answered.
      const letGo = await node().holdShutdown('delay');
      const replies = await Promise.all([
        node().ask('POST', '/power/reboot'),
        node().ask('POST', '/power/reboot'),
      ]);
      await letGo();
      assert.deepEqual(replies.map(({ status }) => status).sort(), [202, 409]);
      await watcher.until(isBye, 'bye', DEADLINE_MS);
    });
    await serviceIsBack(node());
    const told = watcher.events.map(({ type, data }) => `${type} ${data}`);
    assert.deepEqual(
      told.filter((line) => /^power|bye/.test(line)),
      ['power.action {"action":"reboot"}', 'server.info "bye"'],
    );
    await watcher.reconnect();
    // A new life of the service: what was missed is gone, so there is a snapshot.
    await watcher.until(({ model }) => model.outputs.size > 0, 'the snapshot', DEADLINE_MS);
    watcher.close();
  });

  test('a power-off is 202, one event and bye', async () => {
    const watcher = await node().events();
    await node().powerOff(async () => {
      const reply = await node().ask('POST', '/power/power_off');
      assert.equal(reply.status, 202, reply.text);
      await watcher.until(isBye, 'bye', DEADLINE_MS);
    });
    await node().start();
    await serviceIsBack(node());
    assert.ok(watcher.events.some(({ data }) => data === '{"action":"poweroff"}'));
  });
}
