// Tests parts of the page that other pages may show in a narrow frame. The browser's window is as narrow as
// such a frame. No part may be wider than the window, in English or in German.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipReason } from '../tools/requirements.js';
import { node, page, pageForEach } from './pages.js';

const PARTS = ['players', 'outputs', 'streams', 'bluetooth', 'services', 'upgrade', 'system'];
/** The usable width of a frame of 240 px, without and with a scroll bar. */
const WIDTHS_PX = [240, 225];

/**
 * The elements that reach beyond the window, or beyond their card. Texts that are cut on purpose (`clip`),
 * and texts that are only for screen readers (`unseen`), do not count.
 */
const SPILLING = `[...document.querySelectorAll('main .card, main .card *')]
  .filter((element) => {
    const edge = element.parentElement.closest('.card')?.getBoundingClientRect().right ?? innerWidth;
    const { right, width } = element.getBoundingClientRect();
    return width > 1 && right > Math.min(edge, innerWidth) + 1 && element.closest('.unseen, .clip') === null;
  })
  .map((element) => element.outerHTML.slice(0, 80))`;

for (const locale of ['en-GB', 'de-DE']) {
  describe(`a narrow frame in ${locale}`, { skip: skipReason({ programs: ['chromium'] }) }, () => {
    pageForEach({ locale, viewport: { width: 240, height: 400 } });

    for (const part of PARTS) {
      test(`the page ?only=${part} in ${locale} fits into a narrow frame`, async () => {
        node.up();
        // The part `system` shows more text when a backend has failed.
        const prepareStates = [
          () => node.health('power', 'up'),
          () => node.health('power', 'failed', 'Interactive authentication required'),
        ];
        for (const width of WIDTHS_PX) {
          await page.setViewportSize({ width, height: 400 });
          for (const prepare of prepareStates) {
            prepare();
            await page.goto(`${node.url}?only=${part}`);
            await page.locator('main .card').first().waitFor();
            assert.deepEqual(await page.evaluate(SPILLING), [], `${width} px`);
            const scrollWidth = await page.evaluate<number>('document.documentElement.scrollWidth');
            assert.ok(scrollWidth <= width, `${scrollWidth} px`);
          }
        }
      });
    }
  });
}
