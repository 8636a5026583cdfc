// Tests the large cover of a player. The page takes its colours from the cover, and stores the cover in the
// browser's tab. The last cover stays while nothing plays, also after a reload.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { PROJECT } from '../contract/documented.js';
import { Deferred } from '../deferred.js';
import { drop } from '../gateway/scripted-backends.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { output, player } from './node-with-page.js';
import { DESK, node, page, pageForEach } from './pages.js';

const PICTURE = readFileSync(join(PROJECT, 'src/page/icon-192.png'));
const WITH_COVER = { 'xesam:title': 'Nocturne', 'mpris:artUrl': 'file:///cover.png' };
const STOPPED = { playback_status: 'Stopped', metadata: {} };
/**
 * The opacity of the canvas's middle pixel, 0..255. It is 0 if nothing was drawn. The style `.past` makes the
 * canvas pale, but does not change its pixels.
 */
const MIDDLE_OPACITY = `(() => {
  const canvas = document.querySelector('.cover canvas');
  return canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[3];
})()`;

describe('the large cover of a player', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);
  beforeEach(async () => {
    await page.route('**/cover*', (route) => route.fulfill({ contentType: 'image/png', body: PICTURE }));
  });

  const isCoverStored = (): Promise<boolean> =>
    page.evaluate("sessionStorage.getItem('tonearm-cover') !== null");

  for (const [place, query] of [
    ['in the page', ''],
    ['on a wall', '?view=now'],
  ] as const) {
    test(`the last cover stays ${place} while nothing plays, also after a reload`, async () => {
      // If the page's Content-Security-Policy forbids a cover, the browser reports an error.
      const errors: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(message.text());
      });
      node.up({ audio: [output(0)], players: [player('mpd', { metadata: WITH_COVER })] });
      await page.goto(node.url + query);
      await until('the cover is stored', isCoverStored);

      node.change(player('mpd', STOPPED));
      // The class `past` makes the last cover pale. After a reload, the page draws the stored cover on a
      // canvas.
      await page.locator('.past img').last().waitFor();
      await page.reload();
      await page.locator('.cover canvas').waitFor();
      assert.equal(await page.evaluate(MIDDLE_OPACITY), 255);
      assert.deepEqual(errors, [], 'the policy allows the cover');
    });
  }

  test('the page takes the colour of a new cover, even if the page is drawn again before the new cover has loaded', async () => {
    let colour = 'red';
    let coverArrival = Promise.resolve();
    let requests = 0;
    await page.route('**/cover*', async (route) => {
      requests += 1;
      const body = `<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><rect width="64" height="64" fill="${colour}"/></svg>`;
      await coverArrival;
      await route.fulfill({ contentType: 'image/svg+xml', body });
    });
    const tint = (): Promise<unknown> =>
      page.evaluate("document.documentElement.style.getPropertyValue('--light-tint')");
    node.up({ players: [player('mpd', { metadata: WITH_COVER })] });
    await page.goto(node.url);
    await until('the page has the first colour', async () => (await tint()) !== '');
    const firstTint = await tint();

    colour = 'blue';
    const newCoverArrival = new Deferred<void>();
    coverArrival = newCoverArrival.promise;
    const metadata = { ...WITH_COVER, 'mpris:artUrl': 'file:///other.png' };
    const requestsBefore = requests;
    node.change(player('mpd', { metadata }));
    await until('the new cover is requested', () => requests > requestsBefore);
    // The page is drawn again before the new cover has loaded.
    node.change(player('mpd', { metadata: { ...metadata, 'xesam:title': 'Second' } }));
    await page.getByText('Second').first().waitFor({ state: 'attached' });
    newCoverArrival.resolve();
    await until('the page has the second colour', async () => !['', firstTint].includes(await tint()));
  });

  test('the wall loses the colour of a cover when the player stops while a stream still plays', async () => {
    const tint = (): Promise<unknown> =>
      page.evaluate("document.documentElement.style.getPropertyValue('--light-tint')");
    await page.route('**/cover*', async (route) => {
      const body = '<svg xmlns="http://www.w3.org/2000/svg"><rect width="64" height="64" fill="red"/></svg>';
      await route.fulfill({ contentType: 'image/svg+xml', body });
    });
    node.up({ players: [player('mpd', { metadata: WITH_COVER })] });
    await page.goto(`${node.url}?view=now`);
    await until('the wall has the colour', async () => (await tint()) !== '');
    // Stream 10 still plays (ORDINARY in node-with-page.ts).
    node.change(player('mpd', STOPPED));
    await until('the wall has its usual colour', async () => (await tint()) === '');
  });

  for (const { what, status, body, selector } of [
    { what: 'loads', status: 200, body: PICTURE, selector: 'img' },
    { what: 'is missing', status: 404, body: '', selector: '.icon' },
  ])
    test(`after a cover that ${what}, the page requests the cover of the next track, even if the player has one address for all covers`, async () => {
      const requestedUrls = new Set<string>();
      await page.route('**/cover*', async (route) => {
        requestedUrls.add(route.request().url());
        await route.fulfill({ status, contentType: 'image/png', body });
      });
      // All tracks of this player have the same `mpris:artUrl`.
      const first = {
        'mpris:artUrl': 'data:image/png;base64,',
        'xesam:url': 'file:///1.flac',
        'xesam:title': 'First',
      };
      node.up({ players: [player('mpd', { metadata: first })] });
      await page.goto(node.url);
      await page.locator(`.hero .cover ${selector}`).waitFor();
      await until('the first cover is requested', () => requestedUrls.size === 1);
      const imageUrl = (): Promise<unknown> =>
        page.evaluate("document.querySelector('.hero .cover img')?.src");
      const firstImageUrl = await imageUrl();
      // From now on, requests for covers get no response. A response 404 would make the page remove the
      // image before the test reads its URL.
      await page.route('**/cover*', (route) => void requestedUrls.add(route.request().url()));

      // A new title does not mean a new track, because a radio station changes the title within its stream.
      node.change(player('mpd', { metadata: { ...first, 'xesam:title': 'Second' } }));
      await page.locator('.hero').getByText('Second').first().waitFor();
      assert.equal(await imageUrl(), firstImageUrl);

      node.change(player('mpd', { metadata: { ...first, 'xesam:url': 'file:///2.flac' } }));
      await until('the second cover is requested', () => requestedUrls.size === 2);
    });

  test('the last cover stays after its player has gone', async () => {
    node.up({ players: [player('mpd', { metadata: WITH_COVER })], audio: [output(0)] });
    await page.goto(node.url);
    await until('the cover is stored', isCoverStored);
    node.change(drop('players', 'org.mpris.MediaPlayer2.mpd'));
    // Without a player, the page has the card `.sounding` (src/page/current-streams.tsx).
    await page.locator('.sounding .cover canvas').waitFor();
  });

  test('a cover that could not be loaded does not stay as the last cover', async () => {
    await page.route('**/cover*', (route) => route.fulfill({ status: 404 }));
    node.up({ players: [player('mpd', { metadata: WITH_COVER })] });
    await page.goto(node.url);
    await page.locator('.hero .cover .icon').waitFor();
    node.change(player('mpd', STOPPED));
    // The page has this canvas only while the player has neither a track nor a cover. The canvas is invisible
    // until a stored cover is drawn on it.
    await page.locator('.hero .cover canvas').waitFor({ state: 'attached' });
    await page.locator('.hero .cover .icon').waitFor();
  });

  test('the icon of a musical note is in the place of the cover if the browser has loaded no cover in this tab so far', async () => {
    node.up({ players: [player('mpd', STOPPED)] });
    await page.goto(node.url);
    await page.locator('.hero .cover .icon').waitFor();
    assert.equal(await page.locator('.cover canvas').isVisible(), false);
  });
});
