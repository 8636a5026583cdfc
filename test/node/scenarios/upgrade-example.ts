// Scenarios of the shipped detector, timer and upgrade script, which run unchanged. The first scenarios have
// a sudo that only records its arguments. The others have the real sudo and apt, and a repository that
// upgrade-repository.ts makes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../until.js';
import { READ_ONLY, RESULT, type UpgradeDaemon } from './upgrade-daemon.js';
import { PACKAGE, Repository } from './upgrade-repository.js';

const PACKAGING = fileURLToPath(new URL('../../../../packaging', import.meta.url));
const EXAMPLES = `${PACKAGING}/upgrade`;
const SHIPPED_UNIT = readFileSync(`${PACKAGING}/tonearm.service`, 'utf8');

export function exampleScenarios(daemon: UpgradeDaemon): void {
  const UNITS = ['tonearm-detect.service', 'tonearm-detect.timer', 'tonearm-upgrade.service'];

  /**
   * Sets the environment of the examples' units, such as the package that they upgrade. Also removes the
   * limit of the units' starts. A quick machine starts them here more than five times within 10 s, and
   * systemd would refuse the sixth start.
   */
  const setEnvironment = async (variables: string) => {
    const settings = `[Unit]\nStartLimitIntervalSec=0\n[Service]\nEnvironment=${variables}\n`;
    for (const unit of ['tonearm-detect', 'tonearm-upgrade'])
      await daemon.node.writeFile(`/etc/systemd/user/${unit}.service.d/test.conf`, settings);
    await daemon.systemctl('daemon-reload');
  };

  before(async () => {
    await daemon.node.install(EXAMPLES, '/usr/lib/tonearm/upgrade');
    for (const unit of UNITS)
      await daemon.node.writeUnit('user', unit, readFileSync(`${EXAMPLES}/${unit}`, 'utf8'));
    // The daemon's unit gets the relations to other units that the shipped unit has. The daemon's unit is
    // enabled, as on a node.
    const relations = SHIPPED_UNIT.replace(/^\[Service\][^[]*/m, '');
    await daemon.node.writeFile('/etc/systemd/user/tonearm.service.d/shipped.conf', relations);
    await setEnvironment('TONEARM_UPGRADE_PACKAGE=bash PATH=/opt/fake:/usr/local/bin:/usr/bin:/bin');
    await daemon.systemctl('enable', 'tonearm.service');
    const recordArguments = '#!/bin/sh\nprintf "%s " "$@" >> /home/pi/as-root\n';
    await daemon.node.writeFile('/opt/fake/sudo', recordArguments, '755');
    // The detector counts the lines that begin with `Inst`. The real apt-get takes seconds to print them.
    await daemon.node.writeFile('/opt/fake/apt-get', '#!/bin/sh\necho Inst bash\n', '755');
  });

  after(() => daemon.systemctl('disable', 'tonearm.service'));

  const UPGRADE = `{enabled: true, resultFile: ${RESULT}, checkUnit: tonearm-detect.service, upgradeUnit: tonearm-upgrade.service}`;

  test('the shipped units check for an upgrade and carry it out, and a step of the upgrade restarts the daemon', async () => {
    await daemon.beginWithConfig(UPGRADE);
    const received = await daemon.listen();
    assert.equal(await daemon.post('/upgrade/check'), 202);
    await daemon.unitEnds('tonearm-detect.service');
    const found = await daemon.waitFor('the result of the detector', ({ current }) => current !== '');
    assert.equal(found.extra?.['package'], 'bash');
    const { check } = await daemon.waitFor(
      'the end of the check',
      (upgrade) => upgrade.check?.finished_at !== undefined,
    );
    assert.equal(check?.state, 'idle');
    for (const [event, part] of [
      ['upgrade.check', '{"state":"running"'],
      ['upgrade.info', '"package":"bash"'],
    ] as const)
      await until(`${part} is sent`, () =>
        received.some(({ type, data }) => type === event && data.includes(part)),
      );
    daemon.stopListening();

    const pidBefore = await daemon.node.property('MainPID');
    await daemon.startUpgrade();
    await daemon.untilRun('idle');
    assert.notEqual(await daemon.node.property('MainPID'), pidBefore);
    assert.match(await daemon.shell('cat ~/as-root'), /-n apt-get -qq install --only-upgrade --yes bash/);
  });

  test('the timer of the example has a time for its next check', async () => {
    await daemon.systemctl('enable', '--now', 'tonearm-detect.timer');
    const nextCheck = await daemon.node.property('NextElapseUSecRealtime', 'tonearm-detect.timer');
    assert.notEqual(nextCheck, '', 'the timer has no next check');
    await daemon.systemctl('disable', '--now', 'tonearm-detect.timer');
  });

  describe('with the real sudo and apt', () => {
    const repository = new Repository(daemon);
    const NO_FURTHER_SOURCE = '';
    const BROKEN_SOURCE = 'deb [trusted=yes] file:/nowhere ./';

    before(async () => {
      await repository.make();
      await setEnvironment(`TONEARM_UPGRADE_PACKAGE=${PACKAGE} PATH=/usr/local/bin:/usr/bin:/bin`);
    });
    beforeEach(() => daemon.beginWithConfig(UPGRADE));
    after(() => repository.remove());

    const untilUpgradedTo = async (version: number) => {
      await daemon.untilRun('idle');
      assert.equal(await repository.installed(), `${version}`);
    };
    const untilStep = (step: string) => daemon.waitFor(step, ({ run }) => run.step === step);

    test('an upgrade waits for another apt that is at work, and reports this in its step and its log', async () => {
      await repository.publish(2);
      const release = await repository.holdLock();
      await daemon.startUpgrade();
      await untilStep('Waiting for another package manager');
      await daemon.logHas(/^E: Could not get lock .* held by process \d+ \(apt-get\)/);
      await release();
      await untilUpgradedTo(2);
    });

    test('an installation that a power cut has interrupted is mended', async () => {
      await repository.publish(3);
      await repository.interrupt();
      await daemon.startUpgrade();
      await daemon.logHas(/^E: dpkg was interrupted/);
      await untilUpgradedTo(3);
    });

    test('an upgrade goes on although an unrelated repository is broken, and logs the error', async () => {
      await repository.publish(4, BROKEN_SOURCE);
      await daemon.startUpgrade();
      await untilUpgradedTo(4);
      await daemon.logHas(/^E: .*\/nowhere/);
      await daemon.logHas(/not all package lists could be read: going on/);
    });

    test('an upgrade fails if one repository is broken and the others have nothing newer, because the broken one may have a newer version', async () => {
      // The test above has installed version 4.
      await repository.publish(4, BROKEN_SOURCE);
      await daemon.startUpgrade();
      await daemon.untilRun('failed');
      await daemon.logHas(/have nothing newer than tonearm-example 4$/);
    });

    test('the log of a failed upgrade has the output of apt and of the package, and the next upgrade succeeds', async () => {
      const failingPostinst = 'echo "no room left here" >&2; exit 3';
      await repository.publish(5, NO_FURTHER_SOURCE, failingPostinst);
      await daemon.startUpgrade();
      await daemon.untilRun('failed');
      await daemon.logHas(/^no room left here$/);
      await daemon.logHas(/^E: Sub-process \/usr\/bin\/dpkg returned an error code/);
      await repository.publish(6);
      await daemon.startUpgrade();
      await untilUpgradedTo(6);
    });

    test('a package on hold is not offered', async () => {
      await repository.publish(7);
      await daemon.node.shell(`apt-get -qq update; apt-mark hold ${PACKAGE}`);
      const checkFinds = async (isOnHold: boolean) => {
        assert.equal(await daemon.post('/upgrade/check'), 202);
        return daemon.waitFor(`hold: ${isOnHold}`, ({ extra }) => extra?.['held'] === isOnHold);
      };
      const onHold = await checkFinds(true);
      // The test above has installed version 6.
      assert.deepEqual([onHold.current, onHold.latest, onHold.upgrade_available], ['6', '7', false]);
      await daemon.node.shell(`apt-mark unhold ${PACKAGE}`);
      assert.equal((await checkFinds(false)).upgrade_available, true);
    });

    test('a script that a user runs by sudo reports to the daemon of this user', async () => {
      await daemon.beginWithConfig(READ_ONLY);
      await daemon.shell('sudo -n /usr/local/bin/tonearm progress begin --total 1');
      await daemon.untilRun('running', 'socket');
    });
  });
}
