// The page of a node that lets nobody change anything: all values, and no controls.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage } from './node-with-page.js';
import { DESK, page, pageForEach } from './pages.js';

/** The elements that can be used; those that only unfold a part of the page are left out. */
const CONTROLS = `[...document.querySelectorAll('main button, footer button, input, select, form')]
  .filter((each) => !each.disabled && !each.hasAttribute('aria-expanded') && each.checkVisibility())
  .map((each) => each.getAttribute('aria-label') ?? each.textContent)`;
const UNFOLD = `for (const each of document.querySelectorAll('summary, [aria-expanded=false]')) each.click()`;

describe('a page that may change nothing', { skip: lacks({ programs: ['chromium'] }) }, () => {
  pageForEach(DESK);

  test('it shows values and no controls', async (t) => {
    const still = new NodeWithPage({ control: false });
    t.after(() => still.close());
    still.up();
    for (const view of ['', '?view=now']) {
      await page.goto(still.url + view);
      await page.getByText('42%').first().waitFor();
      await page.evaluate(UNFOLD);
      await until('no control is left', async () => {
        assert.deepEqual(await page.evaluate(CONTROLS), []);
        return true;
      });
    }
    assert.equal((await page.getByText('Nocturne in E-flat major').count()) > 0, true);
    const commands = still.backends.requests.map(({ command }) => command.do);
    assert.deepEqual(
      commands.filter((command) => command !== 'status' && command !== 'log'),
      [],
    );
  });

  test('it has its controls where the node allows them', async (t) => {
    const local = new NodeWithPage({ control: 'local' });
    t.after(() => local.close());
    local.up();
    await page.goto(local.url);
    await page.getByRole('slider', { name: 'Volume of Kitchen' }).waitFor();
    assert.ok((await page.evaluate<string[]>(CONTROLS)).includes('Mute Kitchen'));
  });
});
