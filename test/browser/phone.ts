// A phone's browser for the tests of a suite; each test gets a new page and a new node, and brings up its backends itself.

import { after, afterEach, before, beforeEach } from 'node:test';
import type { Page } from 'playwright-core';
import { openChromium } from './chromium.js';
import { PHONE } from './finger.js';
import { NodeWithPage } from './node-with-page.js';

export interface PhonePage {
  readonly node: NodeWithPage;
  readonly page: Page;
}

/** Call this at the beginning of the suite; `use` receives the page and the node before each test. */
export function phoneForEach(use: (opened: PhonePage) => void): void {
  let browser: Awaited<ReturnType<typeof openChromium>>;
  let opened: PhonePage | undefined;
  before(async () => {
    browser = await openChromium(PHONE);
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
