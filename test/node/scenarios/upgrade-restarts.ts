// A run outlives the daemon, the bus and systemd's own restarts, and does not outlive the node; and a progress socket in another place.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
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

  test('a daemon that the upgrade itself restarts publishes the end', async () => {
    await daemon.beginRun(`systemctl --user restart tonearm.service\n${GATE}\nexit 4`);
    await daemon.runs('running', 'systemd');
    await daemon.openGate();
    await daemon.runs('failed', 'systemd');
  });

  test('without the bus: 503, and then the current state', async () => {
    await daemon.beginRun(GATE);
    const before = await daemon.runs('running', 'systemd');
    // The session bus is started by its socket: without both it stays away.
    await daemon.systemctl('stop', 'dbus.socket', 'dbus.service');
    await until('/upgrade is 503', async () => (await daemon.ask('GET', '/upgrade')).status === 503, 10_000);
    assert.equal(await daemon.post('/upgrade/start'), 503);
    await daemon.openGate();
    await daemon.systemctl('start', 'dbus.socket');
    const after = await daemon.runs('idle', 'systemd');
    assert.equal(after.run.started_at, before.run.started_at);
  });

  test('a run continues while systemd reloads and executes itself anew', async () => {
    await daemon.beginRun(GATE);
    const before = await daemon.runs('running', 'systemd');
    const heard = await daemon.listen();
    await daemon.systemctl('daemon-reload');
    await daemon.systemctl('daemon-reexec');
    assert.deepEqual((await daemon.answers()).run, before.run);
    await daemon.openGate();
    const after = await daemon.runs('idle', 'systemd');
    assert.equal(after.run.started_at, before.run.started_at);
    // The daemon waited meanwhile: no event reports the backend as away.
    assert.deepEqual(
      heard.filter(({ type }) => type === 'backend.updated'),
      [],
    );
  });

  test('a run that a reboot cuts off does not run for ever', async () => {
    await daemon.beginRun('sleep infinity');
    const before = await daemon.runs('running', 'systemd');
    daemon.stopListening();
    // At once: an orderly shutdown would end the unit first, and the daemon would see it fail.
    await daemon.kill();
    await daemon.node.reboot();
    await daemon.up();
    const { run } = await daemon.answers();
    assert.deepEqual([run.state, run.started_at], ['failed', before.run.started_at]);
  });

  test('the progress socket may be in the runtime directory itself, beside which the user can make nothing', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.begin(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.runs('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });
}
