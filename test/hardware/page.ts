// A scenario of the machine's page, which a Chromium outside of the machine opens.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openChromium } from '../browser/chromium.js';
import { DESK } from '../browser/pages.js';
import { skipReason } from '../tools/requirements.js';
import { STEREO } from './cards.js';
import { LOOPBACK, untilTwoCards } from './hot-plug.js';
import { type EmulatedNode, SLOW_MS } from './node.js';

export function pageScenarios(node: () => EmulatedNode): void {
  test('the page shows the profiles of a card, and begins and ends pairing mode', {
    skip: skipReason({ programs: ['chromium'] }),
  }, async () => {
    await untilTwoCards(node());
    const { context, close } = await openChromium(DESK);
    try {
      context.setDefaultTimeout(SLOW_MS);
      const page = await context.newPage();
      await page.goto(`http://127.0.0.1:${node().machine.port}/`);

      const output = page.locator(`[data-output="${LOOPBACK}"]`);
      await output.getByRole('button', { name: /^More of / }).click();
      const profiles = output.getByRole('combobox', { name: /^Profile of / });
      assert.equal(await profiles.inputValue(), STEREO);
      assert.ok((await profiles.locator('option').count()) > 1);

      const bluetooth = page.locator('#bluetooth');
      const button = (name: string) => bluetooth.getByRole('button', { name, exact: true });
      await bluetooth.getByRole('switch', { name: 'Bluetooth', checked: true }).waitFor();
      await button('Pair a phone').click();
      const sheet = page.getByRole('dialog', { name: 'Pair a phone' });
      await sheet.getByText(/^\d+ s$/).waitFor();
      await sheet.getByRole('button', { name: 'Stop pairing' }).click();
      await button('Pair a phone').waitFor();
    } finally {
      await close();
    }
  });
}
