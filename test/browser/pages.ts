// A browser for the tests of a suite; each test gets a new page and a new node, and brings up its backends itself.

import { after, afterEach, before, beforeEach } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { type OpenBrowser, openChromium } from './chromium.js';
import { NodeWithPage } from './node-with-page.js';

export const PHONE = { locale: 'en-GB', viewport: { width: 360, height: 740 }, hasTouch: true } as const;
export const DESK = { locale: 'en-GB', viewport: { width: 1280, height: 900 } } as const;

interface OpenPage {
  readonly node: NodeWithPage;
  readonly page: Page;
}

/** Call this at the beginning of the suite; `use` receives the page and the node before each test. */
export function pageForEach(options: BrowserContextOptions, use: (opened: OpenPage) => void): void {
  let browser: OpenBrowser;
  let opened: OpenPage | undefined;
  before(async () => {
    browser = await openChromium(options);
  });
  beforeEach(async () => {
    opened = { node: new NodeWithPage(), page: await browser.context.newPage() };
    use(opened);
  });
  afterEach(async () => {
    await opened?.page.close();
    await opened?.node.close();
  });
  after(() => browser.close());
}
