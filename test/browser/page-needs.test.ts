// Tests how the page shows needs, which are things that need a person's attention (src/page/needs.ts). A line
// in the header names the most urgent need and leads to it, and the tab of each need has a mark. Also tests
// the sheet Play on, in which a touch moves the music to another output.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SETTINGS } from '../gateway/gateway-under-test.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { output, service, stream, upgrade } from './node-with-page.js';
import { commandsAre, node, openPage, openTab, PHONE, page, pageForEach } from './pages.js';

describe('the needs in the header and on the tabs', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  const failedUnit = service('shairport-sync.service', {
    description: 'AirPlay receiver',
    active_state: 'failed',
    running: false,
  });
  const noUpgrade = upgrade({});
  const needLine = () => page.locator('header .need');
  const markedTabs = () =>
    page
      .locator('.tab')
      .filter({ has: page.locator('.mark') })
      .allTextContents();

  test('the header names no need while all is well', async () => {
    await openPage({ systemd: [service('mpd.service')], upgrade: noUpgrade });
    assert.equal(await needLine().count(), 0);
    assert.deepEqual(await markedTabs(), []);
  });

  test('the header names the most urgent need and counts the others, and a touch leads to the section of that need', async () => {
    await openPage({ systemd: [failedUnit] });
    await needLine()
      .getByText(/AirPlay receiver.*: Failed/)
      .waitFor();
    // The other need is the upgrade that an ordinary node offers (`ORDINARY` in node-with-page.ts).
    await needLine().getByText('and 1 more').waitFor();
    // Only the tab Node is marked. Its text is `NodeNeeds attention`, because the mark has a hidden text.
    assert.match((await markedTabs()).join(), /^Node[^,]*$/);

    await needLine().tap();
    await page.locator('main[data-tab="node"]').waitFor();
    await until('the units are in view', async () => {
      const box = await page.locator('#services').boundingBox();
      return box !== null && box.y < PHONE.viewport.height;
    });
  });

  test('the tab of a backend that is away is marked until the backend is back', async () => {
    await openPage({ systemd: [service('mpd.service')], upgrade: noUpgrade });
    node.health('bluetooth', 'failed', 'There is no adapter');
    await needLine().waitFor();
    await until('the tab is marked', async () => (await markedTabs()).length === 1);
    node.health('bluetooth', 'up');
    await needLine().waitFor({ state: 'detached' });
    assert.deepEqual(await markedTabs(), []);
  });

  test('the header names no need after the failed unit has recovered and the upgrade is done', async () => {
    await openPage({ systemd: [failedUnit] });
    await needLine().waitFor();
    node.change(service('shairport-sync.service', { description: 'AirPlay receiver' }), ...noUpgrade);
    await needLine().waitFor({ state: 'detached' });
    assert.deepEqual(await markedTabs(), []);
  });

  test('the header names no need of a backend that a reload of the configuration has disabled', async () => {
    await openPage({ systemd: [failedUnit] });
    await needLine().getByText('and 1 more').waitFor();
    const settings = {
      ...SETTINGS,
      systemd: { ...SETTINGS.systemd, enabled: false },
      upgrade: { ...SETTINGS.upgrade, enabled: false },
      bind: ['127.0.0.1'],
    };
    // The list names the backends whose settings have changed.
    node.gateway.reconfigure(settings, ['systemd', 'upgrade']);
    await needLine().waitFor({ state: 'detached' });
    assert.deepEqual(await markedTabs(), []);
  });

  test('the page offers no power actions after a reload of the configuration has disabled them', async () => {
    await openPage();
    await openTab('Node');
    const switchOffButton = () => page.getByRole('button', { name: 'Switch off' });
    await switchOffButton().waitFor();
    const settings = { ...SETTINGS, power: { ...SETTINGS.power, enabled: false }, bind: ['127.0.0.1'] };
    node.gateway.reconfigure(settings, ['power']);
    await switchOffButton().waitFor({ state: 'detached' });
  });
});

describe('the sheet Play on', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  test('a touch of another output in the sheet Play on moves the music to that output, and makes that output the default', async () => {
    await openPage();
    await page.getByRole('button', { name: /^Playing on: .*Living room/ }).tap();
    const sheet = page.getByRole('dialog', { name: 'Play on' });
    const outputButton = (name: string) => sheet.getByRole('button', { name: `Play on ${name}` });
    await outputButton('Living room').and(page.locator('[aria-pressed=true]')).tap();
    await outputButton('Kitchen').tap();
    // The touch of the output that already plays has sent no command.
    await commandsAre({ do: 'default', output: '1', move: true });
    await outputButton('Kitchen').and(page.locator('[aria-pressed=true]')).waitFor();
    // Stream 10 belongs to the ordinary player, whose process id is 4711 (node-with-page.ts).
    node.change(
      output(0, { default: false }),
      output(1, { default: true, description: 'Kitchen' }),
      stream(10, { output: 'output-1', props: { 'application.process.id': '4711' } }),
    );
    await sheet.getByRole('button', { name: 'Close' }).tap();
    await page.getByRole('button', { name: /^Playing on: .*Kitchen/ }).waitFor();
  });

  test('a refusal is displayed in the sheet Play on, and the music stays on its output', async () => {
    await openPage();
    node.backends.answer = { ok: false, error: { fault: 'refused', detail: 'It is used by another' } };
    await page.getByRole('button', { name: /^Playing on: .*Living room/ }).tap();
    const sheet = page.getByRole('dialog', { name: 'Play on' });
    await sheet.getByRole('button', { name: 'Play on Kitchen' }).tap();
    // A notice outside of the sheet would be inert, and could not be touched.
    await sheet.getByRole('alert').getByText('Play on Kitchen did not work').tap({ trial: true });
    await sheet.getByRole('button', { name: 'Play on Living room', pressed: true }).waitFor();
  });

  test('a refusal that comes after the sheet Play on was closed is displayed on the page', async () => {
    await openPage();
    const answer = node.backends.hold();
    await page.getByRole('button', { name: /^Playing on: .*Living room/ }).tap();
    const sheet = page.getByRole('dialog', { name: 'Play on' });
    await sheet.getByRole('button', { name: 'Play on Kitchen' }).tap();
    await commandsAre({ do: 'default', output: '1', move: true });
    await sheet.getByRole('button', { name: 'Close' }).tap();
    await sheet.waitFor({ state: 'detached' });
    answer.resolve({ ok: false, error: { fault: 'refused', detail: 'It is used by another' } });
    await page.getByRole('alert').getByText('Play on Kitchen did not work').tap({ trial: true });
  });
});
