// A person opens the node by a name that it does not know: the browser must show a sentence whose link leads to the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lacks } from '../tools/requirements.js';
import { openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';

test('a browser that uses a name of another site gets one sentence, whose link leads to the page', {
  skip: lacks({ programs: ['chromium'] }),
}, async (t) => {
  const node = new NodeWithPage().up();
  const browser = await openChromium({ locale: 'en-GB' });
  t.after(async () => {
    await browser.close();
    await node.close();
  });
  const page = await browser.context.newPage();
  // Chromium resolves every name below localhost to this machine.
  const answer = await page.goto(`http://music.localhost:${node.port}/ui`);
  assert.equal(answer?.status(), 403);
  await page.getByText('This node is not called music.localhost: open', { exact: false }).waitFor();
  await page.getByRole('link').click();
  await page.getByText('Connected', { exact: true }).waitFor();
  assert.match(page.url(), new RegExp(`^http://localhost:${node.port}/ui$`));
});
