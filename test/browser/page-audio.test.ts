// Tests the page in a real Chromium on the built daemon and a real sound server: pactl shows the effect of
// clicks, typing and drags, and what goes away comes back without a reload.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { audioForAll } from '../contract/audio-node.js';
import { type Listed, percents } from '../sound/pactl.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { spotOn } from './finger.js';
import { DESK } from './pages.js';

const skip = lacks({ programs: ['chromium', 'pulseaudio', 'pactl', 'pacat'] });

describe('the page on a sound server', { skip }, () => {
  const audible = audioForAll();
  let browser: OpenBrowser;
  let page: Page;
  const foreign: string[] = [];

  const volumeOf = (name: string): Locator =>
    page.getByRole('slider', { name: `Volume of ${name}`, exact: true });

  before(async () => {
    browser = await openChromium(DESK);
    browser.context.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') foreign.push(request.url());
    });
    page = await browser.context.newPage();
    page.on('pageerror', (error) => foreign.push(error.message));
    await page.goto(`http://127.0.0.1:${audible.daemon.port}/ui`);
    await page.locator('.output').first().waitFor();
    await page.evaluate('window.sameDocument = true');
  });
  after(() => browser.close());

  test('a volume follows the mouse, and the last value arrives', async () => {
    const slider = volumeOf('Living room');
    await page.mouse.move(...(await spotOn(slider, 1)));
    await page.mouse.down();
    for (const part of [0.9, 0.7, 0.5, 0.4, 0.3])
      await page.mouse.move(...(await spotOn(slider, part)), { steps: 5 });
    await page.mouse.up();
    // Chromium draws the result of the mouse's last step in the next frame.
    const percentOfSlider = await until('the slider is where the mouse is', async () => {
      const value = Number(await slider.inputValue());
      return Math.abs(value - 30) <= 1 ? value : undefined;
    });
    await until(`the output has ${percentOfSlider} %`, async () => {
      const living = (await audible.sound.sinks()).find(({ name }) => name === 'living');
      return living && percents(living).every((percent) => percent === percentOfSlider);
    });
    assert.equal(Number(await slider.inputValue()), percentOfSlider);
  });

  test('a stream appears, is set, muted, moved by the menu and by dragging, and ends', async () => {
    const name = 'Morning <b>show</b>';
    const playing = await audible.sound.play({ app: 'Radio', name, sink: 'living' });
    const row = page.locator('.stream').filter({ hasText: name });
    const inputHas = (what: string, is: (input: Listed) => boolean): Promise<unknown> =>
      until(what, async () => (await audible.sound.sinkInputs()).some(is));
    const isIn = (where: string): Promise<unknown> =>
      until(`it plays in the ${where}`, async () => {
        const [client] = await audible.daemon.read<{ output: string }[]>('/audio/clients');
        return client?.output === where;
      });
    await row.waitFor();
    await volumeOf(name).press('Home');
    await inputHas('0 %', (input) => percents(input)[0] === 0);
    await page.getByRole('button', { name: `Mute ${name}` }).click();
    await inputHas('muted', ({ mute }) => mute);
    await page.getByRole('combobox', { name: `Output of ${name}` }).selectOption('kitchen');
    await isIn('kitchen');
    const handle = await row.locator('.drag-handle').boundingBox();
    assert.ok(handle);
    await page.mouse.move(handle.x + 20, handle.y + 20);
    await page.mouse.down();
    await page.mouse.move(handle.x + 40, handle.y + 60, { steps: 4 });
    const target = await page.locator('.tray-output').filter({ hasText: 'Living room' }).boundingBox();
    assert.ok(target, 'every output is within reach');
    await page.mouse.move(target.x + 20, target.y + 20, { steps: 8 });
    await page.mouse.up();
    await page.locator('.tray').waitFor({ state: 'detached' });
    await isIn('living');
    await playing.stop();
    await row.waitFor({ state: 'detached' });
  });

  test('a stream of another machine names that machine, and one of the node itself none', async () => {
    const props = { 'application.process.host': 'laptop' };
    const { sound } = audible;
    const [near, far] = await Promise.all([
      sound.play({ app: 'Radio', name: 'Near' }),
      sound.play({ app: 'Radio', name: 'Far', props }),
    ]);
    const subtitle = (name: string) => page.locator('.stream').filter({ hasText: name }).locator('.quiet');
    assert.equal(await subtitle('Far').textContent(), 'Radio · from laptop');
    assert.equal(await subtitle('Near').textContent(), 'Radio');
    await Promise.all([near.stop(), far.stop()]);
  });

  test('after a restart of the sound server the page comes back by itself', async () => {
    const { sound } = audible;
    await sound.kill('SIGKILL');
    await page.getByText('Not connected, trying again').first().waitFor();
    assert.equal(await page.locator('.output').count(), 0);
    await sound.restart();
    await page.locator('.output').filter({ hasText: 'Living room' }).waitFor();
    await sound.wake('living');
    await sound.pactl('set-sink-volume', 'living', '51%');
    await until('51 % is shown', async () => (await volumeOf('Living room').inputValue()) === '51');
    assert.equal(await page.evaluate('window.sameDocument'), true, 'it has never reloaded');
    assert.deepEqual(foreign, [], 'no error, and nothing from elsewhere');
  });
});
