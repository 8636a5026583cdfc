// Power actions that happen: the node really goes down, and clients are sent an event before.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { ask, watch } from './client.js';
import { holdShutdown, property } from './commands.js';

const DEADLINE_MS = 30_000;

/** Up again, and connected to logind. */
async function serviceIsBack(node: Node): Promise<void> {
  await until(
    'the service is back by itself',
    async () => (await property(node, 'ActiveState')) === 'active',
    DEADLINE_MS,
  );
  await until('logind answers', async () => (await ask(node, 'GET', '/power/')).status === 200, DEADLINE_MS);
}

export function restartScenarios(node: () => Node): void {
  test('two reboots at once are 202 and 409, one event and bye; the client resumes', async () => {
    const watcher = await watch(node());
    await watcher.until('server.info', /connected/);
    await node().reboot(async () => {
      // Keeps the node up until both are answered.
      const letGo = await holdShutdown(node(), 'delay');
      const replies = await Promise.all([
        ask(node(), 'POST', '/power/reboot'),
        ask(node(), 'POST', '/power/reboot'),
      ]);
      await letGo();
      assert.deepEqual(replies.map(({ status }) => status).sort(), [202, 409]);
      await watcher.until('server.info', /bye/);
    });
    await serviceIsBack(node());
    const told = watcher.events.map(({ type, data }) => `${type} ${data}`);
    assert.deepEqual(
      told.filter((line) => /^power|bye/.test(line)),
      ['power.action {"action":"reboot"}', 'server.info "bye"'],
    );
    const again = await watch(node(), '', watcher.lastEventId());
    await again.until('server.info', /connected/);
    // A new life of the service: what was missed is gone, so there is a snapshot.
    await again.until('audio.output.updated', /"id"/);
    again.close();
  });

  test('a power-off is 202, one event and bye', async () => {
    const watcher = await watch(node());
    await watcher.until('server.info', /connected/);
    await node().powerOff(async () => {
      const reply = await ask(node(), 'POST', '/power/power_off');
      assert.equal(reply.status, 202, reply.text);
      await watcher.until('server.info', /bye/);
    });
    await node().start();
    await serviceIsBack(node());
    assert.ok(watcher.events.some(({ data }) => data === '{"action":"poweroff"}'));
  });
}
