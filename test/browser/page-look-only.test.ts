// Tests the page of a node that restricts changes (`api.control`). With `false`, the page shows values but no
// controls. With `local`, only a browser on the node itself has the controls.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { skipReason } from '../tools/requirements.js';
import { until } from '../until.js';
import { NodeWithPage } from './node-with-page.js';
import { DESK, page, pageForEach } from './pages.js';

/** The names of the usable controls, without those that only unfold a part of the page. */
const USABLE_CONTROLS = `[...document.querySelectorAll('main button, footer button, input, select, form')]
  .filter((element) => !element.disabled && !element.hasAttribute('aria-expanded') && element.checkVisibility())
  .map((element) => element.getAttribute('aria-label') ?? element.textContent)`;
const UNFOLD_ALL = `for (const element of document.querySelectorAll('summary, [aria-expanded=false]')) element.click()`;

describe('the page of a node whose `api.control` is not `true`', {
  skip: skipReason({ programs: ['chromium'] }),
}, () => {
  pageForEach(DESK);

  test('the page shows values and no controls if `api.control` is `false`', async (t) => {
    const viewOnlyNode = new NodeWithPage({ control: false });
    t.after(() => viewOnlyNode.close());
    viewOnlyNode.up();
    for (const query of ['', '?view=now']) {
      await page.goto(viewOnlyNode.url + query);
      await page.getByText('42%').first().waitFor();
      await page.evaluate(UNFOLD_ALL);
      await until('no control is left', async () => {
        assert.deepEqual(await page.evaluate(USABLE_CONTROLS), []);
        return true;
      });
      // The default output keeps its button Use as a mark (src/page/use-button.tsx). `?view=now` has no such
      // button.
      if (query === '')
        await page.locator('[data-default=true] button:disabled[aria-pressed=true]').waitFor();
    }

    assert.ok((await page.getByText('Nocturne in E-flat major').count()) > 0, 'the title is displayed');
    // The page reads the allowed power actions with `status`, and the log of an unfolded unit with `log`.
    const readingCommands: readonly string[] = ['status', 'log'];
    const commands = viewOnlyNode.backends.requests.map(({ command }) => command.do);
    assert.deepEqual(
      commands.filter((command) => !readingCommands.includes(command)),
      [],
    );
  });

  test('the page shows the controls in a browser on the node itself if `api.control` is `local`', async (t) => {
    const localControlNode = new NodeWithPage({ control: 'local' });
    t.after(() => localControlNode.close());
    localControlNode.up();
    await page.goto(localControlNode.url);
    await page.getByRole('slider', { name: 'Volume of Kitchen' }).waitFor();
    assert.ok((await page.evaluate<string[]>(USABLE_CONTROLS)).includes('Mute Kitchen'));
  });
});
