// The page in a browser on this machine, on the real node's units: what is clicked is read by systemctl, and what systemctl does is seen.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { type OpenBrowser, openChromium } from '../../browser/chromium.js';
import { lacks } from '../../tools/requirements.js';
import { until } from '../../until.js';
import type { Node } from '../node.js';
import { SEEN_WITHIN_MS } from './held-daemon.js';
import { SystemdDaemon } from './systemd-daemon.js';

const UNIT = 'clicked.service';
const TEXT = `[Unit]\nDescription=A player\n[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=default.target\n`;
const LISTS = `{system: [dbus.service], user: [${UNIT}]}`;

/** A TCP port of this machine that leads to the node's, for programs that know no unix sockets. */
async function portTo(node: Node): Promise<Server> {
  const path = await node.door();
  const server = createServer((near) => {
    const far = connect(path);
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far);
    far.pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export function pageScenarios(node: () => Node): void {
  describe('in Chromium', { skip: lacks({ programs: ['chromium'] }) }, () => {
    const daemon = new SystemdDaemon(node);
    let way: Server;
    let browser: OpenBrowser;
    let page: Page;

    const shows = async (property: string, value: string): Promise<void> => {
      await until(
        `${property} is ${value}`,
        async () =>
          (await node().user('systemctl', '--user', 'show', '-P', property, UNIT)).stdout.trim() === value,
        SEEN_WITHIN_MS,
      );
    };

    before(async () => {
      await daemon.install();
      await daemon.write(UNIT, TEXT);
      await daemon.systemctl('daemon-reload');
      await daemon.begin(LISTS);
      way = await portTo(node());
      browser = await openChromium({ locale: 'en-GB' });
      page = await browser.context.newPage();
      await page.goto(`http://127.0.0.1:${(way.address() as AddressInfo).port}/ui`);
    });
    after(async () => {
      await browser.close();
      way.close();
      await daemon.end();
      await daemon.systemctl('disable', '--now', UNIT);
    });

    test('a unit is started, stopped and enabled', async () => {
      await page.getByRole('button', { name: 'Start A player', exact: true }).click();
      await shows('ActiveState', 'active');
      await page.getByRole('button', { name: 'Stop A player', exact: true }).press('Enter');
      await shows('ActiveState', 'inactive');
      await page.getByRole('switch', { name: 'Autostart of A player' }).press('Space');
      await shows('UnitFileState', 'enabled');
      await page.getByRole('switch', { name: 'Autostart of A player' }).click();
      await shows('UnitFileState', 'disabled');
    });

    test('what others do is seen, and a unit of the system is only shown', async () => {
      await daemon.systemctl('start', UNIT);
      await page.getByRole('button', { name: 'Stop A player', exact: true }).waitFor();
      const system = page.locator('.service').filter({ hasText: 'dbus.service' });
      assert.equal(await system.getByText('View only').count(), 1);
      assert.equal(await system.getByRole('button').count(), 0);
    });
  });
}
