// A phone's browser for the tests of a suite, and for each of them a new page and a new node, whose backends the test brings up.

import { after, afterEach, before, beforeEach } from 'node:test';
import type { Page } from 'playwright-core';
import { openChromium } from './chromium.js';
import { PHONE } from './finger.js';
import { NodeWithPage } from './node-with-page.js';

export interface PhonePage {
  readonly node: NodeWithPage;
  readonly page: Page;
}

/** Call it where the suite begins; `use` is given what the next test has. */
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
