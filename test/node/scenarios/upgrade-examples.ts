// The shipped examples of detector, timer and upgrade script, as they are.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../until.js';
import { RESULT, type UpgradeDaemon } from './upgrade-daemon.js';

const PACKAGING = fileURLToPath(new URL('../../../../packaging', import.meta.url));
const EXAMPLES = `${PACKAGING}/upgrade`;
const OURS = readFileSync(`${PACKAGING}/tonearm.service`, 'utf8');

export function exampleScenarios(daemon: UpgradeDaemon): void {
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
    // How the shipped unit of the daemon stands to the others. It is enabled, as it is on a node.
    const relations = OURS.replace(/^\[Service\][^[]*/m, '');
    await daemon.node.writeFile('/etc/systemd/user/tonearm.service.d/shipped.conf', relations);
    await daemon.systemctl('daemon-reload');
    await daemon.systemctl('enable', 'tonearm.service');
    await daemon.node.writeFile(
      '/opt/fake/sudo',
      '#!/bin/sh\nprintf "%s " "$@" >> /home/pi/as-root\n',
      '755',
    );
    // Stands in for apt-get, which takes seconds to list what it could upgrade.
    await daemon.node.writeFile('/opt/fake/apt-get', '#!/bin/sh\necho Inst bash\n', '755');
    await daemon.systemctl('daemon-reload');
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
    const { check } = await daemon.sees(
      'the end of the check',
      (now) => now.check?.finished_at !== undefined,
    );
    assert.equal(check?.state, 'idle');
    await until('the check is an event', () =>
      heard.some(({ data }) => data.startsWith('{"check":{"state":"running"')),
    );
    await until('the result is published', () =>
      heard.some(({ type, data }) => type === 'upgrade.info' && data.includes('"package":"bash"')),
    );
    daemon.stopListening();
    const before = await daemon.node.property('MainPID');
    await daemon.start();
    await daemon.runs('idle', 'systemd');
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
