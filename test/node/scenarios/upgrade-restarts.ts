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

    test(`a daemon killed as it answers finds that the run has ended ${verdict}`, async () => {
      await daemon.beginWith(`${GATE}; exit ${status}`);
      assert.match(await daemon.startAndKill(), /^202 .*"state":"running"/);
      await daemon.openGate();
      await daemon.unitEnds();
      await daemon.up();
      const { run } = await daemon.answers();
      assert.deepEqual([run.state, run.origin], [verdict, 'systemd']);
    });
  }

  /** Starts an upgrade, kills the daemon, and has the unit end with `status` and systemd forget the failures of all. */
  const endUnseen = async (status: number) => {
    await daemon.beginRun(`${GATE}; exit ${status}`);
    await daemon.kill();
    await daemon.openGate();
    await daemon.unitEnds();
    await daemon.systemctl('reset-failed');
    await daemon.up();
    return (await daemon.answers()).run.state;
  };

  test('a run whose unit systemd has forgotten while the daemon was away has failed', async () => {
    for (const status of [3, 0]) assert.equal(await endUnseen(status), 'failed');
  });

  test('a run whose unit systemd remembers ends with its result, though it was reset', async () => {
    await daemon.remember('up.service');
    assert.equal(await endUnseen(3), 'failed');
    assert.equal(await endUnseen(0), 'idle');
    await daemon.systemctl('stop', 'holds.service');
  });

  test("a run of which only the start was saved is judged by the unit's own invocation", async () => {
    await daemon.beginRun('exit 1');
    await daemon.runs('failed', 'systemd');
    const state = '~/.local/state/tonearm/upgrade-run.json';
    await daemon.systemctl('stop', 'tonearm.service');
    await daemon.remember('up.service');
    // The state file as it was when a run had been started after that failure.
    const queued = `sed -i 's/"failed"/"running"/; s/"invocation"/"before"/' ${state}`;
    for (const [script, verdict] of [
      ['', 'failed'],
      ['exit 0', 'idle'],
    ] as const) {
      await daemon.shell(`cp ${state} ~/kept.json; ${queued}`);
      if (script !== '') {
        await daemon.unit('up.service', script);
        await daemon.systemctl('start', 'up.service');
      }
      await daemon.up();
      assert.equal((await daemon.answers()).run.state, verdict);
      await daemon.systemctl('stop', 'tonearm.service');
      await daemon.shell(`mv ~/kept.json ${state}`);
    }
    await daemon.systemctl('stop', 'holds.service');
  });

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

  test("a run that a restart of the user's systemd cuts off has failed", async () => {
    await daemon.beginRun('sleep infinity');
    await daemon.runs('running', 'systemd');
    await daemon.kill();
    const restarted = await daemon.node.root('systemctl', 'restart', `user@${daemon.node.uid}.service`);
    assert.equal(restarted.status, 0, restarted.stderr);
    await daemon.up();
    assert.equal((await daemon.answers()).run.state, 'failed');
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
