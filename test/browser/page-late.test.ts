// Tests the parts of the page that are loaded or drawn late. No control moves when they appear. If a part
// cannot be loaded, the page reports this and tries again. If the node has a newer page, the browser loads
// the newer page.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from 'playwright-core';
import { readPageFiles } from '../../src/gateway/page.js';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage, ORDINARY, output, PAGE_FOLDER } from './node-with-page.js';
import { commandsAre, DESK, node, openPage, page, pageForEach } from './pages.js';

/** This pattern matches two files, `sound-tab` and `node-tab`. */
const TAB_FILES = '**/ui/*-tab-*.js';
const SHEETS_FILE = '**/ui/sheets-*.js';
const MISSING = 'A part of this page did not load. If it stays away, load the page again.';
/** Screens, and their width and height in pixels. */
const SCREENS = [
  ['a phone', 360, 740],
  ['a phone on its side', 740, 360],
  ['a tablet', 820, 1180],
  ['a desk', 1440, 900],
] as const;

/**
 * Keeps the places of all visible controls in `placesBefore`. The value of the expression is the number of
 * these controls.
 */
const REMEMBER_PLACES = `(() => {
  const placeOf = (control) => {
    const { x, y, width, height } = control.getBoundingClientRect();
    return [x, y, width, height].join(' ');
  };
  const controls = [...document.querySelectorAll(':is(main, .foot) :is(button, summary, select, input)')];
  const visible = controls.filter((control) => control.checkVisibility());
  window.placeOf = placeOf;
  window.placesBefore = visible.map((control) => [control, placeOf(control)]);
  return visible.length;
})()`;
/** Names each control of `placesBefore` that has moved, has another size, or is gone. */
const MOVED_CONTROLS = `window.placesBefore
  .filter(([control, before]) => window.placeOf(control) !== before)
  .map(([control, before]) => (control.ariaLabel ?? control.textContent) + ' was at ' + before + ', is at ' + window.placeOf(control))`;
/** The browser assumes this height for the content of a stream's row until it draws the row. */
const PLACEHOLDER_HEIGHT = `getComputedStyle(document.querySelector('.stream')).containIntrinsicHeight`;

describe('a part that is loaded late', { skip: skipReason({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  for (const [screen, width, height] of SCREENS) {
    test(`a late part moves no control on ${screen}`, async () => {
      await page.setViewportSize({ width, height });
      const pendingRoutes: Route[] = [];
      await page.route(TAB_FILES, (route) => void pendingRoutes.push(route));
      // With six outputs beside the two ordinary ones, the column of the outputs is the tallest. A late part
      // makes this column taller.
      const outputs = [2, 3, 4, 5, 6, 7].map((id) => output(id));
      node.up({ audio: [...ORDINARY.audio, ...outputs] });
      await page.goto(node.url);
      await until('both files of the tabs are requested', () => pendingRoutes.length === 2);
      const eighthOutput = page.locator('#outputs .output').nth(7);
      await eighthOutput.waitFor({ state: 'attached' });
      await page.locator('#streams .stream').first().waitFor({ state: 'attached' });

      const count = Number(await page.evaluate(REMEMBER_PLACES));
      // With fewer controls this test would hardly check anything.
      assert.ok(count >= 6, `${count} controls`);
      for (const route of pendingRoutes) await route.continue();
      await page.locator('#system .button').first().waitFor({ state: 'attached' });
      // If the machine is too busy to answer the page, a banner makes the header taller for a moment.
      await until('no control has moved', async () => {
        assert.deepEqual(await page.evaluate(MOVED_CONTROLS), []);
        return true;
      });
    });
  }

  test('a row of a stream keeps its height when the browser draws the row', async () => {
    await openPage();
    const row = page.locator('#streams .stream').first();
    await row.locator('select').waitFor();
    // The row has 8 px above and 8 px below its content (`.stream` in page.css).
    const paddingPx = 16;
    const contentPx = (await row.evaluate((element) => element.clientHeight)) - paddingPx;
    const placeholder = await page.evaluate(PLACEHOLDER_HEIGHT);
    assert.equal(placeholder, `auto ${contentPx}px`);
  });

  for (const [what, fail] of [
    ['the connection breaks', (route: Route) => route.abort()],
    ['a proxy refuses it', (route: Route) => route.fulfill({ status: 502, body: 'no' })],
  ] as const) {
    test(`a late part is loaded again if ${what}`, async () => {
      // The first two requests are for the two files of `TAB_FILES`, so each file fails once.
      await page.route(TAB_FILES, fail, { times: 2 });
      node.up();
      await page.goto(node.url);
      await page.getByText(MISSING).waitFor();
      await page.locator('#system .button').first().waitFor();
      await page.locator('#bluetooth .card').first().waitFor();
      await page.getByText(MISSING).waitFor({ state: 'detached' });
    });
  }

  test('the page still says that a part is missing after another part has come', async () => {
    await page.route('**/ui/node-tab-*.js', (route) => route.abort());
    await page.route(
      '**/ui/sound-tab-*.js',
      async (route) => {
        await until('the page says that a part is missing', () => page.getByText(MISSING).isVisible());
        await route.continue();
      },
      { times: 1 },
    );
    node.up();
    await page.goto(node.url);
    await page.locator('#bluetooth .card').first().waitFor();
    assert.ok(await page.getByText(MISSING).isVisible());
  });

  test('a sheet opens by itself when its file is loaded at the second attempt', async () => {
    await openPage();
    await page.route(SHEETS_FILE, (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Playing on' }).click();
    await page.getByText(MISSING).waitFor();
    await page.getByRole('dialog', { name: 'Play on' }).waitFor();
  });

  test('the page shows that a part cannot be loaded, and its other parts work', async () => {
    await page.route('**/ui/sound-tab-*.js', (route) => route.abort());
    node.up();
    await page.goto(node.url);
    await page.getByText(MISSING).waitFor();
    await page.locator('#system .button').first().waitFor();
    await page.getByRole('button', { name: 'Mute Living room' }).click();
    await commandsAre({ do: 'mute', target: { kind: 'output', ref: '0' }, muted: true });
  });

  test('the browser loads the newer page after the page has requested a file that the node no longer has', async (t) => {
    // The node serves the files of this map. Later the test changes the map, as an upgrade would.
    const files = new Map(readPageFiles(PAGE_FOLDER));
    const upgradedNode = new NodeWithPage({}, files).up();
    t.after(() => upgradedNode.close());
    await page.goto(upgradedNode.url);
    await page.locator('#system .button').first().waitFor();
    // The page's stream stays open, as behind a proxy that keeps the stream open during an upgrade of the
    // node. So the page notices the upgrade only by a missing file.
    const html = files.get('index.html')?.identity.toString() ?? '';
    const oldScript = /app-[\w-]{10}\.js/.exec(html)?.[0] ?? '';
    const newScript = 'app-0123456789.js';
    files.set('index.html', { identity: Buffer.from(html.replace(oldScript, newScript)) });
    files.set(newScript, files.get(oldScript) ?? { identity: Buffer.from('') });
    for (const name of files.keys()) if (name.startsWith('sheets-')) files.delete(name);

    await page.getByRole('button', { name: 'Playing on' }).click();
    await page.getByText('There is a newer version of this page.').waitFor();
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
  });
});
