// Tests who may show the page: only the origins of api.cors.origins may frame it, and there it works; and a person who opens the node by
// a name that it does not know gets a sentence whose link leads to the page.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { lacks } from '../tools/requirements.js';
import { until } from '../until.js';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';
import { type Site, serveSite } from './site.js';

/** A dashboard that frames the URL in its query. */
const dashboard = (): Promise<Site> =>
  serveSite((path) => `<!doctype html><title>dashboard</title><iframe src="${path.split('?')[1]}"></iframe>`);

describe('the page', { skip: lacks({ programs: ['chromium'] }) }, () => {
  let browser: OpenBrowser;
  let page: Page;
  let listed: Site;
  let foreign: Site;
  let node: NodeWithPage;
  before(async () => {
    browser = await openChromium({ locale: 'en-GB' });
    page = await browser.context.newPage();
    [listed, foreign] = await Promise.all([dashboard(), dashboard()]);
    node = new NodeWithPage({ cors: { origins: [listed.origin] } }).up();
  });
  after(async () => {
    await browser.close();
    for (const site of [listed, foreign]) site.close();
    await node.close();
  });

  test('works in a frame of a site of api.cors.origins', async () => {
    await page.goto(`${listed.origin}/?${node.url}`);
    const frame = page.frameLocator('iframe');
    await frame.getByText('Connected', { exact: true }).waitFor();
    const isAsked = (): boolean => node.backends.asked.some(({ command }) => command.do === 'mute');
    await until('the node gets the command', async () => {
      // Chromium may not deliver the first click to the frame yet (seen on a very busy machine).
      await frame.getByRole('button', { name: 'Mute Living room' }).click();
      return until('the click is handled', isAsked, 3000);
    });
  });

  test('is refused to a frame of a site that is not listed', async () => {
    const said: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    await page.goto(`${foreign.origin}/?${node.url}`);
    await until('the browser logs the reason', () => said.some((text) => text.includes('frame-ancestors')));
    assert.equal(await page.frameLocator('iframe').getByRole('heading').count(), 0);
  });

  test('is a link away for a browser that uses a name of another site', async () => {
    // Chromium resolves every name below localhost to this machine.
    const answer = await page.goto(`http://music.localhost:${node.port}/ui`);
    assert.equal(answer?.status(), 403);
    await page.getByText('This node is not called music.localhost: open', { exact: false }).waitFor();
    await page.getByRole('link').click();
    await page.getByText('Connected', { exact: true }).waitFor();
    assert.match(page.url(), new RegExp(`^http://localhost:${node.port}/ui$`));
  });
});
