// The parts of the page that are loaded late: nothing moves when they come, and one that does not come is
// loaded again, said, or is the sign of a newer page.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from 'playwright-core';
import { readPageFiles } from '../../src/gateway/page.js';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage, ORDINARY, output, PAGE_FOLDER } from './node-with-page.js';
import { DESK, node, openPage, page, pageForEach } from './pages.js';

const LATE = '**/ui/*-tab-*.js';
const SHEETS = '**/ui/sheets-*.js';
const MISSING = 'A part of this page did not load. If it stays away, load the page again.';
const SIZES = [
  ['a phone', 360, 740],
  ['a phone on its side', 740, 360],
  ['a tablet', 820, 1180],
  ['a desk', 1440, 900],
] as const;

/** Notes where everything is that can be touched, and tells how much that is. Hidden things do not count. */
const REMEMBER = `(() => {
  const all = document.querySelectorAll(':is(main, .foot) :is(button, summary, select, input)');
  window.before = [...all].filter((each) => each.checkVisibility()).map((each) => [each, where(each)]);
  function where(each) { const { x, y, width, height } = each.getBoundingClientRect(); return [x, y, width, height].join(' '); }
  window.where = where;
  return window.before.length;
})()`;
/** Names each of them that is elsewhere now, or gone. */
const MOVED = `window.before.filter(([each, was]) => window.where(each) !== was)
  .map(([each, was]) => (each.ariaLabel ?? each.textContent) + ' was at ' + was + ', is at ' + window.where(each))`;

describe('a part that is loaded late', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  for (const [what, width, height] of SIZES) {
    test(`it moves nothing that can be touched on ${what}`, async () => {
      await page.setViewportSize({ width, height });
      const waiting: Route[] = [];
      await page.route(LATE, (route) => void waiting.push(route));
      // The tallest column is the one that what is late makes taller.
      const outputs = [2, 3, 4, 5, 6, 7].map((id) => output(id));
      node.up({ audio: [...ORDINARY.audio, ...outputs] });
      await page.goto(node.url);
      await until('both files are asked for', () => waiting.length === 2);
      await page.locator('#outputs .output').nth(7).waitFor({ state: 'attached' });
      await page.locator('#streams .stream').first().waitFor({ state: 'attached' });
      const count = Number(await page.evaluate(REMEMBER));
      assert.ok(count >= 6, `${count} controls`);
      for (const route of waiting) await route.continue();
      await page.locator('#system .button').first().waitFor({ state: 'attached' });
      // The header grows for a moment where the machine is too busy to answer the page.
      await until('all is where it was', async () => {
        const moved = await page.evaluate(MOVED);
        assert.deepEqual(moved, []);
        return true;
      });
    });
  }

  for (const [what, fail] of [
    ['the connection breaks', (route: Route) => route.abort()],
    ['a proxy refuses it', (route: Route) => route.fulfill({ status: 502, body: 'no' })],
  ] as const) {
    test(`it is loaded again where ${what}`, async () => {
      await page.route(LATE, fail, { times: 2 });
      node.up();
      await page.goto(node.url);
      await page.getByText(MISSING).waitFor();
      await page.locator('#system .button').first().waitFor();
      await page.locator('#bluetooth .card').first().waitFor();
      await page.getByText(MISSING).waitFor({ state: 'detached' });
    });
  }

  test('a sheet opens by itself when its file has come after all', async () => {
    await openPage();
    await page.route(SHEETS, (route) => route.abort(), { times: 1 });
    await page.getByRole('button', { name: 'Playing on' }).click();
    await page.getByText(MISSING).waitFor();
    await page.getByRole('dialog', { name: 'Play on' }).waitFor();
  });

  test('the page names a part that cannot be loaded, and the rest of it works', async () => {
    await page.route('**/ui/sound-tab-*.js', (route) => route.abort());
    node.up();
    await page.goto(node.url);
    await page.getByText(MISSING).waitFor();
    await page.locator('#system .button').first().waitFor();
    await page.getByRole('button', { name: 'Mute Living room' }).click();
    await until('the command has come', () => node.backends.requests.length > 0);
  });

  test('a file that the node no longer has is one of an older page, which loads the newer one', async (t) => {
    const files = new Map(readPageFiles(PAGE_FOLDER));
    const changing = new NodeWithPage({}, files).up();
    t.after(() => changing.close());
    await page.goto(changing.url);
    await page.locator('#system .button').first().waitFor();
    // The connection never ends, as with a proxy that keeps it over the upgrade.
    const document = files.get('index.html')?.identity.toString() ?? '';
    const script = /app-[\w-]{10}\.js/.exec(document)?.[0] ?? '';
    files.set('index.html', { identity: Buffer.from(document.replace(script, 'app-0123456789.js')) });
    files.set('app-0123456789.js', files.get(script) ?? { identity: Buffer.from('') });
    for (const name of files.keys()) if (name.startsWith('sheets-')) files.delete(name);
    await page.getByRole('button', { name: 'Playing on' }).click();
    await page.getByText('There is a newer version of this page.').waitFor();
    await page.locator('script[src*="0123456789"]').waitFor({ state: 'attached' });
  });
});
