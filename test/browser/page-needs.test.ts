// Tests what needs a person: one line in the header, a dot on each tab, and the way there; and where the
// music plays, which one touch changes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { output, service, stream, upgrade } from './node-with-page.js';
import { commandsAre, node, openPage, PHONE, page, pageForEach } from './pages.js';

describe('the header line for what needs a person', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  const failed = service('shairport-sync.service', {
    description: 'AirPlay receiver',
    active_state: 'failed',
    running: false,
  });
  const line = () => page.locator('header .need');
  const marked = () =>
    page
      .locator('.tab')
      .filter({ has: page.locator('.mark') })
      .allTextContents();

  test('nothing is said while all is well', async () => {
    await openPage({ systemd: [service('mpd.service')], upgrade: upgrade({}) });
    assert.equal(await line().count(), 0);
    assert.deepEqual(await marked(), []);
  });

  test('the worst is said first, with how many more there are, and a touch leads there', async () => {
    await openPage({ systemd: [failed] });
    await line()
      .getByText(/AirPlay receiver.*: Failed/)
      .waitFor();
    await line().getByText('and 1 more').waitFor();
    assert.match((await marked()).join(), /^Node[^,]*$/);
    await line().tap();
    await page.locator('main[data-tab="node"]').waitFor();
    await until('the units are in view', async () => {
      const box = await page.locator('#services').boundingBox();
      return box !== null && box.y < PHONE.viewport.height;
    });
  });

  test('a part that is away marks its tab, until it is back', async () => {
    await openPage({ systemd: [service('mpd.service')], upgrade: upgrade({}) });
    node.health('bluetooth', 'failed', 'There is no adapter');
    await line().waitFor();
    await until('the tab is marked', async () => (await marked()).length === 1);
    node.health('bluetooth', 'up');
    await line().waitFor({ state: 'detached' });
    assert.deepEqual(await marked(), []);
  });

  test('a unit that has recovered and an upgrade that is done are no longer said', async () => {
    await openPage({ systemd: [failed] });
    await line().waitFor();
    node.change(service('shairport-sync.service', { description: 'AirPlay receiver' }), ...upgrade({}));
    await line().waitFor({ state: 'detached' });
    assert.deepEqual(await marked(), []);
  });
});

describe('where it plays', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(PHONE);

  test('a touch of another output moves there what plays, and makes it the default', async () => {
    await openPage();
    await page.getByRole('button', { name: /^Playing on: .*Living room/ }).tap();
    const sheet = page.getByRole('dialog', { name: 'Play on' });
    const place = (name: string) => sheet.getByRole('button', { name: `Play on ${name}` });
    await place('Living room').and(page.locator('[aria-pressed=true]')).tap();
    await place('Kitchen').tap();
    // A touch of where it plays already has asked for nothing.
    await commandsAre({ do: 'default', output: '1', move: true });
    await place('Kitchen').and(page.locator('[aria-pressed=true]')).waitFor();
    node.change(
      output(0, { default: false }),
      output(1, { default: true, description: 'Kitchen' }),
      stream(10, { output: 'output-1', props: { 'application.process.id': '4711' } }),
    );
    await sheet.getByRole('button', { name: 'Close' }).tap();
    await page.getByRole('button', { name: /^Playing on: .*Kitchen/ }).waitFor();
  });

  test('a refusal is said, and it plays on where it was', async () => {
    await openPage();
    node.backends.answer = { ok: false, error: { fault: 'refused', detail: 'It is used by another' } };
    await page.getByRole('button', { name: /^Playing on: .*Living room/ }).tap();
    const sheet = page.getByRole('dialog', { name: 'Play on' });
    await sheet.getByRole('button', { name: 'Play on Kitchen' }).tap();
    await page.getByText('Play on Kitchen did not work').waitFor();
    await sheet.getByRole('button', { name: 'Play on Living room', pressed: true }).waitFor();
  });
});
