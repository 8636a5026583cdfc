// Tests the page in a real Chromium with the built daemon and a real sound server. pactl shows the effect of
// clicks, keys and drags. After a restart of the sound server the page needs no reload.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { audioForAll } from '../contract/audio-node.js';
import { type Listed, percents } from '../sound/pactl.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { spotOn } from './finger.js';
import { DESK } from './pages.js';

/** A drag handle is wider and higher than this, and so is each output in the tray. */
const INSIDE_PX = 20;

const skip = skipReason({ programs: ['chromium', 'pulseaudio', 'pactl', 'pacat'] });

describe('the page of a node with a sound server', { skip }, () => {
  const audioNode = audioForAll();
  let browser: OpenBrowser;
  let page: Page;
  /** Requests to other hosts, and errors of the page. */
  const defects: string[] = [];

  const volumeOf = (name: string): Locator =>
    page.getByRole('slider', { name: `Volume of ${name}`, exact: true });

  before(async () => {
    browser = await openChromium(DESK);
    browser.context.on('request', (request) => {
      if (new URL(request.url()).hostname !== '127.0.0.1') defects.push(request.url());
    });
    page = await browser.context.newPage();
    page.on('pageerror', (error) => defects.push(error.message));
    await page.goto(`http://127.0.0.1:${audioNode.daemon.port}/ui`);
    await page.locator('.output').first().waitFor();
    // A reload would remove this variable. The last test checks that it is still there.
    await page.evaluate('window.sameDocument = true');
  });
  after(() => browser.close());

  test('a slider follows the mouse, and the output gets the last volume', async () => {
    const slider = volumeOf('Living room');
    await page.mouse.move(...(await spotOn(slider, 1)));
    await page.mouse.down();
    for (const fraction of [0.9, 0.7, 0.5, 0.4, 0.3])
      await page.mouse.move(...(await spotOn(slider, fraction)), { steps: 5 });
    await page.mouse.up();

    // Chromium draws the result of the mouse's last step in the next frame.
    const percentOfSlider = await until('the slider is where the mouse is', async () => {
      const value = Number(await slider.inputValue());
      return Math.abs(value - 30) <= 1 ? value : undefined;
    });
    await until(`the output has ${percentOfSlider} %`, async () => {
      const living = (await audioNode.sound.sinks()).find(({ name }) => name === 'living');
      return living && percents(living).every((percent) => percent === percentOfSlider);
    });
    assert.equal(Number(await slider.inputValue()), percentOfSlider);
  });

  test('the page displays a sink input while it exists, and controls its volume, its mute and its output', async () => {
    // The page must display this markup as text.
    const name = 'Morning <b>show</b>';
    const playing = await audioNode.sound.play({ app: 'Radio', name, sink: 'living' });
    const card = page.locator('.stream').filter({ hasText: name });
    const untilSinkInputIs = (what: string, isExpected: (sinkInput: Listed) => boolean): Promise<unknown> =>
      until(`the sink input is ${what}`, async () => (await audioNode.sound.sinkInputs()).some(isExpected));
    const untilOutputIs = (output: string): Promise<unknown> =>
      until(`the output of the sink input is ${output}`, async () => {
        const [client] = await audioNode.daemon.read<{ output: string }[]>('/audio/clients');
        return client?.output === output;
      });
    await card.waitFor();

    await volumeOf(name).press('Home');
    await untilSinkInputIs('at 0 %', (sinkInput) => percents(sinkInput)[0] === 0);
    await page.getByRole('button', { name: `Mute ${name}` }).click();
    await untilSinkInputIs('muted', ({ mute }) => mute);
    await page.getByRole('combobox', { name: `Output of ${name}` }).selectOption('kitchen');
    await untilOutputIs('kitchen');

    const handleBox = await card.locator('.drag-handle').boundingBox();
    assert.ok(handleBox);
    await page.mouse.move(handleBox.x + INSIDE_PX, handleBox.y + INSIDE_PX);
    await page.mouse.down();
    // This movement begins the drag. Then the page draws the tray, which has all outputs.
    await page.mouse.move(handleBox.x + 40, handleBox.y + 60, { steps: 4 });
    const target = await page.locator('.tray-output').filter({ hasText: 'Living room' }).boundingBox();
    assert.ok(target, 'the tray has the living room');
    await page.mouse.move(target.x + INSIDE_PX, target.y + INSIDE_PX, { steps: 8 });
    await page.mouse.up();
    await page.locator('.tray').waitFor({ state: 'detached' });
    await untilOutputIs('living');

    await playing.stop();
    await card.waitFor({ state: 'detached' });
  });

  test('the page names the machine from which a sink input comes, unless this machine is the node itself', async () => {
    const props = { 'application.process.host': 'laptop' };
    const { sound } = audioNode;
    const [near, far] = await Promise.all([
      sound.play({ app: 'Radio', name: 'Near' }),
      sound.play({ app: 'Radio', name: 'Far', props }),
    ]);
    const subtitle = (name: string) => page.locator('.stream').filter({ hasText: name }).locator('.quiet');
    assert.equal(await subtitle('Far').textContent(), 'Radio · from laptop');
    assert.equal(await subtitle('Near').textContent(), 'Radio');
    await Promise.all([near.stop(), far.stop()]);
  });

  test('the page shows the outputs again after a restart of the sound server, without a reload', async () => {
    const { sound } = audioNode;
    await sound.kill('SIGKILL');
    await page.getByText('Not connected, trying again').first().waitFor();
    assert.equal(await page.locator('.output').count(), 0);
    await sound.restart();
    await page.locator('.output').filter({ hasText: 'Living room' }).waitFor();

    // Since the restart the output has never been awake, so it might ignore the volume (sound/server.ts).
    await sound.wake('living');
    await sound.pactl('set-sink-volume', 'living', '51%');
    await until('the page displays 51 %', async () => (await volumeOf('Living room').inputValue()) === '51');

    assert.equal(await page.evaluate('window.sameDocument'), true, 'the page was never reloaded');
    assert.deepEqual(defects, [], 'no request to another host, and no error');
  });
});
