// Upgrades on the real node: what a client sees of real units, whatever happens to the daemon, the bus and the node.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Node } from '../node.js';
import { waitFor } from '../wait-for.js';
import { type Heard, UpgradeDaemon } from './upgrade-daemon.js';

const EXAMPLES = fileURLToPath(new URL('../../../../packaging/upgrade', import.meta.url));
const RESULT = '/home/pi/.local/state/tonearm/upgrade-result.json';
const SOCKET = '/run/user/$(id -u)/tonearm/upgrade.sock';
const FULL = `{enabled: true, resultFile: ${RESULT}, checkUnit: check.service, upgradeUnit: up.service}`;
const READ_ONLY = `{enabled: true, resultFile: ${RESULT}}`;
/** The unit's script goes on when the test makes this file. */
const GATE = 'while [ ! -e /home/pi/gate ]; do sleep 0.02; done';

const states = (heard: readonly Heard[]): readonly string[] =>
  heard
    .filter(({ type, data }) => type === 'upgrade.info' && data.includes('"state"'))
    .map(({ data }) => JSON.parse(data).state);

export function upgradeScenarios(node: () => Node): void {
  const daemon = new UpgradeDaemon(node);
  const open = () => daemon.shell('touch ~/gate');

  before(() => daemon.install());
  after(() => daemon.end());

  describe('the unit', () => {
    test('a run from its start to its success, in answers and events', async () => {
      await daemon.unit(
        'up.service',
        `tonearm progress begin --total 2\ntonearm progress step --percent 40 --current 1 --step unpack\n${GATE}\ntonearm progress end --success`,
      );
      await daemon.begin(FULL);
      const heard = await daemon.listen();
      assert.equal(await daemon.post('/upgrade/start'), 202);
      const during = await daemon.sees('the progress', ({ run }) => run.percent === 40);
      assert.deepEqual(
        [during.run.state, during.run.origin, during.run.step],
        ['running', 'systemd', 'unpack'],
      );
      assert.equal(await daemon.post('/upgrade/start'), 409);
      await open();
      const after = await daemon.runs('idle', 'systemd');
      assert.equal(after.run.started_at, during.run.started_at);
      assert.equal(after.run.percent, undefined);
      await waitFor('the last event', 5_000, () => (states(heard).at(-1) === 'idle' ? true : undefined));
      assert.deepEqual(states(heard), ['running', 'idle']);
      assert.deepEqual(
        heard.filter(({ type }) => type === 'upgrade.progress').map(({ data }) => JSON.parse(data).event),
        ['begin', 'progress', 'end'],
      );
    });

    test('it fails although its script said success, and stays failed over a restart', async () => {
      await daemon.unit('up.service', 'tonearm progress end --success; exit 3');
      await daemon.begin(FULL);
      const heard = await daemon.listen();
      assert.equal(await daemon.post('/upgrade/start'), 202);
      const failed = await daemon.runs('failed', 'systemd');
      assert.equal(states(heard).at(-1), 'failed');
      daemon.end();
      await daemon.systemctl('restart', 'tonearm.service');
      assert.deepEqual((await daemon.answers()).run, failed.run);
    });

    test('of many starts at once one wins', async () => {
      await daemon.unit('up.service', GATE);
      await daemon.begin(FULL);
      const replies = await Promise.all(Array.from({ length: 8 }, () => daemon.post('/upgrade/start')));
      assert.deepEqual(replies.sort(), [202, 409, 409, 409, 409, 409, 409, 409]);
      await open();
      await daemon.runs('idle', 'systemd');
    });

    test('it is started by other hands', async () => {
      await daemon.unit('up.service', GATE);
      await daemon.begin(FULL);
      await daemon.systemctl('start', '--no-block', 'up.service');
      await daemon.runs('running', 'systemd');
      assert.equal(await daemon.post('/upgrade/start'), 409);
      await daemon.systemctl('stop', 'up.service');
      await daemon.runs('failed', 'systemd');
    });

    test('one that is refused changes nothing', async () => {
      for (const [unit, why] of [
        ['missing.service', /not found/],
        ['masked.service', /masked/],
        ['bad.service', /./],
      ] as const) {
        await daemon.systemctl('mask', 'masked.service');
        await daemon.node.writeUnit('user', 'bad.service', '[Service]\nType=oneshot\n');
        await daemon.begin(FULL.replace('up.service', unit));
        const quiet = await daemon.listen();
        const reply = await daemon.ask('POST', '/upgrade/start');
        assert.equal(reply.status, 502, reply.text);
        assert.match(JSON.parse(reply.text).detail, why);
        assert.equal((await daemon.answers()).run.state, 'idle');
        assert.deepEqual(states(quiet), []);
      }
    });

    test('a script by hand is a run of its own', async () => {
      await daemon.begin(FULL);
      await daemon.shell('tonearm progress begin --total 3');
      const { run } = await daemon.runs('running', 'socket');
      assert.equal(await daemon.post('/upgrade/start'), 409);
      await daemon.shell('tonearm progress step --percent 7 --current 1 --step "by hand"');
      await daemon.sees('the step', ({ run: { step } }) => step === 'by hand');
      await daemon.shell('tonearm progress end --failure');
      assert.equal((await daemon.runs('failed', 'socket')).run.started_at, run.started_at);
    });
  });

  describe('the daemon goes and comes', () => {
    test('killed in the middle of a run, it finds the run going on', async () => {
      await daemon.unit('up.service', GATE);
      await daemon.begin(FULL);
      assert.equal(await daemon.post('/upgrade/start'), 202);
      const before = await daemon.runs('running', 'systemd');
      await daemon.kill();
      await daemon.up();
      assert.deepEqual((await daemon.answers()).run, before.run);
      await open();
      const after = await daemon.runs('idle', 'systemd');
      assert.equal(after.run.started_at, before.run.started_at);
    });

    for (const [verdict, status] of [
      ['idle', 0],
      ['failed', 1],
    ] as const) {
      test(`killed, and back behind the end of a run that is ${verdict}`, async () => {
        await daemon.unit('up.service', `${GATE}; exit ${status}`);
        await daemon.begin(FULL);
        assert.equal(await daemon.post('/upgrade/start'), 202);
        const before = await daemon.runs('running', 'systemd');
        await daemon.kill();
        await open();
        await waitFor('the end of the unit', 10_000, async () => {
          const state = await daemon.node.user('systemctl', '--user', 'is-active', 'up.service');
          return /^(inactive|failed)$/m.test(state.stdout) ? true : undefined;
        });
        await daemon.up();
        const { run } = await daemon.answers();
        assert.deepEqual([run.state, run.started_at], [verdict, before.run.started_at]);
      });
    }

    test('restarted by the upgrade itself, it tells the end', async () => {
      await daemon.unit('up.service', `systemctl --user restart tonearm.service\n${GATE}\nexit 4`);
      await daemon.begin(FULL);
      assert.equal(await daemon.post('/upgrade/start'), 202);
      await daemon.runs('running', 'systemd');
      await open();
      await daemon.runs('failed', 'systemd');
    });

    test('the bus goes: 503, and then the true state', async () => {
      await daemon.unit('up.service', GATE);
      await daemon.begin(FULL);
      assert.equal(await daemon.post('/upgrade/start'), 202);
      const before = await daemon.runs('running', 'systemd');
      // The session bus is started by its socket: without both it stays away.
      await daemon.systemctl('stop', 'dbus.socket', 'dbus.service');
      await waitFor('503', 10_000, async () =>
        (await daemon.ask('GET', '/upgrade')).status === 503 ? true : undefined,
      );
      assert.equal(await daemon.post('/upgrade/start'), 503);
      await open();
      await daemon.systemctl('start', 'dbus.socket');
      const after = await daemon.runs('idle', 'systemd');
      assert.equal(after.run.started_at, before.run.started_at);
    });

    test('the node is restarted in the middle of a run: it is not running for ever', async () => {
      await daemon.unit('up.service', 'sleep infinity');
      await daemon.begin(FULL);
      assert.equal(await daemon.post('/upgrade/start'), 202);
      const before = await daemon.runs('running', 'systemd');
      daemon.end();
      // At once: an orderly shutdown would end the unit first, and the daemon would see it fail.
      await daemon.kill();
      await daemon.node.reboot();
      await daemon.up();
      const { run } = await daemon.answers();
      assert.deepEqual([run.state, run.started_at], ['failed', before.run.started_at]);
    });
  });

  describe('the progress socket', () => {
    const flood = (program: string) => daemon.shell(`SOCKET=${SOCKET} ${process.execPath} -e '${program}'`);

    test('ten thousand lines at once arrive all, in order', async () => {
      await daemon.begin(READ_ONLY);
      const heard = await daemon.listen();
      await flood(`const socket = require("net").connect(process.env.SOCKET);
        for (let n = 0; n < 10000; n++) socket.write(JSON.stringify({ event: "progress", percent: n % 100, current: n, step: "s" }) + "\\n");
        socket.end();`);
      const lines = () => heard.filter(({ type }) => type === 'upgrade.progress');
      await waitFor('all lines', 20_000, () => (lines().length >= 10_000 ? true : undefined));
      assert.ok(lines().every(({ data }, index) => JSON.parse(data).current === index));
      await daemon.sees('the last percent', ({ run }) => run.percent === 99);
    });

    test('a flood of garbage ends nothing', async () => {
      await daemon.begin(READ_ONLY);
      const heard = await daemon.listen();
      await flood(`const { connect } = require("net"), { randomBytes } = require("crypto");
        for (let n = 0; n < 100; n++) {
          const socket = connect(process.env.SOCKET).on("error", () => socket.destroy());
          socket.write(randomBytes(100000));
          if (n % 2) socket.end(); else socket.on("connect", () => setTimeout(() => socket.destroy(), 20));
        }`);
      await daemon.shell('tonearm progress begin --total 1');
      await daemon.runs('running', 'socket');
      assert.equal(heard.filter(({ type }) => type === 'upgrade.progress').length, 1);
      assert.match((await daemon.ask('GET', '/health')).text, /"restarts":0/);
    });

    test('it is closed to others', async () => {
      await daemon.begin(READ_ONLY);
      assert.equal(await daemon.shell(`stat -c %a ${SOCKET} $(dirname ${SOCKET})`), '600\n700\n');
    });
  });

  test('read-only: the result file alone, and no bus', async () => {
    await daemon.begin(READ_ONLY);
    assert.equal(await daemon.post('/upgrade/start'), 404);
    assert.equal(await daemon.post('/upgrade/check'), 404);
    const nothing = await daemon.answers();
    assert.deepEqual([nothing.current, nothing.latest, nothing.upgrade_available], ['', '', false]);
    assert.match((await daemon.ask('GET', '/health')).text, /it does not exist/);
    await daemon.shell(
      `mkdir -p $(dirname ${RESULT}); echo '{"current":"1","latest":"2","upgrade_available":true,"n":1.50}' > ${RESULT}`,
    );
    await daemon.sees('the file', ({ latest }) => latest === '2');
    assert.match((await daemon.ask('GET', '/upgrade')).text, /"extra":\{"n":1\.50\}/);
    assert.doesNotMatch((await daemon.ask('GET', '/health')).text, /detail/);
    await daemon.shell(`echo '{"current":' > ${RESULT}`);
    await waitFor('the reason', 5_000, async () =>
      /not a JSON object/.test((await daemon.ask('GET', '/health')).text) ? true : undefined,
    );
    assert.equal((await daemon.answers()).latest, '2');
  });

  describe('the examples', () => {
    const UNITS = ['tonearm-detect.service', 'tonearm-detect.timer', 'tonearm-upgrade.service'];

    before(async () => {
      await daemon.node.install(EXAMPLES, '/usr/lib/tonearm/upgrade');
      for (const unit of UNITS) {
        await daemon.node.writeUnit('user', unit, readFileSync(`${EXAMPLES}/${unit}`, 'utf8'));
      }
      // A node has its own package and its rule for sudo; here are a package that is there, and a sudo that only notes.
      const settings =
        '[Service]\nEnvironment=TONEARM_UPGRADE_PACKAGE=bash PATH=/opt/fake:/usr/local/bin:/usr/bin:/bin\n';
      for (const unit of ['tonearm-detect.service', 'tonearm-upgrade.service']) {
        await daemon.node.root('mkdir', '-p', `/etc/systemd/user/${unit}.d`);
        await daemon.node.writeFile(`/etc/systemd/user/${unit}.d/test.conf`, settings);
      }
      await daemon.node.writeFile(
        '/opt/fake/sudo',
        '#!/bin/sh\nprintf "%s " "$@" >> /home/pi/as-root\n',
        '755',
      );
      await daemon.systemctl('daemon-reload');
    });

    test('check, upgrade, with a restart of the daemon as one of the steps', async () => {
      await daemon.begin(
        `{enabled: true, resultFile: ${RESULT}, checkUnit: tonearm-detect.service, upgradeUnit: tonearm-upgrade.service}`,
      );
      const heard = await daemon.listen();
      assert.equal(await daemon.post('/upgrade/check'), 202);
      const found = await daemon.sees('the detector', ({ current }) => current !== '');
      assert.equal(found.extra?.['package'], 'bash');
      assert.ok(heard.some(({ type, data }) => type === 'upgrade.info' && data.includes('"package":"bash"')));
      daemon.end();
      const before = await daemon.shell('systemctl --user show -P MainPID tonearm.service');
      assert.equal(await daemon.post('/upgrade/start'), 202);
      await daemon.runs('idle', 'systemd');
      assert.notEqual(await daemon.shell('systemctl --user show -P MainPID tonearm.service'), before);
      assert.match(await daemon.shell('cat ~/as-root'), /-n apt-get -qq install --only-upgrade --yes bash/);
    });

    test('the timer looks every day', async () => {
      await daemon.systemctl('enable', '--now', 'tonearm-detect.timer');
      const next = await daemon.shell('systemctl --user show -P NextElapseUSecRealtime tonearm-detect.timer');
      assert.notEqual(next.trim(), '');
      await daemon.systemctl('disable', '--now', 'tonearm-detect.timer');
    });
  });
}
