// Scenarios of the upgrade unit: answers and events show each run and its verdict, also where the daemon is
// killed meanwhile. faults/table.ts restarts the bus, the manager and the node during a run, and
// upgrade-example.ts has the shipped examples.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../until.js';
import type { ReceivedEvents } from './daemon-on-node.js';
import { FULL, GATE, READ_ONLY, type UpgradeDaemon } from './upgrade-daemon.js';

/** The states of the run in those events that have a state. */
const runStates = (received: ReceivedEvents): readonly string[] =>
  received.flatMap(({ type, data }) => {
    if (type !== 'upgrade.info') return [];
    const { state } = JSON.parse(data);
    return state === undefined ? [] : [state];
  });

export function unitScenarios(daemon: UpgradeDaemon): void {
  test('a run from its start to its success is in answers and events', async () => {
    const script = [
      'tonearm progress begin --total 2',
      'tonearm progress step --percent 40 --current 1 --step unpack',
      GATE,
      'tonearm progress end --success',
    ];
    await daemon.beginWithUnit(script.join('\n'));
    const received = await daemon.listen();
    await daemon.startUpgrade();
    const during = await daemon.waitFor('the progress', ({ run }) => run.percent === 40);
    const published = [during.run.state, during.run.origin, during.run.step];
    assert.deepEqual(published, ['running', 'systemd', 'unpack']);
    assert.equal(await daemon.post('/upgrade/start'), 409);
    await daemon.openGate();
    const ended = await daemon.untilRun('idle');
    assert.equal(ended.run.started_at, during.run.started_at);
    assert.equal(ended.run.percent, undefined);
    await until('the run is idle', () => runStates(received).at(-1) === 'idle');
    assert.deepEqual(runStates(received), ['running', 'idle']);
    // `tonearm progress step` makes the event `progress`.
    const lines = received
      .filter(({ type }) => type === 'upgrade.progress')
      .map(({ data }) => JSON.parse(data));
    assert.equal(lines.map(({ event }) => event).join(), 'begin,progress,end');
  });

  test('a run fails although its script reported success, and stays failed when the daemon restarts', async () => {
    const script = `echo unpacking\n${GATE}\ntonearm progress end --success; echo "disk full"; exit 3`;
    await daemon.beginWithUnit(script);
    const received = await daemon.listen();
    await daemon.startUpgrade();
    // journald looks up the unit of a script when journald reads the script's first line. It finds the unit
    // only if the script still runs then. So the gate opens only after the first line is in the log.
    await daemon.logHas('unpacking');
    await daemon.openGate();
    const failed = await daemon.untilRun('failed');
    await until('the run has failed', () => runStates(received).at(-1) === 'failed');
    // journald gets the script's lines and systemd's lines by two sockets. It may read either socket first.
    await daemon.logHas('disk full');
    await daemon.logHas("up.service: Failed with result 'exit-code'.");
    daemon.stopListening();
    await daemon.systemctl('restart', 'tonearm.service');
    assert.deepEqual((await daemon.readUpgrade()).run, failed.run);
  });

  test('only one of many starts at the same time is accepted', async () => {
    await daemon.beginWithUnit(GATE);
    const replies = await Promise.all(Array.from({ length: 8 }, () => daemon.post('/upgrade/start')));
    assert.deepEqual(replies.sort(), [202, 409, 409, 409, 409, 409, 409, 409]);
    await daemon.openGate();
    await daemon.untilRun('idle');
  });

  test('a unit that systemd restarts by itself is one run, with the verdict of its last try', async () => {
    const restart =
      'Restart=on-failure\nRestartSec=300ms\n[Unit]\nStartLimitBurst=3\nStartLimitIntervalSec=60\n';
    for (const [script, expected] of [
      ['echo once >> /home/pi/tries; [ $(wc -l < /home/pi/tries) = 3 ]', 'idle'],
      ['exit 3', 'failed'],
    ] as const) {
      await daemon.beginWithUnit(
        `tonearm progress step --percent 1 --current 1 --step a\n${script}`,
        restart,
      );
      const received = await daemon.listen();
      await daemon.startUpgrade();
      await daemon.untilRun(expected);
      await until(`the run is ${expected}`, () => runStates(received).at(-1) === expected);
      assert.deepEqual(runStates(received), ['running', expected]);
      // Each try sends one line. StartLimitBurst= allows three tries.
      assert.equal(received.filter(({ type }) => type === 'upgrade.progress').length, 3);
    }
    await daemon.shell('rm ~/tries');
  });

  test('a run that is started by systemctl is followed', async () => {
    await daemon.beginWithUnit(GATE);
    await daemon.systemctl('start', '--no-block', 'up.service');
    await daemon.untilRun('running');
    assert.equal(await daemon.post('/upgrade/start'), 409);
    await daemon.systemctl('stop', 'up.service');
    await daemon.untilRun('failed');
  });

  test('the run of a service that is no oneshot lasts until the service has ended', async () => {
    await daemon.runUnit(`${GATE}; exit 1`, 'Type=simple\n');
    await daemon.untilRun('running');
    await daemon.openGate();
    await daemon.untilRun('failed');
  });

  test('the run of a service that is no oneshot counts as failed if somebody stops it', async () => {
    await daemon.runUnit(GATE, 'Type=simple\n');
    await daemon.untilRun('running');
    await daemon.systemctl('stop', 'up.service');
    // The stop is a success for systemd, but not for the upgrade.
    assert.equal(await daemon.node.property('Result', 'up.service'), 'success');
    await daemon.untilRun('failed');
  });

  /**
   * Starts an upgrade. Fails unless the answer is a 502 with this reason, no event with a state of the run
   * follows, and the run is as before. Ends the daemon.
   */
  const mustNotRun = async (why: RegExp) => {
    const before = (await daemon.readUpgrade()).run;
    const received = await daemon.listen();
    const reply = await daemon.ask('POST', '/upgrade/start');
    assert.equal(reply.status, 502, reply.text);
    assert.match(JSON.parse(reply.text).detail, why);
    assert.deepEqual((await daemon.readUpgrade()).run, before);
    // An event may come after the answers. `bye` is the last event of the stream.
    await daemon.systemctl('stop', 'tonearm.service');
    await until('the stream has ended', () => received.at(-1)?.data === '"bye"');
    assert.deepEqual(runStates(received), []);
    daemon.stopListening();
  };

  const CONDITION = /up\.service did not run: the job's result is done, .*a condition of the unit is not met/;

  for (const type of ['oneshot', 'oneshot\nRemainAfterExit=yes', 'simple', 'exec']) {
    test(`a start is answered with 502 and the reason if something keeps the unit from running: ${type.replace('\n', ', ')}`, async () => {
      await daemon.node.writeUnit('user', 'never.service', '[Service]\nType=oneshot\nExecStart=/bin/false\n');
      for (const [section, why] of [
        ['ConditionPathExists=/nowhere', CONDITION],
        ['AssertPathExists=/nowhere', /did not run: the job's result is assert/],
        ['Requires=never.service\nAfter=never.service', /did not run: the job's result is dependency/],
      ] as const) {
        await daemon.beginWithUnit('exit 0', `Type=${type}\n[Unit]\n${section}\n`);
        await mustNotRun(why);
      }
    });
  }

  test('a start that is refused changes nothing', async () => {
    await daemon.systemctl('mask', 'masked.service');
    // systemd does not load a oneshot without a program.
    await daemon.node.writeUnit('user', 'bad.service', '[Service]\nType=oneshot\n');
    for (const [unit, why] of Object.entries({ missing: /not found/, masked: /masked/, bad: /./ })) {
      await daemon.beginWithConfig(FULL.replace('up.service', `${unit}.service`));
      await mustNotRun(why);
    }
  });

  test('a unit that ends at once counts as a run, also if systemd unloads it before the start is answered', async () => {
    // No other unit refers to this unit, so systemd forgets the unit when its program ends. The `-` makes
    // the program's failure count as success.
    const unit = '[Service]\nType=oneshot\nExecStart=-/bin/false\n';
    await daemon.node.writeUnit('user', 'quick.service', unit);
    await daemon.beginWithConfig(FULL.replace('up.service', 'quick.service'));
    const received = await daemon.listen();
    for (let runs = 1; runs <= 10; runs += 1) {
      await daemon.startUpgrade();
      await until(
        'the run is over',
        () => runStates(received).filter((state) => state === 'idle').length === runs,
      );
    }
    assert.ok(!runStates(received).includes('failed'));
  });

  for (const [status, verdict] of [
    [0, 'idle'],
    [1, 'failed'],
  ] as const) {
    test(`a daemon killed during a run finds that the run has ended ${verdict}`, async () => {
      await daemon.runUnit(`${GATE}; exit ${status}`);
      const { run: before } = await daemon.untilRun('running');
      await daemon.kill();
      await daemon.openGate();
      await daemon.unitEnds();
      await daemon.startDaemon();
      const { run } = await daemon.readUpgrade();
      assert.deepEqual([run.state, run.started_at], [verdict, before.started_at]);
    });
  }

  for (const type of ['oneshot', 'simple']) {
    test(`a daemon killed during a run finds that the run was stopped, though its script ended with status 0: ${type}`, async () => {
      await daemon.runUnit(`trap 'exit 0' TERM; echo ready\n${GATE}`, `Type=${type}\n`);
      await daemon.logHas('ready');
      await daemon.kill();
      await daemon.systemctl('stop', 'up.service');
      assert.equal(await daemon.node.property('Result', 'up.service'), 'success');
      await daemon.startDaemon();
      assert.equal((await daemon.readUpgrade()).run.state, 'failed');
    });
  }

  test('a daemon killed during a run finds that the run goes on, and later that it ends', async () => {
    await daemon.runUnit(GATE);
    const { run: before } = await daemon.untilRun('running');
    await daemon.kill();
    await daemon.startDaemon();
    assert.deepEqual((await daemon.readUpgrade()).run, before);
    await daemon.openGate();
    assert.equal((await daemon.untilRun('idle')).run.started_at, before.started_at);
  });

  test('the progress socket may be directly in the runtime directory, although the user cannot write to the parent of that directory', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.beginWithConfig(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.untilRun('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });
}
