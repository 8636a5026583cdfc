// The page and the node's units: those of the user by clicking and by the keyboard, with the effect read by systemctl; those of the system
// to be looked at; what others do; and a user bus that is restarted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { until } from '../../until.js';
import { shell } from './commands.js';
import { ANY_TITLE, type PageOnNode } from './page-on-node.js';

const RADIO = 'radio.service';

export function pageServicesScenarios(on: PageOnNode): void {
  const is = (property: string, value: string): Promise<unknown> =>
    until(`${RADIO}: ${value}`, async () => (await on.property(RADIO, property)) === value);

  test('a unit is started, restarted and stopped', async () => {
    await on.button('Start Radio').click();
    await is('ActiveState', 'active');
    await on.unit('Radio').getByText('Running').waitFor();
    await on.button('More of Radio').click();
    for (const press of [(it: Locator) => it.click(), (it: Locator) => it.press('Enter')]) {
      const pid = await on.property(RADIO, 'MainPID');
      await press(on.button('Restart Radio'));
      await until(
        'the unit has another process',
        async () => !['0', pid].includes(await on.property(RADIO, 'MainPID')),
      );
      await is('ActiveState', 'active');
    }
    await on.button('Stop Radio').press('Space');
    await is('ActiveState', 'inactive');
    await on.unit('Radio').getByText('Stopped').waitFor();
    await on.button('Start Radio').press('Enter');
    await is('ActiveState', 'active');
  });

  test('the autostart of a unit is set', async () => {
    const autostart = on.page.getByRole('switch', { name: 'Start Radio automatically' });
    await autostart.click();
    await is('UnitFileState', 'enabled');
    await autostart.press('Space');
    await is('UnitFileState', 'disabled');
    await autostart.press('Enter');
    await is('UnitFileState', 'enabled');
  });

  test('a unit of the system is shown, follows, and has no button but its name', async () => {
    await on.unit('Lamp').getByText('View only').waitFor();
    await on.unit('Lamp').getByText('Running').waitFor();
    assert.equal(await on.unit('Lamp').getByRole('button').count(), 1);
    assert.equal(await on.unit('Lamp').getByRole('switch').count(), 0);
    await shell(on.node, 'systemctl stop lamp.service');
    await on.unit('Lamp').getByText('Stopped').waitFor();
    await shell(on.node, 'systemctl start lamp.service');
    await on.unit('Lamp').getByText('Running').waitFor();
  });

  test('after a restart of the user bus players and units are shown again, and can be commanded', async () => {
    const pid = await on.property('player.service', 'MainPID');
    await on.systemctl('restart', 'dbus.service');
    await until('mpv is back with its bus', async () => {
      return !['0', pid].includes(await on.property('player.service', 'MainPID'));
    });
    await on.page.locator('.player').getByText(ANY_TITLE).waitFor();
    await on.button('Stop Radio').click();
    await is('ActiveState', 'inactive');
    await on.button('Start Radio').click();
    await is('ActiveState', 'active');
  });
}
