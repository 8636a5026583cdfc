// Tests texts of the page: whole letters, failures, headings, the order of units, a volume beyond the end of
// its slider, and the name on a home screen.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { output, player, service } from './node-with-page.js';
import { DESK, node, openPage, page, pageForEach } from './pages.js';

/** True if each line of a text is within its element, even in a font that is as tall as Noto Sans. */
const IS_WHOLE = `async (element) => {
  const tall = new FontFace('Tall', 'local("DejaVu Sans")', { ascentOverride: '106.9%', descentOverride: '29.3%' });
  document.fonts.add(await tall.load());
  element.style.fontFamily = 'Tall';
  const range = document.createRange();
  range.selectNodeContents(element);
  const box = element.getBoundingClientRect();
  return [...range.getClientRects()].every(({ top, bottom }) => top >= box.top - 0.5 && bottom <= box.bottom + 0.5);
}`;

interface AppManifest {
  readonly name: string;
  readonly icons: readonly { readonly src: string }[];
}

describe('the page', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  test('no part of a letter is cut off in the name of the node or in the title on a wall', async () => {
    // Letters such as g, y and p reach below the line.
    await openPage({ players: [player('mpd', { metadata: { 'xesam:title': 'gypsy jug' } })] });
    const isWhole = (selector: string) =>
      page.evaluate<boolean>(`(${IS_WHOLE})(document.querySelector('${selector}'))`);
    assert.equal(await isWhole('h1'), true);
    await page.goto(`${node.url}?view=now`);
    await page.locator('.wall-title').waitFor();
    assert.equal(await isWhole('.wall-title'), true);
  });

  test("the page reports a failure with the player's own reason", async () => {
    await openPage();
    const detail = 'org.mpris.MediaPlayer2.mpd did not pause: not logged in (org.example.Error)';
    node.backends.answer = { ok: false, error: { fault: 'refused', detail } };
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    // The page puts these characters around a foreign text, so that the writing direction of this text does
    // not change the sentence around it (`isolated` in language.ts).
    const isolatedReason = '\u2068not logged in\u2069';
    await page.getByText(`Pause did not work: ${isolatedReason}`, { exact: true }).waitFor();
  });

  test('the page reports in its own words that a player has not answered', async () => {
    await openPage();
    const detail = 'org.mpris.MediaPlayer2.mpd did not pause: no answer in time';
    node.backends.answer = { ok: false, error: { fault: 'timeout', detail } };
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText('Pause did not work: there was no answer in time', { exact: true }).waitFor();
  });

  test('the page does not promise the return of a service that has ended, because somebody may have stopped it', async () => {
    await openPage();
    await node.close();
    await page.getByText('Service ended', { exact: true }).waitFor();
    await page.locator('.banner').getByText('If it only restarts').waitFor();
    // The page says "by itself" only during a reboot or an upgrade.
    assert.equal(await page.getByText('by itself').count(), 0);
  });

  test('the page has a heading with the name of the node, even on a wall or with only one section', async () => {
    node.up();
    for (const query of ['?view=now', '?only=outputs']) {
      await page.goto(node.url + query);
      await page.getByRole('heading', { level: 1, name: 'living-room' }).waitFor();
    }
  });

  test('the page lists the units in the order of their names, whichever unit changed last', async () => {
    const units = ['Zither', 'amp', 'Mixer'].map((description) =>
      service(`${description}.service`, { description }),
    );
    await openPage({ systemd: units });
    const names = () => page.locator('.service .strong').allTextContents();
    await until('all units are there', async () => (await names()).length === 3);
    assert.deepEqual(await names(), ['amp', 'Mixer', 'Zither']);

    node.change(service('amp.service', { description: 'amp', enabled: false }));
    await page.reload();
    await until('all units are there', async () => (await names()).length === 3);
    assert.deepEqual(await names(), ['amp', 'Mixer', 'Zither']);
  });

  test('the page shows that an output is louder than its slider can set', async () => {
    await openPage({
      audio: [output(0, { volume: 1.53 }), output(1, { description: 'Kitchen', volume: 1 })],
    });
    const slider = (name: string) => page.getByRole('slider', { name: `Volume of ${name}`, exact: true });
    const spokenValue = (name: string) => slider(name).getAttribute('aria-valuetext');
    assert.equal(await spokenValue('Living room'), '153%, beyond the end of this slider');
    assert.equal(await spokenValue('Kitchen'), '100%');

    const thumbContent = (name: string) =>
      page.evaluate(
        `getComputedStyle(document.querySelector('[aria-label="Volume of ${name}"]').nextElementSibling, '::after').content`,
      );
    // A plus on the thumb marks a volume beyond the end of the slider (`.beyond` in page.css).
    assert.notEqual(await thumbContent('Living room'), await thumbContent('Kitchen'));
  });

  test('the page gives a home screen the name of the node, and icons that can be loaded', async () => {
    await openPage();
    const protocol = await page.context().newCDPSession(page);
    const { data = '', url } = await protocol.send('Page.getAppManifest');
    const { name, icons } = JSON.parse(data) as AppManifest;
    assert.equal(name, 'living-room');
    assert.notEqual(icons.length, 0);
    for (const { src } of icons) {
      const loadIcon = `new Promise((resolve) => {
        const image = new Image();
        image.onload = () => resolve(image.naturalWidth > 0);
        image.onerror = () => resolve(false);
        image.src = ${JSON.stringify(new URL(src, url).href)};
      })`;
      assert.equal(await page.evaluate(loadIcon), true, src);
    }
    const title = page.locator('meta[name="apple-mobile-web-app-title"]');
    await until(
      'the title has the name',
      async () => (await title.getAttribute('content')) === 'living-room',
    );
  });
});
