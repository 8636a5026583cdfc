// The page that a browser brings back as it was, after another page was open: WebKit keeps it, as Firefox
// does.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../until.js';
import { NodeWithPage, output } from './node-with-page.js';
import { lacksWebKit, openWebKit } from './webkit.js';

/** Every text that stood in the header since `watch`. */
const WATCH = `
  window.texts = [];
  const note = () => window.texts.push(document.querySelector('header').textContent);
  new MutationObserver(note).observe(document.querySelector('header'), { subtree: true, childList: true, characterData: true });
  addEventListener('pageshow', ({ persisted }) => { window.texts = []; window.isBack = persisted; note(); });
`;

describe('a page that WebKit brings back', { skip: lacksWebKit() }, () => {
  test('is live at once, and reports no loss', async (t) => {
    const node = new NodeWithPage().up();
    const other = new NodeWithPage().up();
    const browser = await openWebKit();
    t.after(async () => {
      await browser.close();
      await node.close();
      await other.close();
    });
    const isLive = () =>
      until('the page is live', () =>
        browser.evaluate<boolean>("return document.querySelector('header .good') !== null"),
      );
    await browser.goto(node.url);
    await isLive();
    await browser.evaluate(WATCH);
    await browser.goto(other.url);
    await isLive();
    node.change(output(0, { default: true, volume: 0.7 }));
    await browser.back();
    await until('the page is back', () => browser.evaluate<boolean>('return window.isBack === true'));
    await until('the volume is there', () =>
      browser.evaluate<boolean>("return document.querySelector('.output input').value === '70'"),
    );
    const texts = await browser.evaluate<string[]>('return window.texts');
    assert.deepEqual(
      texts.filter((text) => text.includes('lost')),
      [],
    );
  });
});
