// Parts of the page in narrow frames of other pages: nothing is wider than its frame, in either language.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { node, page, pageForEach } from './pages.js';

const PARTS = ['players', 'outputs', 'streams', 'bluetooth', 'services', 'upgrade', 'system'];
/** A frame of 240 px, and one whose scroll bar takes part of that. */
const WIDTHS = [240, 225];

/** The elements that reach beyond the frame, or beyond their card. */
const SPILLED = `[...document.querySelectorAll('main .card, main .card *')]
  .filter((each) => {
    const edge = each.parentElement.closest('.card')?.getBoundingClientRect().right ?? innerWidth;
    const { right, width } = each.getBoundingClientRect();
    return width > 1 && right > Math.min(edge, innerWidth) + 1 && each.closest('.unseen, .clip') === null;
  })
  .map((each) => each.outerHTML.slice(0, 80))`;

for (const locale of ['en-GB', 'de-DE']) {
  describe(`a narrow frame in ${locale}`, { skip: lacks({ programs: ['chromium'] }) }, () => {
    pageForEach({ locale, viewport: { width: 240, height: 400 } });

    for (const part of PARTS) {
      test(`?only=${part} fits`, async () => {
        node.up();
        const states = [
          () => undefined,
          () => node.health('power', 'failed', 'Interactive authentication required'),
        ];
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 400 });
          for (const change of states) {
            change();
            await page.goto(`${node.url}?only=${part}`);
            await page.locator('main .card').first().waitFor();
            assert.deepEqual(await page.evaluate(SPILLED), [], `${width} px`);
            assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width);
          }
        }
      });
    }
  });
}
