// A run outlives the daemon; and a progress socket in another place. A run while the bus, the manager or the node is restarted: faults/table.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATE, READ_ONLY, type UpgradeDaemon } from './upgrade-daemon.js';

export function restartScenarios(daemon: UpgradeDaemon): void {
  test('a daemon killed in the middle of a run finds the run going on', async () => {
    await daemon.beginRun(GATE);
    const before = await daemon.runs('running', 'systemd');
    await daemon.kill();
    await daemon.up();
    assert.deepEqual((await daemon.answers()).run, before.run);
    await daemon.openGate();
    const after = await daemon.runs('idle', 'systemd');
    assert.equal(after.run.started_at, before.run.started_at);
  });

  for (const [verdict, status] of [
    ['idle', 0],
    ['failed', 1],
  ] as const) {
    test(`a daemon killed during a run finds that it has ended ${verdict}`, async () => {
      await daemon.beginRun(`${GATE}; exit ${status}`);
      const before = await daemon.runs('running', 'systemd');
      await daemon.kill();
      await daemon.openGate();
      await daemon.unitEnds();
      await daemon.up();
      const { run } = await daemon.answers();
      assert.deepEqual([run.state, run.started_at], [verdict, before.run.started_at]);
    });
  }

  test('the progress socket may be in the runtime directory itself, beside which the user can make nothing', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.begin(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.runs('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });
}
