// Tests Bluetooth on the page: power, pairing mode with the time that is left, known devices, and what a scan finds.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { put } from '../gateway/scripted-backends.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { bluetooth, type NodeWithPage, PHONE } from './node-with-page.js';
import { phoneForEach } from './phone.js';

const SPEAKER = { ...PHONE, address: 'AA:BB:CC:DD:EE:02', name: 'Speaker', paired: false, connected: false };

describe('Bluetooth on the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let node: NodeWithPage;
  let page: Page;
  phoneForEach((opened) => {
    ({ node, page } = opened);
  });

  const card = (): Locator => page.locator('#bluetooth');
  const button = (name: string): Locator => card().getByRole('button', { name, exact: true });
  const text = (words: string | RegExp): Promise<void> => card().getByText(words).waitFor();
  const asks = (...wanted: object[]): Promise<unknown> =>
    until(JSON.stringify(wanted), () => {
      const asked = node.backends.asked.filter(({ backend }) => backend === 'bluetooth');
      return JSON.stringify(asked.map(({ command }) => command)) === JSON.stringify(wanted);
    });

  test('a phone is paired within the shown time, and is listed then', async () => {
    node.up({ bluetooth: [bluetooth({ known_devices: [] })] });
    await page.goto(node.url);
    await text('There are no devices yet.');
    node.backends.answer = { ok: true };
    await button('Pair a phone').click();
    await asks({ do: 'pairing_mode' });
    const pairing_until = new Date(Date.now() + 60_000).toISOString();
    node.change('bluetooth', bluetooth({ known_devices: [], pairing_active: true, pairing_until }));
    await text(/^Choose .*living-room.* on the phone: \d+ s left$/);
    await button('Stop pairing').click();
    node.change('bluetooth', bluetooth());
    await text('Connected · Battery 80%');
    await button('Pair a phone').waitFor();
  });

  test('a speaker that a scan finds is connected; a device is disconnected and forgotten', async () => {
    node.up();
    await page.goto(node.url);
    node.backends.answer = { ok: true };
    await button('Look for speakers').click();
    node.change('bluetooth', bluetooth({ scanning: true }));
    await button('Stop looking').waitFor();
    node.change('bluetooth', put('bluetooth.discovered', SPEAKER.address, SPEAKER));
    await button('Connect Speaker').click();
    await button('Disconnect My phone').click();
    await button('More of My phone').click();
    await button('Forget My phone').click();
    await asks(
      { do: 'scan' },
      { do: 'connect', address: SPEAKER.address },
      { do: 'disconnect', address: PHONE.address },
      { do: 'forget', address: PHONE.address },
    );
    node.change('bluetooth', bluetooth({ known_devices: [], powered: false }));
    await until('the button is disabled', () => button('Connect Speaker').isDisabled());
    await card().getByRole('switch', { name: 'Bluetooth' }).click();
    await until('the adapter is switched on', () => node.backends.asked.at(-1)?.command.do === 'power_up');
    assert.equal(await page.locator('.notice').count(), 0);
  });
});
