// The page and an upgrade by the shipped example: looked for, begun, followed over its restart of the daemon, to both of its ends.

import { after, before, test } from 'node:test';
import { until } from '../../until.js';
import { shell } from './commands.js';
import type { PageOnNode } from './page-on-node.js';

/** A node has its rule for sudo; this one waits for the test before it has installed anything. */
const SUDO = `#!/bin/sh
case "$*" in
*install*) until [ -s /home/pi/verdict ]; do sleep 0.02; done; exit "$(cat /home/pi/verdict)";;
esac
`;
/** Stands in for apt-get, which takes seconds to list what it could upgrade. */
const APT_GET = '#!/bin/sh\necho Inst bash\n';
/** It reads all of apt's lists, with the least of the processor (Nice=10). */
const DETECTOR_MS = 120_000;
const SETTINGS = '[Service]\nEnvironment=PATH=/opt/fake:/usr/local/bin:/usr/bin:/bin\n';

export function pageUpgradeScenarios(on: PageOnNode): void {
  before(async () => {
    await on.node.writeFile('/opt/fake/sudo', SUDO, '755');
    await on.node.writeFile('/opt/fake/apt-get', APT_GET, '755');
    for (const unit of ['tonearm-detect', 'tonearm-upgrade'])
      await on.node.writeFile(`/etc/systemd/user/${unit}.service.d/test.conf`, SETTINGS);
    await on.systemctl('daemon-reload');
  });
  after(() => shell(on.node, 'rm -f /home/pi/verdict'));

  test('a check runs the detector', async () => {
    const is = (name: string) => on.property('tonearm-detect.service', name);
    const before = await is('InvocationID');
    await on.page.getByRole('button', { name: 'Check now' }).click();
    // The page already shows the result of the detector that ran in the set-up.
    await until(
      'the detector has run anew',
      async () => (await is('InvocationID')) !== before && (await is('ActiveState')) === 'inactive',
      DETECTOR_MS,
    );
    await on.page
      .locator('#upgrade')
      .getByText(/Installed: \W?0\.1\.0-1/)
      .waitFor();
    await on.page.locator('#upgrade').getByText('Up to date').waitFor();
  });

  for (const [verdict, said] of [
    ['1', 'The last upgrade failed'],
    ['0', 'The last upgrade succeeded'],
  ] as const) {
    test(`an upgrade shows progress, step and end: ${said}`, async () => {
      const card = on.page.locator('#upgrade');
      await shell(on.node, 'rm -f /home/pi/verdict');
      // Nothing newer is there, so that the page offers none.
      await on.page.evaluate("fetch('upgrade/start', { method: 'POST' })");
      await card.getByText(/Step: \W?Installing tonearm/).waitFor();
      await card.getByText('25%').waitFor();
      const second = await on.another();
      await second
        .locator('#upgrade')
        .getByText(/Step: \W?Installing tonearm/)
        .waitFor();
      await second.close();
      await shell(on.node, `echo ${verdict} > /home/pi/verdict`);
      await card.getByText(said).waitFor();
      await card.getByRole('button', { name: 'Check now' }).waitFor();
    });
  }
}
