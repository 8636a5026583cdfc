// The upgrade unit and its verdicts, in answers and events, also where the daemon is killed meanwhile (a run while the bus, the manager or
// the node is restarted: faults/table.ts); and the shipped examples of detector, timer and upgrade script, as they are.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../until.js';
import type { Heard } from './held-daemon.js';
import { FULL, GATE, READ_ONLY, RESULT, type UpgradeDaemon } from './upgrade-daemon.js';

const states = (heard: Heard): readonly string[] =>
  heard.flatMap(({ type, data }) => (type === 'upgrade.info' && JSON.parse(data).state) || []);

export function unitScenarios(daemon: UpgradeDaemon): void {
  test('a run from its start to its success is in answers and events', async () => {
    await daemon.beginWith(
      `tonearm progress begin --total 2\ntonearm progress step --percent 40 --current 1 --step unpack\n${GATE}\ntonearm progress end --success`,
    );
    const heard = await daemon.listen();
    await daemon.start();
    const during = await daemon.sees('the progress', ({ run }) => run.percent === 40);
    const shown = [during.run.state, during.run.origin, during.run.step];
    assert.deepEqual(shown, ['running', 'systemd', 'unpack']);
    assert.equal(await daemon.post('/upgrade/start'), 409);
    await daemon.openGate();
    const after = await daemon.runs('idle');
    assert.equal(after.run.started_at, during.run.started_at);
    assert.equal(after.run.percent, undefined);
    await until('the run is idle', () => states(heard).at(-1) === 'idle');
    assert.deepEqual(states(heard), ['running', 'idle']);
    const lines = heard.filter(({ type }) => type === 'upgrade.progress').map(({ data }) => JSON.parse(data));
    assert.equal(lines.map(({ event }) => event).join(), 'begin,progress,end');
  });

  test('a run fails although its script reported success, and stays failed over a restart', async () => {
    const script = `echo unpacking\n${GATE}\ntonearm progress end --success; echo "disk full"; exit 3`;
    await daemon.beginWith(script);
    const heard = await daemon.listen();
    await daemon.start();
    // journald learns the unit of a script from its first line, and only while the script runs.
    await daemon.logHas('unpacking');
    await daemon.openGate();
    const failed = await daemon.runs('failed');
    await until('the run has failed', () => states(heard).at(-1) === 'failed');
    // journald reads what a script writes and what systemd writes from two sockets, in an order of its own.
    await daemon.logHas('disk full');
    await daemon.logHas("up.service: Failed with result 'exit-code'.");
    daemon.stopListening();
    await daemon.systemctl('restart', 'tonearm.service');
    assert.deepEqual((await daemon.answers()).run, failed.run);
  });

  test('one of many starts at once wins', async () => {
    await daemon.beginWith(GATE);
    const replies = await Promise.all(Array.from({ length: 8 }, () => daemon.post('/upgrade/start')));
    assert.deepEqual(replies.sort(), [202, 409, 409, 409, 409, 409, 409, 409]);
    await daemon.openGate();
    await daemon.runs('idle');
  });

  test('a unit that systemd restarts by itself is one run, and ends as its last try does', async () => {
    const restart =
      'Restart=on-failure\nRestartSec=300ms\n[Unit]\nStartLimitBurst=3\nStartLimitIntervalSec=60\n';
    for (const [script, expected] of [
      ['echo once >> /home/pi/tries; [ $(wc -l < /home/pi/tries) = 3 ]', 'idle'],
      ['exit 3', 'failed'],
    ] as const) {
      await daemon.beginWith(`tonearm progress step --percent 1 --current 1 --step a\n${script}`, restart);
      const heard = await daemon.listen();
      await daemon.start();
      await daemon.runs(expected);
      await until(`the run is ${expected}`, () => states(heard).at(-1) === expected);
      assert.deepEqual(states(heard), ['running', expected]);
      assert.equal(heard.filter(({ type }) => type === 'upgrade.progress').length, 3);
    }
    await daemon.shell('rm ~/tries');
  });

  test('a run that is started by systemctl is followed', async () => {
    await daemon.beginWith(GATE);
    await daemon.systemctl('start', '--no-block', 'up.service');
    await daemon.runs('running');
    assert.equal(await daemon.post('/upgrade/start'), 409);
    await daemon.systemctl('stop', 'up.service');
    await daemon.runs('failed');
  });

  test('a service that is no oneshot runs until it has ended', async () => {
    await daemon.beginRun(`${GATE}; exit 1`, 'Type=simple\n');
    await daemon.runs('running');
    await daemon.openGate();
    await daemon.runs('failed');
  });

  /** The trigger must fail for that reason: a 502 with the reason, no event, and the run as it was. */
  const isKeptFromRunning = async (why: RegExp) => {
    const before = (await daemon.answers()).run;
    const heard = await daemon.listen();
    const reply = await daemon.ask('POST', '/upgrade/start');
    assert.equal(reply.status, 502, reply.text);
    assert.match(JSON.parse(reply.text).detail, why);
    assert.deepEqual((await daemon.answers()).run, before);
    assert.deepEqual(states(heard), []);
    daemon.stopListening();
  };

  const CONDITION = /up\.service did not run: the job's result is done, .*a condition of the unit is not met/;

  for (const type of ['oneshot', 'oneshot\nRemainAfterExit=yes', 'simple', 'exec']) {
    test(`a unit that is kept from running has not run: ${type.replace('\n', ', ')}`, async () => {
      await daemon.node.writeUnit('user', 'never.service', '[Service]\nType=oneshot\nExecStart=/bin/false\n');
      for (const [section, why] of [
        ['ConditionPathExists=/nowhere', CONDITION],
        ['AssertPathExists=/nowhere', /did not run: the job's result is assert/],
        ['Requires=never.service\nAfter=never.service', /did not run: the job's result is dependency/],
      ] as const) {
        await daemon.beginWith('exit 0', `Type=${type}\n[Unit]\n${section}\n`);
        await isKeptFromRunning(why);
      }
    });
  }

  test('a start that is refused changes nothing', async () => {
    await daemon.systemctl('mask', 'masked.service');
    await daemon.node.writeUnit('user', 'bad.service', '[Service]\nType=oneshot\n');
    for (const [unit, why] of Object.entries({ missing: /not found/, masked: /masked/, bad: /./ })) {
      await daemon.begin(FULL.replace('up.service', `${unit}.service`));
      await isKeptFromRunning(why);
    }
  });

  for (const [status, verdict] of ['idle', 'failed'].entries()) {
    test(`a daemon killed during a run finds that it has ended ${verdict}`, async () => {
      await daemon.beginRun(`${GATE}; exit ${status}`);
      const { run: before } = await daemon.runs('running');
      await daemon.kill();
      await daemon.openGate();
      await daemon.unitEnds();
      await daemon.up();
      const { run } = await daemon.answers();
      assert.deepEqual([run.state, run.started_at], [verdict, before.started_at]);
    });
  }

  test('a daemon killed during a run finds that it goes on, and ends', async () => {
    await daemon.beginRun(GATE);
    const { run: before } = await daemon.runs('running');
    await daemon.kill();
    await daemon.up();
    assert.deepEqual((await daemon.answers()).run, before);
    await daemon.openGate();
    assert.equal((await daemon.runs('idle')).run.started_at, before.started_at);
  });

  test('the progress socket may be in the runtime directory itself, beside which the user can make nothing', async () => {
    const socket = `/run/user/${daemon.node.uid}/upgrade.sock`;
    await daemon.begin(READ_ONLY.replace('}', `, progressSocket: ${socket}}`));
    await daemon.shell(`tonearm progress begin --total 1 --socket ${socket}`);
    await daemon.runs('running', 'socket');
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /cannot listen/);
  });
}

const PACKAGING = fileURLToPath(new URL('../../../../packaging', import.meta.url));
const EXAMPLES = `${PACKAGING}/upgrade`;
const OURS = readFileSync(`${PACKAGING}/tonearm.service`, 'utf8');

export function exampleScenarios(daemon: UpgradeDaemon): void {
  const UNITS = ['tonearm-detect.service', 'tonearm-detect.timer', 'tonearm-upgrade.service'];

  before(async () => {
    await daemon.node.install(EXAMPLES, '/usr/lib/tonearm/upgrade');
    for (const unit of UNITS)
      await daemon.node.writeUnit('user', unit, readFileSync(`${EXAMPLES}/${unit}`, 'utf8'));
    // A node has its own package and its rule for sudo; here are a package that is there, and a sudo that only notes.
    const settings =
      '[Service]\nEnvironment=TONEARM_UPGRADE_PACKAGE=bash PATH=/opt/fake:/usr/local/bin:/usr/bin:/bin\n';
    for (const unit of ['tonearm-detect', 'tonearm-upgrade'])
      await daemon.node.writeFile(`/etc/systemd/user/${unit}.service.d/test.conf`, settings);
    // How the shipped unit of the daemon stands to the others. It is enabled, as it is on a node.
    const relations = OURS.replace(/^\[Service\][^[]*/m, '');
    await daemon.node.writeFile('/etc/systemd/user/tonearm.service.d/shipped.conf', relations);
    await daemon.systemctl('daemon-reload');
    await daemon.systemctl('enable', 'tonearm.service');
    const note = '#!/bin/sh\nprintf "%s " "$@" >> /home/pi/as-root\n';
    await daemon.node.writeFile('/opt/fake/sudo', note, '755');
    // Stands in for apt-get, which takes seconds to list what it could upgrade.
    await daemon.node.writeFile('/opt/fake/apt-get', '#!/bin/sh\necho Inst bash\n', '755');
  });

  after(() => daemon.systemctl('disable', 'tonearm.service'));

  const UPGRADE = `{enabled: true, resultFile: ${RESULT}, checkUnit: tonearm-detect.service, upgradeUnit: tonearm-upgrade.service}`;

  test('check and upgrade, with a restart of the daemon as one step', async () => {
    await daemon.begin(UPGRADE);
    const heard = await daemon.listen();
    assert.equal(await daemon.post('/upgrade/check'), 202);
    await daemon.unitEnds('tonearm-detect.service');
    const found = await daemon.sees('the detector', ({ current }) => current !== '');
    assert.equal(found.extra?.['package'], 'bash');
    const { check } = await daemon.sees('its end', (now) => now.check?.finished_at !== undefined);
    assert.equal(check?.state, 'idle');
    for (const [event, part] of [
      ['upgrade.check', '{"state":"running"'],
      ['upgrade.info', '"package":"bash"'],
    ] as const)
      await until(`${part} is sent`, () =>
        heard.some(({ type, data }) => type === event && data.includes(part)),
      );
    daemon.stopListening();
    const before = await daemon.node.property('MainPID');
    await daemon.start();
    await daemon.runs('idle');
    assert.notEqual(await daemon.node.property('MainPID'), before);
    assert.match(await daemon.shell('cat ~/as-root'), /-n apt-get -qq install --only-upgrade --yes bash/);
  });

  test('the timer of the example checks every day', async () => {
    await daemon.systemctl('enable', '--now', 'tonearm-detect.timer');
    const next = await daemon.node.property('NextElapseUSecRealtime', 'tonearm-detect.timer');
    assert.notEqual(next, '');
    await daemon.systemctl('disable', '--now', 'tonearm-detect.timer');
  });
}
