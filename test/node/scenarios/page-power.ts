// The page and the node's power: nothing happens before a question that names the node is answered, a reboot ends with the same page
// showing the node as it is then, and at the end the node is switched off.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NODE_HOSTNAME } from '../node.js';
import { shell } from './commands.js';
import { ANY_TITLE, type PageOnNode } from './page-on-node.js';

export function pagePowerScenarios(on: PageOnNode): void {
  const named = (words: RegExp): RegExp => new RegExp(`${words.source} \\W?${NODE_HOSTNAME}`);

  test('a question names the node; its first button, and Escape, do nothing', async () => {
    for (const [action, question] of [
      ['Restart node', /^Restart/],
      ['Switch off', /^Switch off/],
    ] as const) {
      const dialog = on.page.getByRole('dialog', { name: named(question) });
      await on.button(action).press('Enter');
      await dialog.waitFor();
      await on.page.keyboard.press('Enter');
      await dialog.waitFor({ state: 'hidden' });
      await on.button(action).click();
      await dialog.waitFor();
      await on.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    }
    assert.match(await shell(on.node, 'systemctl is-system-running || true'), /running|degraded/);
    await on.page.getByText('Connected', { exact: true }).waitFor();
  });

  test('a reboot is shown, and the page comes back by itself', async () => {
    const { page } = on;
    if ((await page.getByRole('switch', { name: 'Start Radio automatically' }).count()) === 0)
      await on.button('More of Radio').click();
    await page.getByRole('switch', { name: 'Start Radio automatically', checked: true }).click();
    await page.getByRole('switch', { name: 'Start Radio automatically', checked: false }).waitFor();
    // That has stopped it.
    await on.button('Start Radio').click();
    await on.unit('Radio').getByText('Running').waitFor();
    assert.equal(await on.property('radio.service', 'ActiveState'), 'active');
    await on.node.reboot(async () => {
      await on.button('Restart node').click();
      await page.getByRole('button', { name: named(/^Restart/) }).click();
      await page.getByText('Restarting', { exact: true }).waitFor();
    });
    await on.node.door();
    await page.getByText('Connected', { exact: true }).waitFor();
    await on.unit('Radio').getByText('Stopped').waitFor();
    await page.getByRole('slider', { name: 'Volume of Living' }).waitFor();
    await page.locator('.player').getByText(ANY_TITLE).waitFor();
    await on.button('Start Radio').click();
    await on.unit('Radio').getByText('Running').waitFor();
    assert.equal(await on.property('radio.service', 'ActiveState'), 'active');
  });
  test('a power-off is shown, and stays shown', async () => {
    const { page } = on;
    await on.node.powerOff(async () => {
      await on.button('Switch off').click();
      await page.getByRole('button', { name: named(/^Switch off/) }).click();
      await page.getByText(new RegExp(`${NODE_HOSTNAME}\\W? is switched off`)).waitFor();
    });
    await page.getByRole('button', { name: 'Try now' }).waitFor();
    assert.equal(await page.getByText('is switched off').count(), 1);
  });
}
